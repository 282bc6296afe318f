"""What a message that leaves a node must look like, whichever app made it."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor

from hideseek.errors import BadInput
from hideseek.federate.gate_log import GateLog
from hideseek.federate.messages import METRICS, Message
from hideseek.files import parsed
from hideseek.hide import RecipeEncoder
from hideseek.hide.files.schemes import from_json

BALANCE = 8.0  # deviations that neighbouring signs of a row may agree by, under a mask


def only(
    answer: Message,
    *,
    tensors: Collection[str] = (),
    numbers: Collection[str] = (),
    words: Mapping[str, set[str]] | None = None,
) -> None:
    """Refuse groups of tensors, numbers and words that nobody asked for; a number is one number, and no list."""
    if extra := sorted(set(answer.tensors) - set(tensors)):
        raise BadInput(f"tensors called {extra[0]!r} are not allowed")
    for group, values in answer.numbers.items():
        for name, value in values.items():
            if group != METRICS or name not in numbers or not isinstance(value, int | float):
                raise BadInput(f"the number {name!r} is not allowed")
    if {group: set(values) for group, values in answer.words.items()} != (words or {}):
        raise BadInput("words are not allowed in this message")


def must_be_like(found: Mapping[str, Tensor], model: Mapping[str, Tensor]) -> None:
    """Refuse what is no update of a model: other tensors, other shapes, numbers that are not finite."""
    if not found:
        raise BadInput("what is sent is no update of the model that came")
    for name, tensor in found.items():
        if name not in model or tensor.shape != model[name].shape:
            raise BadInput("what is sent is no update of the model that came")
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise BadInput("what is sent holds numbers that are not finite")


def description(text: str) -> tuple[dict[str, Any], RecipeEncoder]:
    """Read a description of encodings, and their scheme; one that gives away what should stay secret is refused."""
    about = parsed(text)
    scheme = from_json(about["scheme"])
    if not isinstance(scheme, RecipeEncoder):
        raise BadInput("what is described is no encoding of images")
    if about.get("given_away") or about.get("rounds", 1) != 1:
        raise BadInput("the encodings give away what should stay secret")
    return about, scheme


def shard(answer: Message, log: GateLog) -> tuple[RecipeEncoder, dict[str, Tensor]]:
    """Read a shard, and give the scheme that it was described with."""
    held = answer.tensors.get("shard", {})
    if set(held) != {"bytes"} or held["bytes"].dtype != torch.uint8:
        raise BadInput("what is sent is no shard")
    stated = log.described(answer.digests["shard", "bytes"])
    if stated is None:
        raise BadInput("the shard is of encodings that were not described")
    scheme = from_json(stated)
    assert isinstance(scheme, RecipeEncoder)  # noqa: S101 (`description`)
    try:
        return scheme, load(held["bytes"].cpu().numpy().tobytes())
    except SafetensorError:
        raise BadInput("what is sent is no shard") from None


def must_be_rows(scheme: RecipeEncoder, tensors: Mapping[str, Tensor]) -> None:
    """Refuse a shard that holds something else than encodings and labels, or whose encodings have no mask."""
    if set(tensors) != {"images", "labels"}:
        raise BadInput("a shard holds encodings and labels, and nothing else")
    if scheme.masked and not balanced(tensors["images"]):
        raise BadInput("the encodings are not masked")


def balanced(rows: Tensor) -> bool:
    """Tell whether signs of neighbours agree by chance alone in every row, as under a mask of fair coins.

    Floats have a sign bit, zeros too; a row of bytes has zeros without a sign, which do not count.
    """
    flat = rows.flatten(1).numpy()
    if rows.is_floating_point():
        negative = np.signbit(flat)
        differ = np.array([np.count_nonzero(row) for row in negative[:, 1:] != negative[:, :-1]])
        counts = np.full(len(flat), flat.shape[1] - 1)
        sums = counts - 2 * differ
    else:
        signs = np.sign(flat)
        agree = signs[:, 1:] * signs[:, :-1]
        counts, sums = np.count_nonzero(agree, 1), agree.sum(1, dtype=np.int64)
    return bool((counts > 0).any()) and bool((np.abs(sums) <= BALANCE * np.sqrt(counts)).all())
