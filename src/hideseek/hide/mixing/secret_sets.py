"""Random sets of images, one for every row, for proofs that count on nobody knowing them."""

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from scipy.stats import binom
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.hide.mixing.partners import public_partners

Sets = tuple[Int[Tensor, "rows k"], Float[Tensor, "rows k"]]


def poisson_sets(count: int, m: int, chance: Randomness) -> Sets:
    """Draw a set for each of `count` rows: every image with probability m / count, by itself.

    A row has Binomial(count, m / count) images, and every set of that many is as likely as every other. Given are the
    images of each row, and 1 where one is in it: rows with fewer than the largest are filled up with their first image
    and 0. A row may have none.
    """
    sizes = binom.ppf(chance.uniforms(count).numpy(), count, m / count).astype(np.int64).clip(0, count)
    drawn = public_partners(count, count, max(1, int(sizes.max())), chance).numpy()
    return _filled(drawn, sizes)


def allocated_sets(count: int, m: int, chance: Randomness) -> Sets:
    """Draw m of `count` rows for each image, evenly and by itself; the sets are given as above."""
    rows = public_partners(count, count, m, chance).numpy()  # of each image
    order = rows.ravel().argsort(kind="stable")
    images, where = order // m, rows.ravel()[order]
    sizes = np.bincount(where, minlength=count)
    starts = np.concatenate([[0], sizes.cumsum()[:-1]])
    drawn = np.zeros((count, max(1, int(sizes.max()))), np.int64)
    drawn[where, np.arange(len(where)) - starts[where]] = images
    return _filled(drawn, sizes)


def _filled(drawn: NDArray[np.int64], sizes: NDArray[np.int64]) -> Sets:
    inside = np.arange(drawn.shape[1]) < sizes[:, None]
    sources = np.where(inside, drawn, drawn[:, :1])
    return torch.from_numpy(sources), torch.from_numpy(inside.astype(np.float32))
