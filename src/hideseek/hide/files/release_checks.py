"""What a release on disk must be like, whoever wrote it: its description, its shards, what it gives away."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from blake3 import blake3
from safetensors import SafetensorError
from safetensors.torch import load

from hideseek.errors import BadInput
from hideseek.files import read_bytes, read_record, tensor_header
from hideseek.records import MixingEncoder, Normalisation

FORMAT = 1
ROUNDING = 1e-5  # by which mixed labels may miss a sum of 1
HEADER = 1 << 20  # bytes that a shard may have beside its tensors
Revealed = Literal["weights", "sources"]  # what a release may give away, to a stronger attacker
_NEEDED = {"format", "scheme", "rows", "shape", "classes", "normalisation", "public", "reproducible", "shards"}
_OPTIONAL = {"rounds", "given_away", "seed", "proved"}


def read_description(folder: Path) -> dict[str, Any]:
    """Read release.json and check its form."""
    path = folder / "release.json"
    if not path.is_file():
        raise BadInput(f"{folder} is not a complete release, since it has no release.json: hide the images again.")
    try:
        about = read_record(path)
    except (OSError, ValueError):  # no JSON, no text, a number of thousands of digits, or a name that stands twice
        raise BadInput(f"{path} is damaged: get the release again from where it came.") from None
    if isinstance(about, dict) and isinstance(about.get("format"), int) and about["format"] > FORMAT:
        raise BadInput(
            f"{path} has the format {about['format']}, newer than the {FORMAT} that is known here: update hideseek."
        )
    if not has_form(about):
        raise BadInput(f"{path} does not describe a release: get it again from where it came.")
    return about  # type: ignore[no-any-return]


def _counts(*values: object) -> bool:
    return all(isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**40 for value in values)


def _names(values: object) -> bool:
    return isinstance(values, list) and len(values) > 0 and all(isinstance(value, str) for value in values)


def _bound(value: Any) -> bool:
    """Tell whether this is what is proved, in words and a number."""
    return (
        set(value) == {"theorem", "quantity", "value", "limits"}
        and all(isinstance(value[name], str) for name in ("theorem", "quantity", "limits"))
        and type(value["value"]) in (int, float)
    )


def has_form(about: Any) -> bool:
    """Tell whether this is the content of a release.json, whatever it says."""
    try:
        return (
            about["format"] == FORMAT
            and set(about) >= _NEEDED
            and set(about) <= _NEEDED | _OPTIONAL
            and all(set(shard) == {"rows", "blake3"} for shard in about["shards"])
            and (about["public"] is None or set(about["public"]) == {"images", "blake3"})
            and set(about["normalisation"]) == {"kind", "mean", "std"}
            and _counts(about["rows"], *about["shape"], *(shard["rows"] for shard in about["shards"]))
            and len(about["shape"]) == 3
            and min(about["rows"], *about["shape"]) > 0
            and sum(shard["rows"] for shard in about["shards"]) == about["rows"]
            and all(isinstance(shard["blake3"], str) for shard in about["shards"])
            and (_counts(about["classes"]) or _names(about["classes"]))
            and about["reproducible"] == ("seed" in about)
            and type(about.get("seed", 0)) is int
            and set(about.get("given_away", ())) <= set(get_args(Revealed))
            and _counts(about.get("rounds", 1))
            and about.get("rounds", 1) > 0
            and about["rows"] % about.get("rounds", 1) == 0
            and (about["public"] is None or _counts(about["public"]["images"]))
            and (about["public"] is None or isinstance(about["public"]["blake3"], str))
            and isinstance(about["normalisation"], dict)
            and all(_bound(each) for each in about.get("proved", ()))
        )
    except (KeyError, TypeError, AttributeError):
        return False


def constants(about: dict[str, Any], channels: int) -> Normalisation:
    """Read the constants, one for each channel where there are any."""
    kind, mean, std = about.get("kind"), about.get("mean"), about.get("std")
    if kind not in ("none", "channel", "image"):
        raise BadInput(f"the normalisation {kind!r} is unknown here: update hideseek.")
    for values, least in ((mean, -math.inf), (std, 0.0)):
        fits = isinstance(values, list) and len(values) == (channels if kind == "channel" else 0)
        if not fits or not all(isinstance(value, float) and least < value < math.inf for value in values or ()):
            raise BadInput("the normalisation of the release is damaged: get the release again from where it came.")
    return Normalisation(kind, tuple(mean or ()), tuple(std or ()))


def wanted_tensors(about: dict[str, Any], scheme: MixingEncoder) -> dict[str, tuple[torch.dtype, tuple[int, ...]]]:
    """Give the tensors of a shard: their types, and the shape of a row."""
    classes = len(about["classes"]) if isinstance(about["classes"], list) else about["classes"]
    private, public = scheme.images_per_row
    kinds = {
        "images": (getattr(torch, scheme.row_type), tuple(about["shape"])),
        "labels": (torch.float32, (classes,)),
        "weights": (torch.float32, (private + public,)),
        "sources": (torch.int64, (private,)),
    }
    return {name: kinds[name] for name in ("images", "labels", *about.get("given_away", ()))}


def checked_shard(
    path: Path,
    shard: dict[str, Any],
    wanted: dict[str, tuple[torch.dtype, tuple[int, ...]]],
    row_bytes: int,
    *,
    noisy_labels: bool = False,
) -> dict[str, torch.Tensor]:
    """Read one shard and check it; the bytes that are hashed are the bytes that are used."""
    try:
        content = read_bytes(path, shard["rows"] * row_bytes + HEADER)
    except OSError:
        raise _damaged(path) from None
    if blake3(content).hexdigest() != shard["blake3"]:
        raise _damaged(path)
    return checked_content(content, path, shard, wanted, noisy_labels=noisy_labels)


def _damaged(path: Path | str) -> BadInput:
    return BadInput(f"{path} is damaged: get the release again from where it came.")


def checked_content(
    content: bytes,
    path: Path | str,
    shard: dict[str, Any],
    wanted: dict[str, tuple[torch.dtype, tuple[int, ...]]],
    *,
    noisy_labels: bool = False,
) -> dict[str, torch.Tensor]:
    """Check what is in the bytes of one shard, wherever they come from; their checksum is the caller's to check."""
    try:
        tensors = load(content)
    except (SafetensorError, LookupError, ValueError, TypeError, RuntimeError):  # types that torch does not have, too
        raise _damaged(path) from None
    shapes = {name: (shard["rows"], *shape) for name, (_, shape) in wanted.items()}
    if {name: tuple(tensor.shape) for name, tensor in tensors.items()} != shapes:
        raise BadInput(f"{path} does not hold images and labels of the shapes that release.json states.")
    for name, tensor in tensors.items():
        if tensor.dtype != wanted[name][0]:
            raise BadInput(f"{path} holds numbers of another type than stated: do not use this release.")
    check_values(tensors, path, noisy_labels=noisy_labels)
    return tensors


