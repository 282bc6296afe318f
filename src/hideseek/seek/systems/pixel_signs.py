"""One vector over the images at every place, each known but for its sign: neighbours tell the signs."""

import numpy as np
import torch
from jaxtyping import Float
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree
from torch import Tensor
from torch.nn import functional

REACH = 3  # places that agree beyond a neighbour
STEPS = 100  # of the power method


def aligned(field: Float[Tensor, "n h w"]) -> Float[Tensor, "n h w"]:
    """Choose the sign at every place so that vectors agree with those around them.

    First along the tree of neighbours that agree most, which no single doubtful pair can break; then by the leading
    eigenvector of the agreements of all places that are at most REACH apart, found from there.
    """
    unit = functional.normalize(field, dim=0)
    signs = _along_tree(unit)
    pairs = _agreements(unit)
    for _ in range(STEPS):
        total = 2 * signs
        for first, second, agreement in pairs:
            total[first] += agreement * signs[second]
            total[second] += agreement * signs[first]
        signs = total / total.abs().clamp_min(1e-6).sqrt()  # no place outweighs the others
    return field * torch.where(signs >= 0, 1.0, -1.0)


def _agreements(unit: Float[Tensor, "n h w"]) -> list[tuple[tuple[slice, slice], tuple[slice, slice], Tensor]]:
    """Give the correlations of all places that are at most REACH apart, shift by shift."""
    height, width = unit.shape[1:]
    shifts = [(a, b) for a in range(REACH + 1) for b in range(-REACH, REACH + 1) if (a, b) > (0, 0)]
    pairs = []
    for down, across in shifts:
        if down >= height or abs(across) >= width:
            continue
        left, right = max(0, -across), width - max(0, across)
        first = (slice(0, height - down), slice(left, right))
        second = (slice(down, height), slice(left + across, right + across))
        pairs.append((first, second, (unit[:, *first] * unit[:, *second]).sum(0)))
    return pairs


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
