"""Which public images explain what known ones leave of the differences of neighbours in a masked row.

Errors of neighbours have a peak at zero and long tails, as those of Cauchy's law (`robust_weights`). For an image that
is missing, with a small weight, the derivative of the likelihood is Σ_i ψ(e_i) d_i, ψ(e) = e / (1 + (e/w)²), d_i the
differences of the image: the score test, which needs one product with the pixels of every public image.
"""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.seek.signals.masked_pursuit import MaskedPursuit
from hideseek.seek.signals.matched_filter import TINY, BestCandidates
from hideseek.seek.systems.pair_votes import Array
from hideseek.seek.systems.signed_pairs import SignedPairs


def influence(pairs: SignedPairs, errors: Array, pixels: int) -> Float[Tensor, " pixels"]:
    """Give v with v · p = Σ_i ψ(e_i) (p_a − p_b), for the pairs (a, b) of neighbours and their errors."""
    width = float(np.median(np.abs(errors))) + TINY
    bounded = errors / (1 + (errors / width) ** 2)
    vector = np.bincount(pairs.first, bounded, pixels) - np.bincount(pairs.second, bounded, pixels)
    return torch.from_numpy(vector).float()


def missing_images(
    pursuit: MaskedPursuit, influences: Float[Tensor, "n pixels"], taken: Int[Tensor, "n j"], count: int
) -> Int[Tensor, "n m"]:
    """Rank public images, none of those taken, by the score test, each in units of its own changes."""
    best = BestCandidates(len(influences), min(count, len(pursuit.public)), influences.device)
    for (start, block), (_, sizes) in zip(pursuit.pixels, pursuit.changes, strict=True):
        scores = influences @ block.T / sizes.T
        inside = (taken >= start) & (taken < start + len(block))
        row, column = inside.nonzero(as_tuple=True)
        scores[row, taken[row, column] - start] = -torch.inf
        best.take(slice(None), scores, start)
    return best.places
