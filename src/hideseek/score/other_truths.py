"""Other ground truths that the labels allow, and how a score does by them: permutation tests.

Labels are shared: they show the classes in an item, and how much of each. A score that goes by labels alone, in
whatever way, cannot tell which image of its class stands at a place of an item. So, where there is nothing else to be
found, the images of one class that stand at one place of different items could as well change places, and what a
score makes of such other truths is what labels alone, or chance, give it.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.chance.compiled import compiled
from hideseek.records.secret import Secret
from hideseek.score.significance import HALVINGS, Significance

DRAWS, FEWEST_DRAWS = 1999, 499
WORK = 1 << 28  # numbers to look at for all draws together: a second
UNIFORMS = 1 << 20  # numbers that are drawn at a time
FEW = 60  # items: fewer are shuffled more than once
TAIL = 0.1  # the highest draws, whose excess tells how a heavy tail falls
RESOLVED = 10  # draws as high as the score: with fewer, the tail is extended


class OtherTruths:
    """Which images some items could hold: those at some places are drawn anew, and no image comes twice in an item."""

    def __init__(self, held: Int[Tensor, "m k"], secret: Secret, places: Sequence[int], *, named: bool) -> None:
        """Sort the items by the label at each place; `named`: which image it is counts, not only where it is again."""
        self.held = held.numpy().astype(np.int64)
        kinds = np.concatenate([[-1], _kinds(secret)])[self.held + 1]
        self.places = np.array(places)
        sorted_items = [_by_kind(kinds[:, place]) for place in places]
        self.orders, self.starts = (np.stack(each) for each in zip(*sorted_items, strict=True))
        rarest = sum(_log_chance(self.held[:, each], kinds[:, each]) for each in places)
        if not named:
            rarest += _log_renamings(self.held, kinds)
        self.rarest = float(np.exp(min(0.0, rarest)))

    def draw(self, count: int, chance: Randomness) -> Iterator[NDArray[np.int64]]:
        """Draw so many other truths."""
        sweeps = 1 + FEW // max(1, len(self.held))  # few items often clash, and leave trades out
        together = max(1, UNIFORMS // max(1, sweeps * self.orders.size))
        for done in range(0, count, together):
            for uniforms in chance.uniforms(min(together, count - done), sweeps, *self.orders.shape).numpy():
                drawn = self.held.copy()
                for each in uniforms:
                    _shuffle(drawn, self.places, self.orders, self.starts, each)
                yield drawn


@compiled()
def _shuffle(
    held: NDArray[np.int64],
    places: NDArray[np.int64],
    orders: NDArray[np.int64],
    starts: NDArray[np.int64],
    uniforms: NDArray[np.float64],
) -> None:  # pragma: no cover (compiled)
    """Shuffle the images at each place among the items of one kind (Fisher and Yates).

    A trade that would bring an image twice into an item is left out. Each trade is as likely as its opposite, so
    truths without repeats stay equally likely.
    """
    for number, place in enumerate(places):
        for last in range(orders.shape[1] - 1, -1, -1):
            start = starts[number, last]
            one = orders[number, last]
            other = orders[number, start + int(uniforms[number, last] * (last - start + 1))]
            mine, yours = held[one, place], held[other, place]
            if mine == yours:
                continue
            clash = False
            for column in range(held.shape[1]):
                if column != place and (held[one, column] == yours or held[other, column] == mine):
                    clash = True
            if not clash:
                held[one, place], held[other, place] = yours, mine


def _kinds(secret: Secret) -> NDArray[np.int64]:
    """Give each private image the number of its label; images with the same label cannot be told apart by it."""
    labels = secret.private.labels.cpu().numpy()
    if not labels.shape[1]:
        return np.zeros(len(labels), np.int64)
    return np.unique(labels, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _by_kind(kinds: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give the items in the order of their kinds, and where each one's kind begins; where no image is, none comes."""
    order = np.argsort(kinds, kind="stable")
    starts = np.searchsorted(kinds[order], kinds[order])
    return order, np.where(kinds[order] < 0, np.arange(len(order)), starts)


