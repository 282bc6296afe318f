"""One vector over the images at every place, each known but for its sign: neighbours tell the signs."""

import math

import numpy as np
import torch
from jaxtyping import Float
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree
from torch import Tensor
from torch.nn import functional

from hideseek.seek.systems.leading_vectors import leading_vectors

REACH = 8  # places, in either direction, that are compared at most
FAR, FADES = 0.25, 0.3  # of the side of an image: how far vectors are alike, and where likeness has fallen by e
STEPS = 60  # of Lanczos' method
ROUNDS = 40  # in which every place follows the others


def aligned(field: Float[Tensor, "n h w"]) -> Float[Tensor, "n h w"]:
    """Choose the sign at every place so that vectors agree with those around them; one sign for all is left.

    It needs vectors over the images, of any length, one for each place, that are alike at places near to each other
    but for their signs. The leading eigenvector of the agreements of all places near each other gives the signs as a
    whole: pairs are many, so that no border between two regions of opposite sign goes unseen, where each pair on it is
    doubtful. Signs along the tree of neighbours that agree most start it. Then every place follows the others.
    """
    unit = functional.normalize(field, dim=0)
    matrix = _agreements(unit)
    start = _along_tree(unit).flatten()[:, None]

    def product(vector: Tensor) -> Tensor:
        return torch.from_numpy(matrix @ vector.numpy())

    signs = leading_vectors(product, start, STEPS)
    for _ in range(ROUNDS):
        total = product(signs) + 2 * signs
        signs = total / total.abs().clamp_min(1e-6).sqrt()  # no place outweighs the others
    return field * torch.where(signs >= 0, 1.0, -1.0).view(field.shape[1:])


def _agreements(unit: Float[Tensor, "n h w"]) -> csr_array:
    """Give the correlations of all pairs of places near each other, those farther apart counting for less."""
    height, width = unit.shape[1:]
    reach, fades = max(1, min(REACH, round(FAR * max(height, width)))), FADES * max(height, width)
    places = np.arange(height * width).reshape(height, width)
    shifts = [(a, b) for a in range(reach + 1) for b in range(-reach, reach + 1) if (a, b) > (0, 0)]
    firsts, seconds, values = [], [], []
    for down, across in shifts:
        if down >= height or abs(across) >= width:
            continue
        left, right = max(0, -across), width - max(0, across)
        first = (slice(0, height - down), slice(left, right))
        second = (slice(down, height), slice(left + across, right + across))
        firsts.append(places[first].ravel())
        seconds.append(places[second].ravel())
        agreement = torch.einsum("nhw,nhw->hw", unit[:, *first], unit[:, *second])
        values.append(agreement.flatten().numpy() * math.exp(-math.hypot(down, across) / fades))
    shape = (places.size, places.size)
    empty = np.empty(0)
    both = [np.concatenate([empty.astype(np.int64), *one, *two]) for one, two in ((firsts, seconds), (seconds, firsts))]
    numbers = np.concatenate([empty, *values, *values]).astype(np.float32)
    return csr_array((numbers, (both[0], both[1])), shape=shape)


def _along_tree(unit: Float[Tensor, "n h w"]) -> Float[Tensor, "h w"]:
    """Walk the maximum spanning tree of |correlation| of neighbours, and keep signs that agree along it."""
    height, width = unit.shape[1:]
    places = np.arange(height * width).reshape(height, width)
    across = (unit[:, :, 1:] * unit[:, :, :-1]).sum(0)
    down = (unit[:, 1:] * unit[:, :-1]).sum(0)
    values = torch.cat([across.flatten(), down.flatten()]).double().cpu().numpy()
    first = np.concatenate([places[:, 1:].ravel(), places[1:].ravel()])
    second = np.concatenate([places[:, :-1].ravel(), places[:-1].ravel()])
    shape = (places.size, places.size)
    tree = minimum_spanning_tree(csr_array((2 - np.abs(values), (first, second)), shape=shape))
    agree = csr_array((np.where(values >= 0, 1.0, -1.0), (first, second)), shape=shape)
    agree = (agree + agree.T).todok()
    order, before = breadth_first_order(tree, 0, directed=False)
    signs = np.ones(places.size)
    for place in order[1:]:
        signs[place] = signs[before[place]] * agree[place, before[place]]
    return torch.from_numpy(signs.reshape(height, width)).float().to(unit.device)
