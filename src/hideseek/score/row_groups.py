"""Groups of rows that an attack puts together: how many rows are in them, and how many in each."""

from collections import Counter

import torch
from jaxtyping import Int
from torch import Tensor

from hideseek.records import Links, Reconstruction
from hideseek.records.result import Claimed, RowGroups


def gathered(groups: Int[Tensor, "groups rows"]) -> RowGroups:
    """Count the rows of groups that may have some in common; −1 is none.

    >>> gathered(torch.tensor([[4, 1, -1], [1, 2, 3]]))
    RowGroups(rows=4, sizes={2: 1, 3: 1})
    """
    there = groups >= 0
    sizes = Counter(size for size in there.sum(1).tolist() if size)
    return RowGroups(len(groups[there].unique()), dict(sorted(sizes.items())))


def joined(first: Int[Tensor, " pairs"], second: Int[Tensor, " pairs"], asked: Int[Tensor, " rows"]) -> RowGroups:
    """Count the rows that are paired with each of some, in either order, and these themselves.

    Pairs of pairs are left alone: with two images in every row, nearly all rows would be one group.

    >>> joined(torch.tensor([0, 1, 7]), torch.tensor([1, 5, 8]), torch.tensor([0, 1, 2]))
    RowGroups(rows=3, sizes={2: 1, 3: 1})
    """
    both = torch.stack([torch.cat([first, second]), torch.cat([second, first])]).unique(dim=1)
    both = both[:, torch.isin(both[0], asked)]
    sizes = Counter((both[0].unique(return_counts=True)[1] + 1).tolist())
    return RowGroups(len(both.unique()), dict(sorted(sizes.items())))


def linked(claim: Links) -> Claimed:
    """State how many pairs are linked, by the attack's own threshold, and with how many others a row is."""
    pairs = "{count} pairs of rows, by how likely they share an image"
    if claim.threshold is None:
        return Claimed(claim.name, len(claim.scores), f"{pairs}, without a threshold of its own")
    above = claim.scores > claim.threshold
    groups = joined(claim.first[above], claim.second[above], claim.first)
    rows = " ({groups}, each a row and those linked with it)" if groups.rows else ""
    finding = f"{pairs}, of which it takes {{taken}} to do so{rows}"
    return Claimed(claim.name, len(claim.scores), finding, taken=int(above.sum()), groups=groups)


def guessed(claim: Reconstruction) -> Claimed:
    """State how many images are guessed, of how many the attack is sure, and from which rows."""
    sure = None if claim.sure is None else int(claim.sure.sum())
    if claim.groups is None:
        return Claimed(claim.name, len(claim.images), "{count} images that it guesses", sure)
    finding = "{count} images that it guesses, from {groups}"
    return Claimed(claim.name, len(claim.images), finding, sure, groups=gathered(claim.groups))
