"""Several guesses at a time of which public images are in a masked row: a beam search on top of `masked_pursuit`."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.seek.signals.masked_pursuit import MaskedPursuit
from hideseek.seek.signals.public_sets import Found, Pixels
from hideseek.seek.signals.soft_signs import soft_signs

CHILDREN = 8  # ways in which each of them may go on
STEPS = 4  # of fitting their weights

Ranked = tuple[Float[Tensor, "n width m"], Int[Tensor, "n width m"]]


@dataclass(frozen=True)
class Beams:
    """Guesses for every row, the likeliest first: sets of images, their weights and scores."""

    places: Int[Tensor, "n width j"]
    weights: Float[Tensor, "n width j"]
    scores: Float[Tensor, "n width"]

    def flat(self) -> Found:
        """Give all guesses as one list."""
        return Found(self.places.flatten(0, 1), self.weights.flatten(0, 1))

    def first(self, width: int) -> "Beams":
        """Give the likeliest guesses."""
        return Beams(self.places[:, :width], self.weights[:, :width], self.scores[:, :width])

    def best(self) -> Found:
        """Give the likeliest guess for every row."""
        return Found(self.places[:, 0], self.weights[:, 0])


def start(pursuit: MaskedPursuit, rows: Pixels, width: int) -> Beams:
    """Guess one image of every row, by squares."""
    scores, places = pursuit.first(rows, width)
    width = places.shape[1]
    none = scores.new_empty(len(scores) * width, 0)
    found = pursuit.fit(rows.repeat_interleave(width, 0), places.reshape(-1, 1), none)
    return _sorted(found, scores.flatten(), len(rows), width)


def follow(pursuit: MaskedPursuit, rows: Pixels, beams: Beams, width: int, ranked: Ranked | None = None) -> Beams:
    """Add an image to every guess in a few ways, and keep the sets that leave the smoothest rest.

    `ranked` is what may follow, where that is known already.
    """
    places = (successors(pursuit, rows, beams, CHILDREN) if ranked is None else ranked)[1][:, :, :CHILDREN]
    n, parents, children = places.shape
    before = beams.places[:, :, None].expand(-1, -1, children, -1)
    sets = torch.cat([before, places[..., None]], 3).view(n, parents * children, -1)
    return select(pursuit, rows, sets, beams.weights.repeat_interleave(children, 1), width)


def select(
    pursuit: MaskedPursuit, rows: Pixels, sets: Int[Tensor, "n m j"], weights: Float[Tensor, "n m i"], width: int
) -> Beams:
    """Fit the weights of sets, and keep the best sets of each row, none of them twice."""
    n, many, _ = sets.shape
    each = rows.repeat_interleave(many, 0)
    found = pursuit.fit(each, sets.flatten(0, 1), weights.flatten(0, 1), STEPS)
    scores = -roughness(each, found.sum(pursuit.public)).view(n, many)
    members = sets.sort(2).values
    same = (members[:, :, None] == members[:, None]).all(3)
    earlier = torch.ones(many, many, dtype=torch.bool, device=rows.device).triu(1)
    scores = scores.masked_fill((same & earlier).any(1), -torch.inf)
    return _sorted(found, scores.flatten(), n, many).first(width)


def roughness(rows: Pixels, known: Pixels) -> Float[Tensor, " n"]:
    """Give the total variation of what a known part leaves of masked rows, with the signs that it tells.

    Photographs are smooth but for edges: a wrong public image leaves its own edges, and wrong signs, in the rest.
    Numbers without neighbours have their size instead.
    """
    signs, _ = soft_signs(rows, known)
    rest = signs.sign() * rows - known
    if min(rest.shape[2:]) == 1:
        return rest.abs().flatten(1).mean(1)
    across, down = rest[..., 1:] - rest[..., :-1], rest[..., 1:, :] - rest[..., :-1, :]
    return across.abs().flatten(1).mean(1) + down.abs().flatten(1).mean(1)


def successors(pursuit: MaskedPursuit, rows: Pixels, beams: Beams, count: int) -> Ranked:
    """Rank what may follow each guess."""
    n, width, _ = beams.places.shape
    scores, places = pursuit.next(rows.repeat_interleave(width, 0), beams.flat(), count)
    return scores.view(n, width, -1), places.view(n, width, -1)


def _sorted(found: Found, scores: Tensor, n: int, width: int) -> Beams:
    scores = scores.view(n, width)
    order = scores.argsort(1, descending=True)
    deep = order[..., None].expand(-1, -1, found.places.shape[1])
    places, weights = (each.view(n, width, -1).gather(1, deep) for each in (found.places, found.weights))
    return Beams(places, weights, scores.gather(1, order))
