"""Evidence on disk: a folder with claims.safetensors, and evidence.json beside it, written last."""

import dataclasses
import json
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter
from safetensors import SafetensorError
from safetensors.torch import load, save

from hideseek.errors import BadInput
from hideseek.files import need_space, new_file, read_bytes, read_record
from hideseek.records import Claim, Evidence

FORMAT = 2
PRIVATE = 0o600  # what was found is private, if the attack worked
_NEEDED = {"format", "attack", "settings", "release", "seconds", "memory", "remarks", "claims"}


@dataclass(frozen=True)
class Found:
    """Evidence with where it comes from: which attack, with what settings, on which release."""

    evidence: Evidence
    attack: str
    release: str  # its digest
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None


def write_evidence(found: Found, folder: Path) -> None:
    """Write evidence, for its owner alone, into a folder; what is there already under these names is replaced."""
    tensors: dict[str, torch.Tensor] = {}
    claims = []
    for number, claim in enumerate(found.evidence.claims):
        about: dict[str, Any] = {"kind": claim.name}
        for name, value in claim.parts().items():
            if isinstance(value, torch.Tensor):
                tensors[f"{number}.{name}"] = value.detach().cpu().clone(memory_format=torch.contiguous_format)
            else:
                about[name] = value
        claims.append(about)
    content = save(tensors)
    need_space(folder, len(content))
    about = {
        "format": FORMAT,
        "attack": found.attack,
        "settings": dict(found.settings),
        "release": found.release,
        **({} if found.seed is None else {"seed": found.seed}),
        "seconds": round(found.evidence.seconds, 3),
        "memory": found.evidence.memory,
        "remarks": dict(found.evidence.remarks),
        "claims": claims,
    }
    text = json.dumps(about, indent=1, ensure_ascii=False, allow_nan=False).encode()
    with new_file(folder / "claims.safetensors", PRIVATE) as file:
        file.write(content)
    with new_file(folder / "evidence.json", PRIVATE) as file:
        file.write(text)


def read_evidence(folder: Path) -> Found:
    """Read evidence, after checking that it is whole and that its claims have the form they should."""
    path = folder / "evidence.json"
    if not path.is_file():
        raise BadInput(
            f"{folder} holds no evidence, since it has no evidence.json: name the folder that evidence was written to."
        )
    damaged = BadInput(f"the evidence in {folder} is damaged: run the attack again.")
    try:
        about = read_record(path)
        _check_format(path, int(about["format"]))
        if not _has_form(about):
            raise damaged
        tensors = load(read_bytes(folder / "claims.safetensors"))
        claims = tuple(_claim(number, described, tensors) for number, described in enumerate(about["claims"]))
        if len(tensors) != sum(isinstance(part, torch.Tensor) for claim in claims for part in claim.parts().values()):
            raise damaged
        evidence = Evidence(claims, about["remarks"], float(about["seconds"]), about["memory"])
        return Found(evidence, about["attack"], about["release"], about["settings"], about.get("seed"))
    except (OSError, SafetensorError, ValueError, KeyError, TypeError, OverflowError):
        raise damaged from None


def _check_format(path: Path, number: int) -> None:
    if number > FORMAT:
        raise BadInput(f"{path} has the format {number}, newer than {FORMAT}: update hideseek.")
    if number < FORMAT:
        raise BadInput(f"{path} has the format {number}, which is no longer read: run the attack again.")


def _has_form(about: dict[str, Any]) -> bool:
    kinds = {"attack": str, "release": str, "settings": dict, "remarks": dict, "claims": list, "memory": int}
    return (
        set(about) - {"seed"} == _NEEDED
        and all(type(about[name]) is kind for name, kind in kinds.items())
        and type(about.get("seed", 0)) is int
        and type(about["seconds"]) in (int, float)
    )


def _claim(number: int, described: dict[str, Any], tensors: Mapping[str, torch.Tensor]) -> Claim:
    """Build a claim from its tensors and its other fields; a shape that does not fit is a ValueError."""
    kind = Claim.kinds[described["kind"]]
    values: dict[str, Any] = {}
    sizes: dict[str, int] = {}
    hints = typing.get_type_hints(kind)
    if not set(described) <= {"kind", *(part.name for part in dataclasses.fields(kind))}:
        raise ValueError(kind.name)
    for name, hint in ((part.name, _tensor_type(hints[part.name])) for part in dataclasses.fields(kind)):
        may_miss = hint is not hints[name]
        if may_miss and described.get(name) is None and f"{number}.{name}" not in tensors:
            values[name] = None
            continue
        if not hasattr(hint, "dim_str"):  # no tensor
            if name in described:
                values[name] = TypeAdapter(hint).validate_json(json.dumps(described[name]), strict=True)
            continue
        tensor = values[name] = tensors[f"{number}.{name}"]
        if str(tensor.dtype).removeprefix("torch.") not in hint.dtypes:
            raise ValueError(name)
        names = hint.dim_str.split()
        if len(names) != tensor.ndim or any(
            sizes.setdefault(n, s) != s for n, s in zip(names, tensor.shape, strict=True)
        ):
            raise ValueError(name)
    claim = kind(**values)
    if not claim.finite():
        raise ValueError(claim.name)
    return claim


def _tensor_type(hint: Any) -> Any:
    """Give the type of a tensor that may be missing, or the hint itself."""
    return next((each for each in typing.get_args(hint) if hasattr(each, "dim_str")), hint)