def _log_chance(images: NDArray[np.int64], kinds: NDArray[np.int64]) -> float:
    """Give the logarithm of the chance of one order of the images within their kinds: Π repeats! / Π sizes!."""
    known = images >= 0
    return _log_factorials(images[known]) - _log_factorials(kinds[known])


def _log_renamings(held: NDArray[np.int64], kinds: NDArray[np.int64]) -> float:
    """Count the ways to rename the images within their kinds: these are one truth where names do not count."""
    images, first = np.unique(held, return_index=True)
    return _log_factorials(kinds.reshape(-1)[first][images >= 0])


def _log_factorials(values: NDArray[np.int64]) -> float:
    """Give the logarithm of the product of factorials of how often each value comes."""
    from scipy.special import gammaln

    return float(gammaln(np.unique(values, return_counts=True)[1] + 1.0).sum())


def draws_for(work: int) -> int:
    """Tell how many draws are worth their time, of so many numbers each."""
    return int(np.clip(WORK // max(1, work), FEWEST_DRAWS, DRAWS))


def beyond(
    found: float, drawn: Float[np.ndarray, " draws"], rarest: float, value: Callable[[float], float]
) -> Significance:
    """Compare a statistic with those of other truths: p = (1 + how many are as high) / (1 + draws).

    Corrected levels are below what some hundred draws resolve: there the `tail` tells. No p-value is below the chance
    of the truth itself. `value` gives the mean of the metric that a statistic stands for.
    """
    drawn = np.sort(drawn)
    close = 1e-9 * max(1.0, float(np.abs(drawn).max()))
    varies = float(drawn.std()) > close
    beyond_draws = tail(drawn, close) if varies else lambda statistic: 1.0

    def p_value(statistic: float) -> float:
        as_high = len(drawn) - int(np.searchsorted(drawn, statistic - close))
        seen = (1 + as_high) / (1 + len(drawn))
        return max(rarest, seen if as_high >= RESOLVED else min(seen, beyond_draws(statistic)))

    def least(level: float) -> float | None:
        if level < rarest or (not varies and level < 1 / (1 + len(drawn))):
            return None
        low, high = float(drawn[0]) - 1, float(drawn[-1]) + 2 * close
        while p_value(high) > level:
            high += float(drawn.std())
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if p_value(middle) <= level else (middle, high)
        return value(high)

    return Significance(p_value(found), least)


def tail(drawn: Float[np.ndarray, " draws"], close: float) -> Callable[[float], float]:
    """Give P[T ≥ t] far beyond the draws, from above.

    That of a shifted gamma law with their mean, deviation and skewness (Pearson's type III, which Mielke and Berry use
    for permutations), the skewness two standard errors higher, √(6/n) each. Where their kurtosis is above that of this
    law, 3/2 skewness², by a standard error, √(24/n): an exponential tail with the mean excess of the highest tenth,
    and two standard errors more. Statistics in steps, as counts are, are taken half a step lower.
    """
    from scipy.special import gammaincc
    from scipy.stats import kurtosis, skew

    steps = np.diff(drawn)
    half_step = float(steps[steps > close].min()) / 2
    count, mean, deviation, skewness = len(drawn), float(drawn.mean()), float(drawn.std()), max(0.0, float(skew(drawn)))
    shape = 4 / (skewness + 2 * np.sqrt(6 / count)) ** 2

    def gamma(statistic: float) -> float:
        above = (statistic - half_step - mean) / deviation
        return float(gammaincc(shape, max(0.0, shape + above * np.sqrt(shape))))

    threshold = float(drawn[int((1 - TAIL) * count)])
    excess = drawn[drawn > threshold] - threshold
    if not len(excess) or kurtosis(drawn) <= 1.5 * skewness**2 + np.sqrt(24 / count):
        return gamma
    slope = float(excess.mean()) * (1 + 2 / np.sqrt(len(excess)))

    def exponential(statistic: float) -> float:
        return (1 + len(excess)) / (1 + count) * float(np.exp(-(statistic - half_step - threshold) / slope))

    return exponential
