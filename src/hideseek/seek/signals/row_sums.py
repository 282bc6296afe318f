"""Sums of rows by groups, and how alike rows look."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.device import device
from hideseek.progress import track
from hideseek.similarity import ssim

BLOCK = 1 << 18  # pixels that are added up or compared at a time


def weighted_sums(
    rows: Float[Tensor, "n c h w"], member: Int[Tensor, " n"], weights: Float[Tensor, " n"]
) -> Float[Tensor, "groups c h w"]:
    """Give Σ_r w_r x̃_r over the members r of every group."""
    sums = torch.zeros(int(member.max()) + 1, *rows.shape[1:])
    size = _rows_at_a_time(rows)
    for start in track(range(0, len(rows), size), "averaging"):
        some = slice(start, start + size)
        sums.index_add_(0, member[some], rows[some] * weights[some, None, None, None])
    return sums


def grouped(values: Float[Tensor, " n"], member: Int[Tensor, " n"]) -> Float[Tensor, "groups 1 1 1"]:
    """Give the sum of the values of every group."""
    return member.bincount(values)[:, None, None, None].to(values)


def similarities(rows: Float[Tensor, "n c h w"], queries: Int[Tensor, " q"], data_range: float) -> Float[Tensor, "q n"]:
    """Give the SSIM of some rows with all; a block of rows meets every query while it is in the cache."""
    scores = torch.empty(len(queries), len(rows))
    size, place = _rows_at_a_time(rows), device()
    asked = rows[queries].to(place)
    for start in track(range(0, len(rows), size), "comparing rows"):
        block = rows[start : start + size].to(place)
        for number, query in enumerate(asked):
            scores[number, start : start + size] = ssim(query.expand_as(block), block, data_range).cpu()
    return scores


def _rows_at_a_time(rows: Float[Tensor, "n c h w"]) -> int:
    return max(1, BLOCK // math.prod(rows.shape[1:]))
