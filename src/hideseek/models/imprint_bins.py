"""An imprint layer, seen in the weights of a model, and what its bins hold."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from hideseek.records.samples import Normalisation

PARALLEL = 1 - 1e-6  # cosine of rows that measure the same
MOST = 0.8  # the share of rows that must
LEAST_BINS = 4
EMPTY = 1e-4  # of the largest difference: what float32 leaves in an empty bin
BYTE = 0.1  # how far from a whole number a byte may be


def imprint_order(layer: Float[Tensor, "neurons inputs"]) -> Int[Tensor, " bins"] | None:
    """Give the neurons of an imprint by their thresholds, the lowest first; None where the layer is none.

    An honest layer's rows differ; an imprint's are multiples of one measurement w, under biases that all differ:
    neuron j fires where w · x > t_j = −b_j / s_j, with s_j the length of its row.
    """
    weights, biases = layer[:, :-1].double(), layer[:, -1].double()
    lengths = weights.norm(dim=1)
    units = weights / lengths.clamp_min(1e-300)[:, None]
    middle = units[lengths.argsort()[len(lengths) // 2]]
    alike = (units @ middle > PARALLEL) & (lengths > 0)
    thresholds = -biases / lengths.clamp_min(1e-300)
    distinct = len(thresholds[alike].unique())
    if int(alike.sum()) < max(LEAST_BINS, MOST * len(layer)) or distinct < MOST * int(alike.sum()):
        return None
    places = alike.nonzero()[:, 0]
    order: Tensor = places[thresholds[places].argsort()]
    return order


def bin_contents(
    matrix: Float[Tensor, "neurons inputs"], layer: Float[Tensor, "neurons inputs"], order: Int[Tensor, " bins"]
) -> tuple[Float[Tensor, "found inputs"], Bool[Tensor, " found"]]:
    """Give what each bin that is not empty holds, (A_j − A_j+1) over its bias, and whether it belongs there.

    An image in bin j has t_j < w · x ≤ t_j+1; of several in one bin, this is their mixture.
    """
    rows, weights = matrix[order].double(), layer[order].double()
    steps = rows - torch.cat([rows[1:], torch.zeros_like(rows[:1])])
    sizes = steps.norm(dim=1)
    heard = (sizes > EMPTY * sizes.max()) & (steps[:, -1].abs() > 1e-9 * sizes)
    found = steps[heard] / steps[heard, -1:]
    place = heard.nonzero()[:, 0]
    fits, above = ((found * weights[each]).sum(1) > 0 for each in (place, (place + 1).clamp_max(len(order) - 1)))
    return found, fits & (~above | (place == len(order) - 1))


def of_bytes(images: Float[Tensor, "n c h w"], normalisation: Normalisation) -> Bool[Tensor, " n"]:
    """Tell which images consist of bytes, as mixtures do not; none, where values are no known multiples of bytes."""
    if normalisation.kind == "image":
        return torch.zeros(len(images), dtype=torch.bool)
    values = images.double()
    if normalisation.kind == "channel":
        std, mean = (torch.tensor(each).double().view(1, -1, 1, 1) for each in (normalisation.std, normalisation.mean))
        values = values * std + mean
    values = values * 255
    return ((values - values.round()).abs() < BYTE).flatten(1).all(1)
