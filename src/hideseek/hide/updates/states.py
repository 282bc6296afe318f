"""States of a model as others send them: dicts or lists of arrays, or files; checked, and made float32.

Nothing is ever unpickled: what a file of pickled objects holds, it runs.
"""

import zipfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from hideseek.data import members
from hideseek.errors import BadInput
from hideseek.files import check_plain, need_memory
from hideseek.hide.updates.update_checks import as_float32, check_update

Arrays = Mapping[str, Any] | Sequence[Any] | Path | str
"""Arrays by their names, in the order of the model's own, or the .safetensors or .npz file that has them."""

PICKLED = (".pt", ".pth", ".pkl", ".pickle", ".bin", ".ckpt", ".joblib")
PREFIXES = ("module.", "_orig_mod.")  # of DistributedDataParallel, and of torch.compile
COUNTER = "num_batches_tracked"  # of batch norm: it tells nothing of images


def named(given: Arrays, wanted: Mapping[str, Tensor], where: str, lacking: Collection[str] = ()) -> dict[str, Tensor]:
    """Give arrays as tensors, by the names and of the shapes and types of the model's own; or say what is wrong.

    Names that are `lacking` may be absent.
    """
    if isinstance(given, (str, Path)):
        given, where = read_arrays(Path(given)), str(given)
    if not isinstance(given, Mapping):
        given = _in_order(given, wanted, where, lacking)
    found = {name: _tensor(each, f"{where}: {name}") for name, each in _unprefixed(given, wanted).items()}
    optional = {name for name in lacking if name not in found}
    check_update(found, {name: each for name, each in wanted.items() if name not in optional}, where)
    return as_float32({name: found[name] for name in wanted if name in found}, wanted, where)


def read_arrays(path: Path) -> dict[str, Any]:
    """Read a .safetensors or .npz file; whatever may hold pickled objects is refused unread."""
    if path.suffix.lower() in PICKLED:
        raise BadInput(
            f"{path} may hold pickled objects, which run code when they are read, so it is not: write the state as"
            " safetensors."
        )
    if not path.is_file():
        raise BadInput(f"there is no file {path}: check the name.")
    check_plain(path)
    need_memory(path.stat().st_size, f"reading {path}", "close other programs, or use a machine with more")
    if path.suffix.lower() == ".npz":
        found = {name: members.read(path, name) for name in members.headers(path)}
        if not found:
            raise BadInput(
                f"{path} holds no arrays, and pickled objects are never read: write the state by numpy.savez."
            )
        return found
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dict)
    except (SafetensorError, OSError):
        pickled = zipfile.is_zipfile(path) or path.read_bytes()[:1] == b"\x80"
        hint = "; it looks like pickled objects, which are never read" if pickled else ""
        raise BadInput(f"{path} is no safetensors file, or it is damaged{hint}: write the state again.") from None


def _in_order(
    given: Sequence[Any], wanted: Mapping[str, Tensor], where: str, lacking: Collection[str]
) -> dict[str, Any]:
    """Name arrays that come in the order of the model's own, with all that may be lacking, or without some of it."""
    counters = [name for name in lacking if name.endswith(COUNTER)]
    for without in ((), counters, lacking):
        names = [name for name in wanted if name not in without]
        if len(given) == len(names):
            return dict(zip(names, given, strict=True))
    raise BadInput(
        f"{where} holds {len(given)} arrays, and the model has {len(wanted)}: it is of another model, or lacks some;"
        " give all of them, in the order of state_dict, or by name."
    )


def _unprefixed(given: Mapping[str, Any], wanted: Mapping[str, Tensor]) -> dict[str, Any]:
    """Take away what wrappers put before every name."""
    for prefix in PREFIXES:
        if given and all(name.startswith(prefix) for name in given) and not set(given) <= set(wanted):
            return _unprefixed({name.removeprefix(prefix): each for name, each in given.items()}, wanted)
    return dict(given)


def _tensor(value: Any, name: str) -> Tensor:
    """Give an array as a tensor, without a name for its gradient; Python objects are refused."""
    if isinstance(value, Tensor):
        return value.detach().cpu()
    array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)  # Flower wraps arrays in its own
    if array.dtype.kind not in "fiub":
        raise BadInput(f"{name} holds {array.dtype}, not numbers: give arrays of floats.")
    return torch.from_numpy(np.array(array, order="C"))  # a copy: what was sent may be mapped, or changed later
