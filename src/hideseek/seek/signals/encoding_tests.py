"""Kolmogorov-Smirnov tests of whether encodings of different images differ (InstaHide, Appendix E.3)."""

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from scipy.stats import ks_2samp
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.progress import track

Table = NDArray[np.float64]


def statistics_names(locations: int) -> list[str]:
    """Give the names of the statistics.

    >>> statistics_names(1)
    ['mean', 'standard deviation', 'total variation', 'location 1']
    """
    places = [f"location {number + 1}" for number in range(locations)]
    return ["mean", "standard deviation", "total variation", *places]


def statistics(encoded: Float[Tensor, "n c h w"], places: Int[Tensor, " p"]) -> Float[Tensor, "n statistics"]:
    """Give the statistics of every encoding: those of all its pixels, and the values at some places."""
    flat = encoded.flatten(1).double()
    variation = encoded.diff(dim=2).abs().double().sum((1, 2, 3)) + encoded.diff(dim=3).abs().double().sum((1, 2, 3))
    whole = torch.stack([flat.mean(1), flat.std(1, correction=0), variation], dim=1)
    return torch.cat([whole, flat[:, places]], dim=1)


def single_against_many(values: Table, ids: NDArray[np.int64], tests: int, chance: Randomness) -> tuple[Table, Table]:
    """Give the paper's p-values, images × statistics, against all encodings and against those of other images.

    Each is a mean over single encodings of an image. A sample of one has its rank among n others for a p-value,
    2·min(rank, n − rank)/n or so: no less than 2/(n + 1) however far it lies, and one half on average where it was
    drawn from them. Ranks among all encodings average out over the images, whatever these are.
    """
    images, kinds = int(ids.max()) + 1, values.shape[1]
    against_all, against_others = np.empty((images, kinds)), np.empty((images, kinds))
    for image, kind in track(list(np.ndindex(images, kinds)), "testing single encodings", images * kinds):
        own = values[ids == image, kind]
        picked = own[chance.permutation(len(own))[:tests].numpy()]
        for table, others in ((against_all, values[:, kind]), (against_others, values[ids != image, kind])):
            table[image, kind] = np.mean([ks_2samp(picked[i : i + 1], others).pvalue for i in range(len(picked))])
    return against_all, against_others


def one_against_the_rest(values: Table, ids: NDArray[np.int64]) -> Table:
    """Give the p-values, images × statistics, of all encodings of an image against those of all others."""
    images, kinds = int(ids.max()) + 1, values.shape[1]
    table = np.empty((images, kinds))
    for image, kind in np.ndindex(images, kinds):
        own, others = values[ids == image, kind], values[ids != image, kind]
        table[image, kind] = ks_2samp(own, others, method="asymp").pvalue
    return table
