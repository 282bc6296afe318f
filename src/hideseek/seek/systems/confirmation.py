"""How many pairs of neighbours must be explained exactly, for weights to be right and not one of many wrong guesses.

Wrong weights explain pairs by chance, and pairs are many, so that their number follows Poisson's law. Its mean is
measured on the row itself: what weights explain within an error that is many times wider, divided by as much.

That makes weights likely, and ends a search. It is no proof of the images: differences are whole bytes, so that a wrong
image with the weight of the right one explains flat pairs where both change alike. Pixels are the proof
(`row_under_mask`).
"""

from dataclasses import replace

import numpy as np
from scipy.special import gammainc

from hideseek.seek.systems.pair_votes import Array
from hideseek.seek.systems.signed_pairs import SURE, SignedPairs, support

WRONG = 1e-6  # rows where chance alone explains as much, at most
GUESSES = 1e9  # of weights that are tried for a row, at most
WIDER = 200.0  # times the error of exact sums
UNSEEN = 3  # where none are seen, as many may be expected (with a probability of 5 %)


def enough(pairs: SignedPairs, differences: Array, weights: Array, explained: int, free: int) -> bool:
    """Tell whether so many pairs, of which `free` weights were fitted to as many, are too many for chance."""
    wide = support(replace(pairs, near=WIDER * pairs.near), differences, weights)
    return explained - free >= max(SURE, least_support((wide - explained + UNSEEN) / WIDER))


def least_support(expected: float, guesses: float = GUESSES, wrong: float = WRONG) -> int:
    """Give the least m with guesses · P(X ≥ m) ≤ wrong, where X is of Poisson's law with the mean `expected`.

    >>> least_support(0.1), least_support(1.0)
    (10, 18)
    """
    counts = np.arange(1, 1000)
    tails = gammainc(counts, max(expected, 1e-12))  # P(X ≥ m) is the regularised incomplete gamma function
    return int(counts[(guesses * tails <= wrong).argmax()])
