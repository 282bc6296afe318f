"""Exact weights of several public images in a masked row, by random sample consensus around known guesses.

As in `flat_pairs`, neighbours that are equal in the private images give linear equations of the weights that hold to
the last bit. Weights that are nearly right (`robust_weights`) tell the signs of two neighbours, and which of them are
likely to be equal: those that they explain best. Of u unknown weights, u − 1 pairs give all as functions of the last,
and the other pairs vote for that (`weight_lines`).
"""

import numpy as np

from hideseek.chance import Randomness
from hideseek.seek.systems.free_weights import completed, reduced
from hideseek.seek.systems.pair_votes import Array
from hideseek.seek.systems.robust_weights import RobustFit
from hideseek.seek.systems.signed_pairs import SignedPairs, support
from hideseek.seek.systems.weight_lines import consensus

DRAWN_FROM = (80, 250, 600)  # the smoothest pairs, from which guesses are drawn
JUDGES = 1200  # the smoothest pairs, which judge a guess
TRIES = (1, 1000, 5000, 10_000)  # for one unknown weight, for two, for three, and for more
AROUND = 0.03  # how far a weight may be from the one that is nearly right
AGREE = 3  # judges that a guess needs to be looked at, beside those that it was made of
_ROUNDS = 4  # of fitting weights to the pairs that they explain


def exact_set(
    pairs: SignedPairs, differences: Array, fit: RobustFit, mass: float | None, chance: Randomness
) -> tuple[Array, int]:
    """Give the weights of images, j × pairs, and their support, from weights nearby; they sum to `mass`, if known."""
    order = np.argsort(np.abs(fit.errors))[:JUDGES]
    given, seen = fit.values[order], differences[:, order]
    targets = given if mass is None else given - mass * seen[-1]
    changes = np.ascontiguousarray(reduced(seen, mass).T)
    unknown = changes.shape[1]
    tries = TRIES[min(unknown, len(TRIES)) - 1]
    best, most = fit.weights, 0
    for reach in DRAWN_FROM:
        drawn = chance.integers(min(reach, len(order)), tries, unknown - 1).numpy()
        weights, agreed = consensus(
            targets, changes, drawn, fit.weights[:unknown], 1.0 if mass is None else mass, AROUND, 2 * pairs.near
        )
        if agreed > most:
            most, best = agreed, completed(weights, mass)
    if most < unknown + AGREE:
        return best, 0
    for _ in range(_ROUNDS):
        best = _refined(pairs, differences, best, mass)
    return best, support(pairs, differences, best) if (best > 0).all() else 0


def _refined(pairs: SignedPairs, differences: Array, weights: Array, mass: float | None) -> Array:
    """Fit weights to all pairs that they explain, by least squares."""
    wanted = weights @ differences
    steps = pairs.steps[pairs.channel]
    size, errors = np.full(len(wanted), np.inf), np.zeros(len(wanted))
    for value in (pairs.one - pairs.two, pairs.two - pairs.one, pairs.one + pairs.two, -pairs.one - pairs.two):
        error = (value - wanted)[:, None] - steps
        nearest = np.abs(error).argmin(1)
        error = error[np.arange(len(error)), nearest]
        better = np.abs(error) < size
        size, errors = np.where(better, np.abs(error), size), np.where(better, error, errors)
    chosen = size < 2 * pairs.near
    changes = reduced(differences, mass)[:, chosen]
    step = np.linalg.lstsq(changes @ changes.T, changes @ errors[chosen], rcond=None)[0]
    return completed(weights[: len(changes)] + step, mass)
