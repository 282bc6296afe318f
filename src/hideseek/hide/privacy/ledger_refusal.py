"""Why a release is over a budget, what is left, and what can be done: one sentence."""

import math
from collections.abc import Mapping

from hideseek.hide.privacy.ledger_budget import Budget, Total
from hideseek.hide.privacy.ledger_entries import Leaving


def refusal(budget: Budget, leaving: Leaving, over: Mapping[Total, int], images: int) -> str:
    """Say how many images would be over, what is left of the one that has least, and what to do.

    `over` has what was spent of the images that would be over, and how many there are of each.
    """
    count = sum(over.values())
    who = "1 image would be" if images == count == 1 else f"{count:,} of {images:,} images would be"
    takes = "" if leaving.spent.mu2 is None else f", and this release takes μ = {math.sqrt(leaving.spent.mu2):.3g}"
    if leaving.spent.epsilon is not None:
        takes = f", and this release takes ε = {leaving.spent.epsilon:.3g} at δ = {leaving.spent.delta:g}"
    parts = []
    if budget.proves:
        least = min(budget.left(total) for total in over)
        parts.append(f"the least that is left is μ = {least:.3g}{takes}")
        if not leaving.spent.proved:
            parts.append("this release has no proof, and no ε is finite without")
    if budget.releases is not None:
        most = int(max(total.releases for total in over))
        left = max(0, budget.releases - most)
        parts.append(
            f"the least that is left is {left} of {budget.releases} releases, and this one is {leaving.rounds}"
        )
    noise = " or with more noise under a proof" if budget.proves else ""
    return (
        f"{who} over the budget of {budget.described()}: {'; '.join(parts)}; leave these images out, share fewer"
        f" rounds{noise}, or state a larger budget."
    )
