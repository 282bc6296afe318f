"""Our messages as Flower's records, and back; whatever came is read as arrays of numbers, or refused."""

import math
import warnings
from collections.abc import Mapping
from io import BytesIO
from tokenize import TokenError
from typing import Any

import numpy as np
import torch
from flwr.app import Array, ArrayRecord, ConfigRecord, MetricRecord, RecordDict
from flwr.app import Message as FlowerMessage
from torch import Tensor

from hideseek.errors import BadInput
from hideseek.federate.messages import Message
from hideseek.federate.packing import packed, unpacked

KINDS = ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool")
RAW = "hideseek.raw"  # bytes as they are, which no header need be parsed for
PACKED = "hideseek.packed."  # and how
NUMPY = "numpy.ndarray"
LARGEST = 1 << 32  # bytes of a message, unpacked
HEADER = 1 << 12  # bytes of a header of numpy's, at most


def content(message: Message) -> RecordDict:
    """Write a message as records; numbers and words of one group share no name with tensors."""
    records: dict[str, Any] = {
        group: ArrayRecord({name: _array(tensor) for name, tensor in tensors.items()})
        for group, tensors in message.tensors.items()
    }
    records |= {f"{group}.numbers": MetricRecord(dict(values)) for group, values in message.numbers.items() if values}
    records |= {
        f"{group}.words": ConfigRecord(dict[str, Any](values)) for group, values in message.words.items() if values
    }
    return RecordDict(records)


def plain(message: FlowerMessage) -> Message:
    """Read a message of anybody: every record of it, by the name that it has."""
    kind = message.metadata.message_type
    if message.has_error():
        return Message(kind, error=str(message.error.reason or "it failed, and does not say why"))
    tensors: dict[str, Mapping[str, Tensor]] = {}
    numbers: dict[str, Any] = {}
    words: dict[str, Any] = {}
    carried = held = 0
    for name, record in message.content.items():
        if isinstance(record, ArrayRecord):
            wanted = held + sum(4 * math.prod(map(abs, array.shape)) for array in record.values() if _is_packed(array))
            if wanted > LARGEST:
                raise BadInput(f"it is of {wanted:,} bytes when it is unpacked, and is not read")
            tensors[name] = {key: _tensor(f"{name}.{key}", array) for key, array in record.items()}
            carried += sum(len(array.data) for array in record.values())
            held += sum(tensor.nbytes for tensor in tensors[name].values())
        elif isinstance(record, MetricRecord):
            numbers[name.removesuffix(".numbers")] = dict(record)
        else:
            words[name.removesuffix(".words")] = dict(record)
    return Message(kind, tensors, numbers, words, carried=carried)


def _array(tensor: Tensor) -> Array:
    plain_tensor = tensor.detach().cpu().contiguous()
    if plain_tensor.dtype == torch.uint8 and plain_tensor.ndim == 1:
        return Array("uint8", tuple(plain_tensor.shape), RAW, plain_tensor.numpy().tobytes())
    if (short := packed(plain_tensor.numpy())) is not None:
        return Array("float32", tuple(plain_tensor.shape), PACKED + short[0], short[1])
    return Array(plain_tensor.numpy())


def _is_packed(array: Array) -> bool:
    return array.stype.startswith(PACKED) and array.dtype == "float32"


def _tensor(name: str, array: Array) -> Tensor:
    """Read an array that anybody may have written: pickled objects, other types and wrong sizes are refused."""
    short = _is_packed(array)
    if not (short or array.stype in (NUMPY, RAW)) or array.dtype not in KINDS:
        raise BadInput(f"{name} is no array of numbers ({array.stype!r}, {array.dtype!r}), and is not read")
    if short:
        if any(side < 0 for side in array.shape):
            raise BadInput(f"{name} is of the shape {array.shape}, and is not read")
        try:
            entries = unpacked(array.stype.removeprefix(PACKED), array.data, math.prod(array.shape))
        except BadInput as mistake:
            raise BadInput(f"{name}: {mistake}, and is not read") from None
        return torch.from_numpy(entries).reshape(array.shape)
    wanted = math.prod(array.shape) * np.dtype(array.dtype).itemsize
    if array.stype == RAW:
        if len(array.data) != wanted or array.dtype != "uint8":
            raise BadInput(f"{name} is of {len(array.data)} bytes, and says {wanted}")
        return _bytes(array.data)
    if not wanted <= len(array.data) <= wanted + HEADER:
        raise BadInput(f"{name} is of {len(array.data)} bytes, and says {wanted}")
    file = BytesIO(array.data)
    try:  # the head first: np.load makes room for whatever that says, and opens archives too
        if np.lib.format.read_magic(file) != (1, 0):
            raise ValueError
        shape, turned, kind = np.lib.format.read_array_header_1_0(file, max_header_size=HEADER)
    except (ValueError, TypeError, SyntaxError, TokenError, RecursionError, MemoryError, EOFError):
        raise BadInput(f"{name} holds pickled objects, or is damaged, and is not read") from None
    if kind.hasobject:
        raise BadInput(f"{name} holds pickled objects, and is not read")
    if str(kind) != array.dtype or shape != tuple(array.shape) or len(array.data) != file.tell() + wanted:
        raise BadInput(f"{name} is of another type or shape than it says")
    found = np.frombuffer(array.data, kind, offset=file.tell()).reshape(shape, order="F" if turned else "C")
    return torch.from_numpy(np.array(found, order="C"))


def _bytes(data: bytes) -> Tensor:
    """Give bytes as a tensor that shares them: shards are large, and nobody writes into what was received."""
    if not data:
        return torch.empty(0, dtype=torch.uint8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that they cannot be written to
        return torch.frombuffer(data, dtype=torch.uint8)
