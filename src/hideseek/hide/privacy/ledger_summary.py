"""What a ledger comes to: how often images were released, the most that was spent of one, and what is left."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from hideseek.hide.privacy.ledger_budget import Budget, Total
from hideseek.hide.privacy.ledger_entries import Contents
from hideseek.hide.privacy.ledger_totals import every_image, totals


@dataclass(frozen=True)
class Summary:
    """What was spent of some images."""

    budget: Budget
    delta: float
    """That ε is at."""
    images: int
    known: int
    """Those of them that were released at all."""
    times: dict[int, int]
    """How many images were released so often."""
    mu: float
    """The largest of any image; infinite where something without a proof left."""
    epsilon: float
    left_mu: float
    """The largest μ of one more Gaussian release that is within the budget for every image."""
    left_releases: float

    def sentence(self) -> str:
        """Say it.

        >>> Summary(Budget(releases=5), 1e-5, 3, 3, {2: 1, 4: 2}, math.inf, math.inf, math.inf, 1).sentence()
        '2 images were released 4 times, 1 image 2 times; part of it has no proof; left is 1 release.'
        """
        often = [f"{_some(self.times[count], 'image')} {_often(count)}" for count in sorted(self.times, reverse=True)]
        if often:
            often[0] = often[0].replace("images ", "images were released ").replace("image ", "image was released ")
        spent = f"the most that is spent of one is μ = {self.mu:.3g}, ε = {self.epsilon:.3g} at δ = {self.delta:g}"
        if self.mu == math.inf:
            spent = "part of it has no proof"
            if self.epsilon < math.inf:
                spent = f"the most that is spent of one is ε = {self.epsilon:.3g} at δ = {self.delta:g}"
        return f"{', '.join(often) or 'No image was released'}; {spent}; {self._left()}."

    def _left(self) -> str:
        parts = [
            *([f"μ = {self.left_mu:.3g} in one more Gaussian release"] if self.budget.proves else []),
            *([_some(int(self.left_releases), "release")] if self.budget.releases is not None else []),
        ]
        return f"left is {' and '.join(parts)}" if parts else "there is no budget"


def summary(contents: Contents, images: Iterable[bytes] | None = None, delta: float | None = None) -> Summary:
    """Add up what a ledger says of some images, or of all that it knows."""
    budget = contents.budget
    found = totals(contents, every_image(contents) if images is None else images)
    alike = Counter(found.values())
    at = budget.delta if delta is None else delta
    spent = list(alike) or [Total()]
    most = max(total.releases for total in spent)
    return Summary(
        budget,
        at,
        len(found),
        sum(count for total, count in alike.items() if total.releases),
        dict(_by_times(alike)),
        math.sqrt(max(total.every_mu2 for total in spent)),
        max(total.epsilon_at(at) for total in spent),
        min(budget.left(total) for total in spent),
        math.inf if budget.releases is None else max(0.0, budget.releases - most),
    )


def _by_times(alike: Counter[Total]) -> Counter[int]:
    times: Counter[int] = Counter()
    for total, count in alike.items():
        times[int(total.releases)] += count
    return times


def _some(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _often(count: int) -> str:
    return {0: "never", 1: "once"}.get(count, f"{count:,} times")
