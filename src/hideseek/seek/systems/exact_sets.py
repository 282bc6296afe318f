"""Exact weights of several public images in a masked row, by random sample consensus around known guesses.

As in `flat_pairs`, neighbours that are equal in the private images give linear equations of the weights that hold to
the last bit. Weights that are nearly right (`robust_weights`) tell the signs of two neighbours, and which of them are
likely to be equal: those that they explain best.
"""

import numpy as np

from hideseek.chance import Randomness
from hideseek.chance.compiled import compiled
from hideseek.seek.systems.free_weights import completed, reduced
from hideseek.seek.systems.pair_votes import Array, Integers
from hideseek.seek.systems.robust_weights import RobustFit
from hideseek.seek.systems.signed_pairs import SignedPairs, support

DRAWN_FROM = (80, 250, 600)  # the smoothest pairs, from which guesses are drawn
JUDGES = 1200  # the smoothest pairs, which judge a guess
TRIES = 30_000
AROUND = 0.03  # how far a weight may be from the one that is nearly right
AGREE = 3  # judges that a guess needs to be looked at, beside those that it was made of
_ROUNDS = 4  # of fitting weights to the pairs that they explain
_SOLVABLE = 1e-4  # least pivot of a system


def exact_set(
    pairs: SignedPairs,
    differences: Array,
    fit: RobustFit,
    mass: float | None,
    chance: Randomness,
    tries: int = TRIES,
) -> tuple[Array, int]:
    """Give the weights of images, j × pairs, and their support, from weights nearby; they sum to `mass`, if known."""
    order = np.argsort(np.abs(fit.errors))[:JUDGES]
    given, seen = fit.values[order], differences[:, order]
    targets = given if mass is None else given - mass * seen[-1]
    changes = np.ascontiguousarray(reduced(seen, mass).T)
    unknown = changes.shape[1]
    best, most = fit.weights, 0
    for reach in DRAWN_FROM:
        drawn = chance.integers(min(reach, len(order)), tries, unknown).numpy()
        weights, agreed = _consensus(
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


@compiled(fastmath=True)
def _consensus(  # pragma: no cover (compiled)
    targets: Array, seen: Array, drawn: Integers, guess: Array, mass: float, around: float, near: float
) -> tuple[Array, int]:
    unknown = seen.shape[1]
    best, most = guess.copy(), 0
    system = np.empty((unknown, unknown + 1))
    for t in range(len(drawn)):
        for a in range(unknown):
            for b in range(unknown):
                system[a, b] = seen[drawn[t, a], b]
            system[a, unknown] = targets[drawn[t, a]]
        solvable = True
        for a in range(unknown):
            pivot = a
            for b in range(a + 1, unknown):
                if abs(system[b, a]) > abs(system[pivot, a]):
                    pivot = b
            if abs(system[pivot, a]) < _SOLVABLE:
                solvable = False
                break
            if pivot != a:
                for c in range(a, unknown + 1):
                    system[a, c], system[pivot, c] = system[pivot, c], system[a, c]
            for b in range(unknown):
                if b != a:
                    factor = system[b, a] / system[a, a]
                    for c in range(a, unknown + 1):
                        system[b, c] -= factor * system[a, c]
        if not solvable:
            continue
        total = 0.0
        for a in range(unknown):
            system[a, 0] = system[a, unknown] / system[a, a]
            total += system[a, 0]
            if system[a, 0] <= 0 or abs(system[a, 0] - guess[a]) > around:
                solvable = False
        if not solvable or total >= mass:
            continue
        count = 0
        for i in range(len(targets)):
            error = targets[i]
            for a in range(unknown):
                error -= system[a, 0] * seen[i, a]
            if abs(error) < near:
                count += 1
        if count > most:
            most = count
            for a in range(unknown):
                best[a] = system[a, 0]
    return best, most
