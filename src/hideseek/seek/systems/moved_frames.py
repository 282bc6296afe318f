"""Where an image lies in its own frame: in the middle of all the shifts that it was seen at."""

from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.records.moving import moved
from hideseek.seek.systems.moved_mixtures import MovedMixtures

SLACK = 0.5  # pixels that a shift may be beyond the farthest, since it was found in whole ones
ENDS = 0.05  # of the shifts on either side do not count for their ends: they may be mistaken


def middle(shifts: Float[Tensor, " n"], trust: Float[Tensor, " n"], reach: float) -> float:
    """Give the middle of shifts that fill −reach to reach about it, some of them being mistaken.

    First the middle about which most of the trusted shifts are possible, then that of the ends of these.

    >>> round(middle(torch.tensor([-1.0, 0.0, 1.0, 2.0, 3.0, 9.0]), torch.ones(6), 2.0), 1)
    1.0
    """
    tries = torch.arange(-2 * reach - 1, 2 * reach + 1.5, 0.5)
    inside = ((shifts[:, None] - tries).abs() <= reach + SLACK).float()
    best = float(tries[int(((trust @ inside) - 1e-6 * tries.abs()).argmax())])
    kept = shifts[(shifts - best).abs() <= reach + SLACK]
    return float(kept.quantile(torch.tensor([ENDS, 1 - ENDS])).mean()) if len(kept) else best


def offsets(
    shifts: list[Float[Tensor, "uses 2"]], trust: list[Float[Tensor, " uses"]], reach: tuple[int, int]
) -> Float[Tensor, "n 2"]:
    """Give how far the frame of every image is from the middle of its shifts, in pixels, sideways first."""
    found = torch.zeros(len(shifts), 2)
    for image, (where, sure) in enumerate(zip(shifts, trust, strict=True)):
        if len(where):
            found[image, 0] = middle(where[:, 0], sure, reach[1])
            found[image, 1] = middle(where[:, 1], sure, reach[0])
    return found


def centred_templates(
    moves: Float[Tensor, "n m 2 3"],
    sources: Int[Tensor, "m k"],
    trust: Float[Tensor, "m n"],
    reach: tuple[int, int],
    size: tuple[int, int],
) -> Float[Tensor, "n m 2 3"]:
    """Move the frames of templates by whole pixels: each is in the frame of a row, which was shifted itself."""
    pixels = torch.tensor([size[1] / 2, size[0] / 2])
    rows = [(sources == image).any(1).nonzero()[:, 0] for image in range(len(moves))]
    by = offsets(
        [moves[image, each, :, 2] * pixels for image, each in enumerate(rows)],
        [trust[each, image] for image, each in enumerate(rows)],
        reach,
    )
    found = moves.clone()
    found[..., 2] -= (by.round() / pixels)[:, None]
    return found


def centred_images(
    images: Float[Tensor, "n c h w"], mixtures: MovedMixtures, trust: Float[Tensor, " m"], reach: tuple[int, int]
) -> tuple[Float[Tensor, "n c h w"], MovedMixtures]:
    """Move images, by parts of a pixel too, to the middle of their shifts, which then are from there."""
    pixels = torch.tensor([images.shape[3] / 2, images.shape[2] / 2])
    uses = [(mixtures.sources == image).nonzero(as_tuple=True) for image in range(len(images))]
    by = offsets(
        [mixtures.moves[use][:, :, 2] * pixels for use in uses],
        [mixtures.weights[use].square() * trust[use[0]] for use in uses],
        reach,
    )
    there = torch.eye(2, 3).repeat(len(images), 1, 1)
    there[..., 2] = by / pixels
    moves = mixtures.moves.clone()
    moves[..., 2] -= (by / pixels)[mixtures.sources]
    return moved(images, there), replace(mixtures, moves=moves)
