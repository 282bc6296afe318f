"""What a message that leaves a node must look like, whichever app made it."""

import math
from collections.abc import Collection, Mapping

import numpy as np
import torch
from torch import Tensor

from hideseek.errors import BadInput
from hideseek.federate.gate_log import GateLog
from hideseek.federate.messages import DECIMALS, EXAMPLES, METRICS, Message
from hideseek.hide import RecipeEncoder
from hideseek.hide.files.release_checks import check_values, shard_layout, wanted_tensors
from hideseek.hide.files.schemes import from_json

MOST = 1 << 40  # images that a message may be of
BALANCE = 8.0  # deviations that neighbouring signs of a row may agree by, under a mask


def only(
    answer: Message,
    *,
    tensors: Collection[str] = (),
    numbers: Collection[str] = (),
    words: Mapping[str, set[str]] | None = None,
) -> None:
    """Refuse groups of tensors, numbers and words that nobody asked for; a number is one number, and no list.

    Numbers count images, or are shares with few digits: more digits could hold a pixel.
    """
    if extra := sorted(set(answer.tensors) - set(tensors)):
        raise BadInput(f"tensors called {extra[0]!r} are not allowed")
    for group, values in answer.numbers.items():
        for name, value in values.items():
            if group != METRICS or name not in numbers or not _plain(name, value):
                raise BadInput(f"the number {name!r} is not allowed")
    if {group: set(values) for group, values in answer.words.items()} != (words or {}):
        raise BadInput("words are not allowed in this message")


def _plain(name: str, value: object) -> bool:
    """Tell whether a number is what its name says: a count, or a share of four decimals."""
    if name == EXAMPLES:
        return type(value) is int and 0 <= value < MOST
    return isinstance(value, float) and 0 <= value <= 1 and value == round(value, DECIMALS)


def must_be_like(found: Mapping[str, Tensor], planned: Mapping[str, Tensor]) -> None:
    """Refuse what is not of the agreed architecture: other tensors, shapes or types, numbers that are not finite."""
    if not found:
        raise BadInput("what is sent is no update of the agreed model")
    for name, tensor in found.items():
        if name not in planned or tensor.shape != planned[name].shape or tensor.dtype != planned[name].dtype:
            raise BadInput("what is sent is no update of the agreed model")
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise BadInput("what is sent holds numbers that are not finite")


def shard(answer: Message, log: GateLog) -> tuple[RecipeEncoder, dict[str, Tensor]]:
    """Read a shard that was described before, and give its scheme; one that holds anything else is refused.

    Its bytes leave as they are, so that its head must be the one that encodings of this description have.
    """
    held = answer.tensors.get("shard", {})
    if set(held) != {"bytes"} or held["bytes"].dtype != torch.uint8 or held["bytes"].ndim != 1:
        raise BadInput("what is sent is no shard")
    about = log.described(answer.digests["shard", "bytes"])
    if about is None:
        raise BadInput("the shard is of encodings that were not described")
    scheme = from_json(about["scheme"])
    assert isinstance(scheme, RecipeEncoder)  # noqa: S101 (`check_description`)
    wanted = wanted_tensors(about, scheme)
    head, places = shard_layout(about["rows"], wanted)
    content = held["bytes"].cpu().contiguous()
    if len(content) != max(end for _, end in places.values()) or content[: len(head)].numpy().tobytes() != head:
        raise BadInput("a shard holds encodings and labels as they were described, and nothing else")
    return scheme, {
        name: content[slice(*places[name])].view(kind).view(about["rows"], *shape)
        for name, (kind, shape) in wanted.items()
    }


def must_be_rows(scheme: RecipeEncoder, tensors: dict[str, Tensor]) -> None:
    """Refuse rows that are not finite, labels that are none, and encodings without the mask that they should have."""
    check_values(tensors, "the shard", noisy_labels=scheme.label_kind == "noisy")
    if scheme.masked and not balanced(tensors["images"]):
        raise BadInput("the encodings are not masked")


def balanced(rows: Tensor) -> bool:
    """Tell whether signs of neighbours agree by chance alone, in every row and in all, as under a mask of fair coins.

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
    whole = abs(int(sums.sum())) <= BALANCE * math.sqrt(counts.sum())  # rows of few pixels tell nothing one by one
    return bool((counts > 0).any()) and whole and bool((np.abs(sums) <= BALANCE * np.sqrt(counts)).all())