def check_values(tensors: dict[str, torch.Tensor], path: Path | str, *, noisy_labels: bool = False) -> None:
    """Refuse numbers that are not finite, and labels that are none; those under noise may be any number."""
    if not all(map(all_finite, tensors.values())):
        raise BadInput(f"{path} holds numbers that are not finite: do not use this release.")
    labels = tensors["labels"]
    if not noisy_labels and ((labels < 0).any() or (labels.sum(1) > 1 + ROUNDING).any()):
        raise BadInput(f"{path} holds labels that are negative or sum to more than 1: do not use this release.")


def shard_order(names: Iterable[str], kind: torch.dtype) -> list[str]:
    """Give the tensors of a shard as they lie in it: narrow rows last, so that all begin at a multiple of their width.

    >>> shard_order(["images", "labels"], torch.int8)
    ['labels', 'images']
    """
    others = [name for name in names if name != "images"]
    return ["images", *others] if kind == torch.float32 else [*others, "images"]


def shard_layout(
    rows: int, wanted: dict[str, tuple[torch.dtype, tuple[int, ...]]]
) -> tuple[bytes, dict[str, tuple[int, int]]]:
    """Give the head of a shard of so many rows, and from where to where in it each tensor lies."""
    shapes = {
        name: (str(wanted[name][0]).removeprefix("torch."), (rows, *wanted[name][1]))
        for name in shard_order(wanted, wanted["images"][0])
    }
    head, starts = tensor_header(shapes)
    return head, {
        name: (start, start + math.prod(shapes[name][1]) * wanted[name][0].itemsize) for name, start in starts.items()
    }


def all_finite(tensor: torch.Tensor) -> bool:
    """Tell whether all numbers are finite; a sum that is finite says so at once, one that is too large does not."""
    if not tensor.is_floating_point():
        return True
    return bool(tensor.sum(dtype=torch.float32).isfinite()) or bool(tensor.isfinite().all())


def check_given(path: Path, tensors: dict[str, torch.Tensor], images: int) -> None:
    """Refuse places in the private set, or weights, that cannot be."""
    sources, weights = tensors.get("sources"), tensors.get("weights")
    if sources is not None and ((sources < 0).any() or (sources >= images).any()):
        raise BadInput(f"{path} names private images that are not there: do not use this release.")
    if weights is not None and ((weights < 0).any() or (weights.sum(1) > 1 + ROUNDING).any()):
        raise BadInput(f"{path} holds weights that are negative or sum to more than 1: do not use this release.")
