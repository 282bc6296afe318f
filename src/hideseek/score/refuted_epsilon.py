"""The largest ε that guesses about membership refute: what a private mechanism could not have shown.

Guesses are the surest of all candidates, in or out. How many of them to make must not be chosen by how well they did:
a few numbers of guesses are tried, and each is tested at its share of the error (Bonferroni).
"""

import math
from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Bool, Float
from torch import Tensor

from hideseek.errors import BadInput

DELTA = 1e-5  # at which ε is told
LARGEST = 64.0  # ε that is looked at
HALVINGS = 50
SHARES = (1, 4, 16, 64)  # of all candidates that are guessed, as 1 / share
FEWEST = 4  # guesses: fewer refute nothing at these levels


def one_run_p_value(candidates: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """Bound the chance that an (ε, δ)-private mechanism lets so many of r guesses be right.

    β + 2 m δ α, with W ~ Bin(r, 1 / (1 + e^−ε)), β = P[W ≥ v] and α = max over i of P[v > W ≥ v − i] / i, where each
    of m candidates was in or out by a fair coin (Steinke, Nasr and Jagielski 2023, Theorem 5.2).

    >>> one_run_p_value(100, 10, 10, 0.0, 0.0)
    0.0009765625
    """
    from scipy.stats import binom

    if not 0 <= right <= guesses <= candidates:
        raise BadInput(f"of {candidates} candidates, {guesses} cannot be guessed and {right} of these be right.")
    share = 1 / (1 + math.exp(-epsilon))
    beta = float(binom.sf(right - 1, guesses, share))
    if delta == 0 or right == 0:
        return min(1.0, beta)
    missed = np.cumsum(binom.pmf(np.arange(right - 1, -1, -1), guesses, share))
    alpha = float((missed / np.arange(1, right + 1)).max())
    return min(1.0, beta + 2 * candidates * delta * alpha)


def refuted_by_guesses(candidates: int, guesses: int, right: int, delta: float, level: float) -> float:
    """Give the largest ε at which so many right guesses are less likely than a level; 0: none.

    >>> round(refuted_by_guesses(1000, 1000, 1000, 0.0, 0.05), 2)
    5.81
    """
    return _largest(lambda epsilon: one_run_p_value(candidates, guesses, right, epsilon, delta) <= level, LARGEST)


def refuted_epsilon(
    scores: Float[Tensor, " n"], members: Bool[Tensor, " n"], delta: float = DELTA, confidence: float = 0.95
) -> float:
    """Give the largest ε that scores refute, whatever the mechanism: a one-run audit (Steinke et al. 2023).

    The r candidates with the highest and the lowest scores are guessed to be in and out, or the highest alone; r is
    one of a few shares of all, and the best counts, at a level divided by how many were tried. Candidates with equal
    scores are taken in the order given, which must not depend on the truth.

    Deviation: the theorem flips a coin for every candidate; a gallery has a fixed number of members. What one of them
    tells of the others is of the order of one in their number.
    """
    _check(scores, members, delta, confidence)
    order = np.argsort(-scores.double().cpu().numpy(), kind="stable")
    inside = members.cpu().numpy()[order]
    tried = list(_guesses(inside))
    level = (1 - confidence) / max(1, len(tried))
    return max((refuted_by_guesses(len(inside), *each, delta, level) for each in tried), default=0.0)


def _guesses(inside: Bool[np.ndarray, " n"]) -> Iterator[tuple[int, int]]:
    """Give numbers of guesses, and how many are right, where the surest member comes first."""
    for share in SHARES:
        each = len(inside) // share // 2
        if each * 2 >= FEWEST:
            right = int(inside[:each].sum() + (~inside[len(inside) - each :]).sum())
            yield 2 * each, right
        if each >= FEWEST:
            yield each, int(inside[:each].sum())


def refuted_mu(scores: Float[Tensor, " n"], members: Bool[Tensor, " n"], confidence: float = 0.95) -> float:
    """Give the largest μ of Gaussian differential privacy that scores refute; exact, but of independent candidates.

    Every member is paired with one that is none, in the order given. To tell which of the two is in is to tell two
    neighbours of neighbours apart, √2 μ-GDP, so that a guess is right with at most Φ(μ / √2) (Dong, Roth and Su 2022),
    and of so many pairs at most Bin(pairs, Φ(μ / √2)) are. A tie is half a guess, rounded down in sum.

    It needs more than `refuted_epsilon`: which images are in was chosen at random, and the noise in the scores of one
    pair is independent of that in others. In return it loses little: a mechanism that adds Gaussian noise is refuted
    close to its own μ.
    """
    from scipy.special import ndtr
    from scipy.stats import binom

    _check(scores, members, 0.0, confidence)
    values, inside = scores.double().cpu().numpy(), members.cpu().numpy()
    pairs = min(int(inside.sum()), int((~inside).sum()))
    first, second = values[inside][:pairs], values[~inside][:pairs]
    right = int((first > second).sum() + 0.5 * (first == second).sum())

    def refutes(mu: float) -> bool:
        return bool(binom.sf(right - 1, pairs, ndtr(mu / math.sqrt(2))) <= 1 - confidence)

    return _largest(refutes, 16.0)


def _largest(holds: Callable[[float], bool], most: float) -> float:
    """Give the largest number up to `most` for which something holds that holds for all smaller ones; 0: none."""
    if not holds(0.0):
        return 0.0
    low, high = 0.0, most
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _check(scores: Float[Tensor, " n"], members: Bool[Tensor, " n"], delta: float, confidence: float) -> None:
    if scores.shape != members.shape or not scores.isfinite().all():
        raise BadInput("every candidate needs one score, a finite number.")
    if members.all() or not members.any():
        raise BadInput("members and others are both needed to refute a promise.")
    if not 0 <= delta < 1 or not 0 < confidence < 1:
        raise BadInput(f"delta must be in [0, 1) and confidence in (0, 1), not {delta} and {confidence}.")
