"""Noise on random sums, each image in exactly so many of them, drawn evenly (random allocation), and nobody told which."""

import warnings
from functools import lru_cache
from typing import Any

from hideseek.errors import BadInput
from hideseek.hide.privacy.losses import Losses

GRID = 0.1  # the relative error of a round's privacy losses, to the safe side: 0.05 takes four times as long
TAIL = 1e-10  # probability that is given up at the ends, and counted as lost


@lru_cache(maxsize=256)
def allocated_losses(multiplier: float, sums: int, uses: int, rounds: int) -> Losses:
    """Give the privacy losses of `rounds` rounds of `sums` sums, each image in `uses` of those of a round.

    Who is in which sum is drawn evenly and for each image by itself (Feldman and Shenfeld 2025; balls into bins: Chua
    et al. 2025). To be in t of T sums is no worse than t times to be in one of ⌊T/t⌋ (Feldman and Shenfeld, theorem
    4.1), whose losses are by PLD-accounting, both directions, rounded to the safe side.
    """
    library = _library()
    asked = library.PrivacyParams(sigma=multiplier, num_steps=sums // uses)
    grid = library.AllocationSchemeConfig(loss_discretization=GRID, tail_truncation=TAIL)
    one = library.gaussian_allocation_pld(params=asked, config=grid)
    return Losses(one.self_compose(uses * rounds) if uses * rounds > 1 else one)


def _library() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import PLD_accounting
    except ImportError:
        raise BadInput(
            "this proof needs PLD-accounting, which is not installed: pip install 'hideseek[dp]', or choose the proof"
            " known-mix."
        ) from None
    return PLD_accounting
