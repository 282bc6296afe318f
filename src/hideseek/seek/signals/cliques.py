"""Sets of rows that all share an image: grown greedily from many seeds, one kept for each private image."""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from hideseek.chance import Randomness
from hideseek.progress import track
from hideseek.seek.signals.links import RowClasses
from hideseek.seek.work import TOUCH

SAME = 0.4  # of the rows of two sets: from there on they are of one image


def class_sizes(sizes: Float[Tensor, " classes"], total: int) -> Int[Tensor, " classes"]:
    """Round expected numbers of images to whole ones with a given sum, by the largest remainders.

    >>> class_sizes(torch.tensor([1.2, 2.7, 0.0]), 4).tolist()
    [1, 3, 0]
    """
    scaled = sizes * (total / float(sizes.sum().clamp_min(1e-9)))
    whole = (scaled + 1e-4).floor().long()
    order = (scaled - whole).argsort(descending=True, stable=True)
    whole[order[: max(0, total - int(whole.sum()))]] += 1
    return whole


def greedy_sets(
    scores: Float[Tensor, "m m"], seeds: Int[Tensor, " seeds"], size: int
) -> tuple[Int[Tensor, "seeds size"], Float[Tensor, " seeds"]]:
    """Grow a set from every seed: the row is added whose scores with all members have the largest sum.

    Give the sets, and the mean score within each.
    """
    size = min(size, len(scores))
    sums = scores[seeds].clone()
    sums.scatter_(1, seeds[:, None], -torch.inf)
    members, total = [seeds], torch.zeros(len(seeds))
    for _ in range(size - 1):
        value, added = sums.max(1)
        total += value
        members.append(added)
        sums += scores[added]
        sums.scatter_(1, added[:, None], -torch.inf)
    return torch.stack(members, 1), total / max(1, size * (size - 1) // 2)


def cliques(
    scores: Float[Tensor, "m m"], classes: RowClasses, images: int, size: int, seeds: int, chance: Randomness
) -> tuple[list[Int[Tensor, " size"]], Int[Tensor, " n"]]:
    """Give a set of rows for every private image, and its class: rows that share an image share its class."""
    found: list[Tensor] = []
    of_class: list[int] = []
    for number, count in enumerate(track(class_sizes(classes.sizes, images).tolist(), "sets of rows")):
        rows = (classes.images[:, number] > 0).nonzero()[:, 0]
        if not count or not len(rows):
            continue
        here = scores[rows][:, rows]
        start = chance.permutation(len(rows))[: seeds * count]
        sets, density = greedy_sets(here, start, size)
        chosen = distinct(sets, density, count)
        found += [rows[sets[each]] for each in chosen]
        of_class += [number] * len(chosen)
    return found, torch.tensor(of_class)


def distinct(near: Int[Tensor, "seeds rows"], density: Float[Tensor, " seeds"], size: int) -> list[int]:
    """Choose the densest that have other rows; where these are too few, those that have least rows in common."""
    members = functional.one_hot(near, int(near.max()) + 1).sum(1).float()
    common = members @ members.T / near.shape[1]
    chosen: list[int] = []
    for each in density.argsort(descending=True).tolist():
        if len(chosen) < size and all(float(common[each, other]) < SAME for other in chosen):
            chosen.append(each)
    while len(chosen) < min(size, len(near)):
        most = common[:, chosen].amax(1)
        most[chosen] = torch.inf
        chosen.append(int(most.argmin()))
    return chosen


def cliques_work(items: int, images: int, size: int, seeds: int) -> float:
    """Count the sums of every seed's set, with all rows, as if there were one class."""
    return 3.0 * seeds * images * size * items * TOUCH
