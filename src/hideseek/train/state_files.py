"""Tensors with a description, in one safetensors file that knows its own checksum."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from blake3 import blake3
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from hideseek.errors import BadInput
from hideseek.files import check_plain, content, need_memory, new_file, parsed

FORMAT = 1


def write_state(path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any], mode: int = 0o666) -> None:
    """Write tensors and what is to be known about them; the file is replaced whole or not at all."""
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    described = json.dumps(about, ensure_ascii=False, allow_nan=False)
    head = {"format": str(FORMAT), "about": described, "blake3": _digest(plain, described)}
    with new_file(path, mode=mode) as file:
        file.write(save(plain, head))


def read_state(path: Path, kind: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read them back, after checking all of it; `kind` is what the file should be, for people."""
    if not path.is_file():
        raise BadInput(f"there is no {kind} at {path}: check the name.")
    check_plain(path)
    need_memory(path.stat().st_size, f"reading {path}", "close other programs, or use a machine with more")
    try:
        with safe_open(path, framework="pt") as file:
            head = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dict)
        version, described, digest = head["format"], head["about"], head["blake3"]
        about = parsed(described)
    except (SafetensorError, OSError, KeyError, ValueError):
        raise BadInput(f"{path} is not a {kind} of hideseek, or it is damaged: use an earlier copy of it.") from None
    if version != str(FORMAT):
        raise BadInput(f"{path} has the format {version[:20]!r}, which is unknown here: update hideseek.")
    if not isinstance(about, dict) or digest != _digest(tensors, described):
        raise BadInput(f"the {kind} {path} is damaged: use an earlier copy of it, or begin again.")
    return tensors, about


def state_digest(tensors: Mapping[str, Tensor]) -> str:
    """Give the checksum of some tensors and their names."""
    return _digest({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, "")


def _digest(tensors: Mapping[str, Tensor], described: str) -> str:
    total = blake3(described.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        total.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        plain = tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor  # which NumPy does not have
        total.update(content(plain.numpy()))
    return total.hexdigest()
