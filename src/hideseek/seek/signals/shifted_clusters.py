"""Rows that show the same image in other places, gathered around templates of what they have in common."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.progress import track
from hideseek.seek.signals.cliques import class_sizes, distinct
from hideseek.seek.signals.links import RowClasses
from hideseek.seek.signals.shifted_maps import Shifts, matches, matches_work, weighted_mean

GROWTH = (0.25, 0.5, 0.75, 0.75)  # of the rows that an image is in, gathered step by step


def shifted_templates(
    maps: Float[Tensor, "m c h w"],
    classes: RowClasses,
    images: int,
    per_image: int,
    seeds: int,
    shifts: Shifts,
    chance: Randomness,
) -> tuple[Float[Tensor, "n c h w"], Int[Tensor, " n"]]:
    """Give a template of every private image, and its class.

    Within a class, from every seed (a row in which the class has much weight), the rows are gathered that match it
    best, brought to its place and averaged, heavy ones counting more; then those that match the average, and more of
    them each time. Of the averages those are kept whose rows match best, as many as the class has images.
    """
    found, of_class = [], []
    for number, size in enumerate(track(class_sizes(classes.sizes, images).tolist(), "templates of images")):
        rows = (classes.images[:, number] > 0).nonzero()[:, 0]
        if not size or not len(rows):
            continue
        weights = classes.weights[rows, number].square()
        weights = weights / weights.mean().clamp_min(1e-30)
        heavy = weights.argsort(descending=True)[: max(1, -(-len(rows) // 2))]
        start = heavy[chance.permutation(len(heavy))[: seeds * size]]
        here = maps[rows]
        gathered, near, density = _gather(here, here[start], weights, per_image, shifts)
        chosen = distinct(near, density, size)
        found += [gathered[each] for each in chosen]
        of_class += [number] * len(chosen)
    return torch.stack(found), torch.tensor(of_class)


def _gather(
    maps: Tensor, seeds: Tensor, weights: Tensor, per_image: int, shifts: Shifts
) -> tuple[Tensor, Tensor, Tensor]:
    """Give the averages around seeds, the rows that are nearest to each, and how near these are."""
    near, density = torch.zeros(len(seeds), 1, dtype=torch.int64), torch.zeros(len(seeds))
    for share in GROWTH:
        matched = matches(seeds, maps, shifts)
        values, near = (matched.scores * weights.sqrt()).topk(min(len(maps), max(2, round(share * per_image))), 1)
        density = values.mean(1)
        means = []
        for each, rows in enumerate(near):
            trusted = weights[rows] * matched.scores[each, rows].clamp_min(0)
            means.append(weighted_mean(maps[rows], matched.moves[each, rows], trusted))
        seeds = torch.stack(means)
    return seeds, near, density


def templates_work(items: int, images: int, seeds: int, pixels: int) -> float:
    """Count the matches, as if there were one class."""
    return len(GROWTH) * matches_work(seeds * images, items, pixels)
