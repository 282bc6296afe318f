"""The ground truth behind a release, in one file that only its owner may read; kept only where research asks for it."""

import glob
import json
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import torch
from safetensors import SafetensorError, safe_open

from hideseek.errors import BadInput
from hideseek.files import content, need_space, new_file, partial_folder, tensor_header
from hideseek.hide.mixing.recipe import Batch, Recipe
from hideseek.records import Normalisation, Samples
from hideseek.records.mixing_secret import MixingSecret

_DIGEST = "0" * 64  # a place for the release's digest, which is known last


class SecretWriter:
    """Writes a secret piece by piece; where there is no file to write, it does nothing."""

    def __init__(
        self, path: Path | None, folder: Path, recipe: Recipe, private: Samples, public: Samples | None
    ) -> None:
        self._path, self._recipe, self._private = path, recipe, private
        self._cut_from = None if public is None else public.cut_from
        self._stack = ExitStack()
        self._file: BinaryIO | None = None
        if path is None:
            return
        inside = {folder.resolve(), partial_folder(folder.resolve())}
        if inside & {path.resolve(), *path.resolve().parents}:
            raise BadInput(f"a secret inside {folder} would be shared with it: keep it in another place.")
        if path.exists():
            raise BadInput(f"{path} exists already: choose another name or remove it first.")

    def __enter__(self) -> Self:
        """Open the file, readable by its owner alone, and write what is known already."""
        if self._path is None:
            return self
        recipe, private = self._recipe, self._private
        channels, height, width = private.shape
        known = {
            "private_images": private.images,
            "private_labels": private.labels,
            "private_scale": private.scale,
            "private_shift": private.shift,
            "sources": recipe.sources,
            "public_sources": recipe.public_sources,
            "weights": recipe.weights,
        }
        if self._cut_from is not None:
            known["cut_from"] = self._cut_from.places
        shapes = {name: (str(t.dtype).removeprefix("torch."), tuple(t.shape)) for name, t in known.items()}
        if recipe.masked:
            shapes["mask"] = ("uint8", (len(recipe), channels, (height * width + 7) // 8))
        if recipe.geometry:
            shapes["transforms"] = ("float32", (*recipe.weights.shape, 2, 3))
        about = {"classes": list(private.classes), "normalisation": asdict(private.normalisation)}
        head, self._starts = tensor_header(shapes, {"release": _DIGEST, "about": json.dumps(about)})
        self._digest_at = head.index(_DIGEST.encode())
        for left in self._path.parent.glob(glob.escape(f".{self._path.name}.") + "*.partial"):
            left.unlink()  # of a run that was killed: no private image may be left behind
        need_space(self._path, sum(tensor.nbytes for tensor in known.values()))
        self._file = self._stack.enter_context(new_file(self._path, mode=0o600))
        self._file.write(head)
        for name, tensor in known.items():
            self._file.seek(self._starts[name])
            for part in tensor.split(1024):
                self._write(part)
        return self

    def keep(self, start: int, batch: Batch) -> None:
        """Write the keys of the rows from `start` on."""
        for name, tensor in (("mask", batch.mask), ("transforms", batch.transforms)):
            if self._file is not None and tensor is not None:
                self._file.seek(self._starts[name] + start * tensor[0].nbytes)
                self._write(tensor)

    def finish(self, release: str) -> None:
        """Say which release the secret belongs to."""
        if self._file is not None:
            self._file.seek(self._digest_at)
            self._file.write(release.encode())

    def _write(self, tensor: torch.Tensor) -> None:
        if self._file is not None:
            self._file.write(content(tensor.cpu().numpy()))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the file its name, or remove it."""
        self._stack.__exit__(kind, error, trace)


def read_secret(path: Path, release: str) -> MixingSecret:
    """Read the secret of the release with this digest; one that belongs to another release is refused."""
    try:
        with safe_open(path, "pt") as file:
            metadata: dict[str, str] = file.metadata() or {}
            tensors: dict[str, Any] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        about = json.loads(metadata["about"])
        kind = about["normalisation"]
        private = Samples(
            tensors["private_images"],
            tensors["private_labels"],
            tensors["private_scale"],
            tensors["private_shift"],
            tuple(about["classes"]),
            Normalisation(kind["kind"], tuple(kind["mean"]), tuple(kind["std"])),
        )
        names = ("sources", "public_sources", "weights", "mask", "transforms", "cut_from")
        keys = {name: tensors.get(name) for name in names}
        secret = MixingSecret(private, **keys)  # type: ignore[arg-type]
    except (OSError, SafetensorError, KeyError, TypeError, ValueError):
        raise BadInput(f"{path} is not a secret that hideseek wrote, or it is damaged.") from None
    if metadata.get("release") != release:
        raise BadInput(f"{path} belongs to another release: name the secret that was kept with it.")
    return secret
