"""How `fuzz.py` changes files: JSON in its places, safetensors and .npz files in their headers, all in their bytes."""

import io
import json
import struct
import warnings
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[Any]], Any]
NUMBERS = st.integers() | st.sampled_from([0, -1, 1 << 31, 1 << 40, 1 << 63, 10**30]) | st.floats()
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
KINDS = ("F32", "F64", "I64", "U8", "I8", "BF16", "BOOL", "F8_E4M3", "nothing")
TYPES = ("|u1", "<f4", "<f8", "<i8", "<U3", "<U0", "|O", "|V5", ">u2", "<c16", "|b1", "M8[ns]", "junk")


def changed(draw: Draw, value: Any) -> Any:
    """Put something else into a place of a JSON value, or leave something out, or add something."""
    if isinstance(value, dict) and value and draw(st.booleans() | st.just(True)):
        name = draw(st.sampled_from(sorted(value)))
        how = draw(st.sampled_from(["within", "without", "beside"]))
        if how == "without":
            return {key: each for key, each in value.items() if key != name}
        if how == "beside":
            return {**value, draw(st.text(max_size=8)): draw(VALUES)}
        return {**value, name: changed(draw, value[name])}
    if isinstance(value, list) and value and draw(st.booleans()):
        place = draw(st.integers(0, len(value) - 1))
        return [*value[:place], changed(draw, value[place]), *value[place + 1 :]]
    if isinstance(value, int | float) and draw(st.booleans()):
        return draw(NUMBERS)
    return draw(VALUES)


def text_of(draw: Draw, value: Any) -> bytes:
    """Write JSON, changed in one to three places; at times with a name twice, or a piece of the text missing."""
    for _ in range(draw(st.integers(1, 3))):
        value = changed(draw, value)
    text = json.dumps(value)
    if draw(st.integers(0, 9)) == 0 and isinstance(value, dict) and value:
        name = draw(st.sampled_from(sorted(value)))
        text = f"{text[:-1]}, {json.dumps(name)}: {json.dumps(value[name])}}}"
    return (
        text.encode("utf-8", "surrogatepass")
        if draw(st.integers(0, 9))
        else bytes_of(draw, text.encode("utf-8", "replace"))
    )


def bytes_of(draw: Draw, content: bytes) -> bytes:
    """Change, cut or add some bytes."""
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, max(0, len(content) - 1)) | st.integers(0, min(200, max(0, len(content) - 1))))
        new, old = draw(st.binary(max_size=9)), draw(st.integers(0, 9) | st.just(len(content)))
        content = content[:place] + new + content[place + old :]
    return content


def tensors_of(draw: Draw, content: bytes) -> bytes:
    """Change the header of a safetensors file, or its bytes."""
    if draw(st.integers(0, 3)) == 0:
        return bytes_of(draw, content)
    length = struct.unpack("<Q", content[:8])[0]
    head = json.loads(content[8 : 8 + length])
    if draw(st.booleans()) and (names := [name for name in head if name != "__metadata__"]):
        each = head[draw(st.sampled_from(sorted(names)))]
        part = draw(st.sampled_from(["dtype", "shape", "data_offsets"]))
        each[part] = draw(st.sampled_from(KINDS)) if part == "dtype" else draw(st.lists(NUMBERS, max_size=5))
        text = json.dumps(head).encode()
    else:
        text = text_of(draw, head)
    claimed = draw(st.just(len(text)) | st.integers(0, 2**64 - 1))
    return struct.pack("<Q", claimed) + text + content[8 + length :]


def values_of(draw: Draw, tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Change a tensor: a value, its shape, its type, its name."""
    name = draw(st.sampled_from(sorted(tensors)))
    tensor, how = tensors[name].clone(), draw(st.sampled_from(["value", "shape", "type", "name", "gone"]))
    rest = {key: each for key, each in tensors.items() if key != name}
    if how == "value" and tensor.numel():
        at = draw(st.integers(0, tensor.numel() - 1))
        given = draw(st.sampled_from([-1.0, 1e6, 1e30, float("nan"), float("inf")]))
        tensor.view(-1)[at] = given if tensor.is_floating_point() else max(0, int(np.nan_to_num(given, posinf=0)) % 250)
        if tensor.dtype == torch.int64:
            tensor.view(-1)[at] = draw(st.integers(-(2**63), 2**63 - 1))
        return {**rest, name: tensor}
    if how == "shape":
        return {**rest, name: tensor[..., None] if draw(st.booleans()) else tensor.flatten()[:3].clone()}
    if how == "type":
        return {**rest, name: tensor.to(draw(st.sampled_from([torch.float64, torch.int32, torch.bool, torch.uint8])))}
    return rest if how == "gone" else {**rest, draw(st.text("abc.", min_size=1, max_size=9)): tensor}


def arrays_of(draw: Draw) -> bytes:
    """Write an .npz file whose headers say anything."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", draw(st.sampled_from([0, 8, 12, 14]))) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that stand twice
        names = draw(st.just(["x", "y"]) | st.lists(st.sampled_from(["x", "y", "classes", "y_test", "z"]), max_size=4))
        count = draw(st.integers(0, 8))
        for name in names:
            sides = st.lists(st.sampled_from([1, 3, 8, 0]) | st.integers(0, 9), max_size=4 if name == "x" else 1)
            shape = (count, *draw(sides)) if draw(st.integers(0, 7)) else tuple(draw(st.lists(NUMBERS, max_size=5)))
            kind = draw(st.sampled_from(TYPES))
            described = {"descr": kind, "fortran_order": draw(st.booleans()), "shape": shape}
            head = repr(described) if draw(st.integers(0, 7)) else draw(st.text(max_size=30) | st.just("(" * 9000))
            version = draw(st.sampled_from([1, 2]))
            length = struct.pack("<H" if version == 1 else "<I", min(len(head.encode()), 65535))
            width = np.dtype(kind).itemsize if kind != "junk" else 1
            numbers = int(np.clip(np.prod([side for side in shape if isinstance(side, int)], dtype=float), 0, 9000))
            data = draw(st.binary(max_size=40)).ljust(40, b"\0") * (numbers * width // 40 + 1)
            data = data[: numbers * width + (0 if draw(st.integers(0, 7)) else 1)]
            archive.writestr(f"{name}.npy", b"\x93NUMPY" + bytes([version, 0]) + length + head.encode() + data)
    content = file.getvalue()
    return content if draw(st.integers(0, 3)) else bytes_of(draw, content)
