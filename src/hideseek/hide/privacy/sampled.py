"""Noise on random sums, each image in each of them with the same small probability (Poisson), and nobody told which."""

import warnings
from functools import lru_cache

from hideseek.errors import BadInput
from hideseek.hide.privacy.losses import Losses

FINEST, COARSEST = 1e-4, 1e-3  # of the grid of privacy losses; a coarser one is quicker, and errs to the safe side


@lru_cache(maxsize=256)
def sampled_losses(multiplier: float, rate: float, steps: int, interval: float | None = None) -> Losses:
    """Give the privacy losses of `steps` sums, each with noise of `multiplier` times what one image adds to it.

    Each step is N(0, z²) against (1 − q) N(0, z²) + q N(1, z²), in both directions: an image that is added, and one
    that is left out. Losses add up over the steps; their distribution is convolved on a grid, rounded to the safe side
    (Koskela, Jälkö and Honkela 2020; Doroshenko et al. 2022), by dp-accounting. For an image that is replaced by
    another, halve the multiplier.

    The central limit theorem is no bound here: with n = steps = 50,000 images it claims 1 where this gives 4.95, 3.50,
    1.42 and 1.01 at 1, 4, 16 and 64 images a row (δ = 1e-5).
    """
    distributions = _library()
    grid = interval or min(COARSEST, max(FINEST, FINEST / multiplier**4))
    one = distributions.from_gaussian_mechanism(
        multiplier, sampling_prob=rate, value_discretization_interval=grid, pessimistic_estimate=True
    )
    return Losses(one.self_compose(steps))


def _library():  # type: ignore[no-untyped-def] # it has no types
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from dp_accounting.pld import privacy_loss_distribution
    except ImportError:
        raise BadInput(
            "this proof needs dp-accounting, which is not installed: pip install 'hideseek[dp]', or choose the proof"
            " known-mix."
        ) from None
    return privacy_loss_distribution
