"""The model that a server sent, checked by the client before it trains it."""

from collections.abc import Mapping
from functools import lru_cache, partial

import torch
from torch import Tensor

from hideseek.errors import BadInput
from hideseek.federate.agreement import Agreement
from hideseek.hide.updates import ShareUpdates
from hideseek.hide.updates.update_checks import as_float32, check_update
from hideseek.models import build
from hideseek.models.imprint_bins import imprint_order
from hideseek.records.shared_model import SharedModel
from hideseek.train.first_dense import first_dense

WHERE = "the model that the server sent"
LARGEST = 1e4  # of a weight: nothing that was trained is larger, and larger ones make single images stand out
SILENT = 0.5  # the share of a layer's rows that may be equal, or nothing
FEWEST = 4  # rows of a layer that can be judged
LEAN = 0.2  # how far positive and negative weights of a row of pixels may be out of balance, at the median
MANY = 64  # inputs from which on chance alone does not get as far
SAME = 0.9  # the share of rows that lean the same way


class MaliciousModel(BadInput):
    """A model that copies images into updates; the sentence names how."""


def received_model(state: Mapping[str, Tensor], agreement: Agreement) -> SharedModel:
    """Build the agreed architecture with the weights that came, or say why they are refused."""
    make = partial(build, agreement.model, agreement.shape, len(agreement.classes))
    parameters, buffers = planned_tensors(agreement.model, agreement.shape, len(agreement.classes))
    planned = {**parameters, **buffers}
    check_update(state, planned, WHERE)
    model = SharedModel(agreement.model, make, as_float32(state, planned, WHERE))
    check_honest(model, agreement)
    return model


@lru_cache(maxsize=8)
def planned_tensors(
    name: str, shape: tuple[int, int, int], classes: int
) -> tuple[Mapping[str, Tensor], Mapping[str, Tensor]]:
    """Give what the parameters and the buffers of an architecture are like."""
    network = build(name, shape, classes)
    parameters, buffers = (
        {key: torch.empty_like(tensor, device="meta") for key, tensor in tensors}
        for tensors in (network.named_parameters(), network.named_buffers())
    )
    return parameters, buffers


def check_honest(model: SharedModel, agreement: Agreement) -> None:
    """Refuse a model that was made to copy images: an imprint, weights that are huge, or layers that are mostly silent.

    Fowl et al. 2022 (imprint), Boenisch et al. 2023 (trap weights, and convolutions that pass images on), Pasquini et
    al. 2022 (dead layers) and Wen et al. 2022 (a last layer that fishes for a class) all show in the weights. A server
    that does none of this can still be dishonest: what is not found here is not ruled out.
    """
    for name, tensor in model.state.items():
        if tensor.is_floating_point() and not name.endswith(("running_var", "running_mean")):
            if float(tensor.abs().max() if tensor.numel() else 0.0) > LARGEST:
                raise MaliciousModel(f"{WHERE} holds weights above {LARGEST:g} in {name}, which single out images")
            if tensor.ndim > 1 and len(tensor) >= FEWEST:
                _check_rows(name, tensor)
    mode = agreement.scheme.mode if isinstance(agreement.scheme, ShareUpdates) else "eval"
    layer = first_dense(model, agreement.shape, mode)
    if isinstance(layer, str):
        return
    matrix = layer.matrix(model.state)
    if imprint_order(matrix) is not None:
        raise MaliciousModel(f"{WHERE} holds an imprint layer, {layer.name}, which copies single images into updates")
    if matrix.shape[1] > MANY and len(matrix) >= FEWEST and _leans(matrix[:, :-1]):
        raise MaliciousModel(f"{WHERE} holds trap weights in {layer.name}, which let few images through")


def _check_rows(name: str, tensor: Tensor) -> None:
    """Refuse layers most of whose rows are equal, or nothing, or take one number and pass it on."""
    rows = tensor.flatten(1)
    heard = rows[rows.abs().amax(1) > 0]
    if len(heard.unique(dim=0)) < (1 - SILENT) * len(rows):
        raise MaliciousModel(f"{WHERE} has rows that are equal, or nothing, in most of {name}: a trap")
    single = (rows != 0).sum(1) == 1
    if rows.shape[1] > 1 and float(single.float().mean()) > SILENT:
        raise MaliciousModel(f"{WHERE} has rows with a single weight in most of {name}, which pass images on")


def _leans(rows: Tensor) -> bool:
    """Tell whether rows of pixels have far more negative weight than positive, or the other way, nearly all alike."""
    lean = rows.double().sum(1) / rows.double().abs().sum(1).clamp_min(1e-300)
    same = max(float((lean > 0).double().mean()), float((lean < 0).double().mean()))
    return float(lean.abs().median()) > LEAN and same > SAME
