"""What updates on disk must be like, whoever wrote them: their description, their tensors, their secret."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hideseek.errors import BadInput
from hideseek.hide.files.release_checks import all_finite, constants
from hideseek.hide.files.secret_checks import checked_patients
from hideseek.records import Samples
from hideseek.records.update_release import UpdateRelease

NEEDED = {"format", "kind", "scheme", "model", "shape", "classes", "normalisation", "updates", "sizes", "reproducible"}
FURTHER = {"buffered", "rounds", "unknown", "built"}  # which releases of earlier versions lack
OWNERS = "by its owner"
LARGEST = 1 << 20  # sides, classes, updates: no release has more
SHOWN = 3  # names in a sentence
MORE_EXACT = 32  # bits of a float; of fewer, precision is lost already

_log = logging.getLogger(__name__)


def checked_description(about: Any, folder: Path) -> dict[str, Any]:
    """Check release.json."""
    if isinstance(about, dict) and isinstance(about.get("format"), int) and about["format"] > 1:
        raise BadInput(f"{folder} has the format {about['format']}, newer than is known here: update hideseek.")
    try:
        fits = (
            NEEDED <= set(about) <= NEEDED | {"seed", *FURTHER}
            and about["kind"] == "updates"
            and len(about["shape"]) == 3
            and all(_counts(value) for value in (*about["shape"], about["classes"], about["updates"]))
            and (about["sizes"] is None or len(about["sizes"]) == about["updates"])
            and all(_counts(value) for value in about["sizes"] or ())
            and set(about["normalisation"]) == {"kind", "mean", "std"}
            and isinstance(about["model"], str)
            and about["reproducible"] == ("seed" in about)
            and about.get("buffered", False) in (True, False)
            and about.get("built", OWNERS) in ("by its name", OWNERS)
            and set(about.get("unknown", ())) <= {"images", "steps", "rate"}
            and _rounds(about.get("rounds"), about["updates"])
        )
    except (KeyError, TypeError, AttributeError):
        fits = False
    if not fits:
        raise BadInput(f"{folder / 'release.json'} does not describe updates: get the release again.")
    return about  # type: ignore[no-any-return]


def _rounds(value: object, updates: int) -> bool:
    if value is None:
        return True
    return isinstance(value, list) and len(value) == updates and all(each == 0 or _counts(each) for each in value)


def _counts(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < LARGEST


def check_update(found: Mapping[str, Tensor], wanted: Mapping[str, Tensor], where: Path | str) -> None:
    """Refuse tensors that are missing, of another model, or not finite."""
    missing, extra = sorted(set(wanted) - set(found)), sorted(set(found) - set(wanted))
    for names, what in ((missing, "lacks"), (extra, "also holds")):
        if names:
            others = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            raise BadInput(
                f"{where} {what} {', '.join(names[:SHOWN])}{others}: it is of another model; name the architecture"
                " that it was made with."
            )
    for name, tensor in found.items():
        if tensor.shape != wanted[name].shape:
            raise BadInput(
                f"{where}: {name} is of {tuple(tensor.shape)}, and the model's is of {tuple(wanted[name].shape)}: name"
                " the architecture that it was made with."
            )
        if not all_finite(tensor):
            raise BadInput(f"{where}: {name} holds numbers that are not finite: ask for the update again.")


def as_float32(found: Mapping[str, Tensor], wanted: Mapping[str, Tensor], where: Path | str) -> dict[str, Tensor]:
    """Give tensors the types of the model's own, floats as float32; what lost precision on its way is said."""
    few = []
    for name, tensor in found.items():
        if wanted[name].is_floating_point() and not tensor.is_floating_point():
            raise BadInput(f"{where}: {name} holds {_type(tensor)}, and the model's are floats: scale them back first.")
        if wanted[name].is_floating_point() and torch.finfo(tensor.dtype).bits < MORE_EXACT:
            few.append(name)
    if few:
        more = f" and {len(few) - 1} more tensors were" if len(few) > 1 else " was"
        _log.warning(
            "%s: %s%s sent as %s and converted to float32: what was lost in precision, exact attacks miss.",
            *(where, few[0], more, _type(found[few[0]])),
        )
    return {
        name: tensor.to(torch.float32 if wanted[name].is_floating_point() else wanted[name].dtype).contiguous()
        for name, tensor in found.items()
    }


def _type(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def checked_truth(tensors: Mapping[str, Tensor], about: Mapping[str, Any], release: UpdateRelease) -> Samples:
    """Build the private images of a secret; what cannot be is a ValueError."""
    images = tensors["private_images"]
    sources, weights, round_of = tensors["sources"], tensors["weights"], tensors["round_of"]
    held = sources[:, :, 0] >= 0
    _must(sources.dtype == round_of.dtype == torch.int64 and weights.dtype == torch.float32)
    _must(sources.ndim == 3 and sources.shape == weights.shape and len(round_of) == len(sources))
    _must(len(sources) == len(release.updates) and bool((sources < len(images)).all()) and bool((sources >= -1).all()))
    _must(release.sizes is None or held.sum(1).tolist() == list(release.sizes))
    _must(bool(weights.isfinite().all()) and isinstance(about["signs"], bool))
    _must(("rows" in tensors) == (sources.shape[2] > 1) == ("labels" in tensors))
    if "rows" in tensors:
        _must(tuple(tensors["rows"].shape) == (int(held.sum()), *release.shape))
        _must(tuple(tensors["labels"].shape) == (int(held.sum()), release.classes))
        _must(all(bool(tensors[name].isfinite().all()) for name in ("rows", "labels")))
    private = Samples(
        images,
        tensors["private_labels"],
        tensors["private_scale"],
        tensors["private_shift"],
        tuple(about["classes"]),
        constants(about["normalisation"], images.shape[1]),
        patients=checked_patients(tensors, len(images)),
    )
    _must(private.shape == release.shape and private.labels.shape[1] == release.classes)
    return private


def _must(holds: bool) -> None:
    if not holds:
        raise ValueError
