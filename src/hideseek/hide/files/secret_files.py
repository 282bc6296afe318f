"""The ground truth behind a release, in one file that only its owner may read; kept only where research asks for it."""

import json
import math
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import numpy as np
import torch
from safetensors import SafetensorError, safe_open

from hideseek.errors import BadInput
from hideseek.files import check_plain, content, need_memory, need_space, new_file, parsed, tensor_header
from hideseek.hide.files.secret_checks import checked_keys, checked_private
from hideseek.hide.mixing.recipe import Batch, Recipe
from hideseek.records import Samples
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
        if folder.resolve() in (path.resolve(), *path.resolve().parents):
            raise BadInput(f"a secret inside {folder} would be shared with it: keep it in another place.")
        if path.exists() or path.is_symlink():
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
        if private.patients is not None:
            known["private_patients"] = private.records
        shapes = {name: (str(t.dtype).removeprefix("torch."), tuple(t.shape)) for name, t in known.items()}
        if recipe.masked:
            shapes["mask"] = ("uint8", (len(recipe), channels, (height * width + 7) // 8))
        if recipe.geometry:
            shapes["transforms"] = ("float32", (*recipe.weights.shape, 2, 3))
        about = {"classes": list(private.classes), "normalisation": asdict(private.normalisation)}
        head, self._starts = tensor_header(shapes, {"release": _DIGEST, "about": json.dumps(about)})
        self._digest_at = head.index(_DIGEST.encode())
        size = sum(math.prod(shape) * np.dtype(kind).itemsize for kind, shape in shapes.values())
        need_space(self._path, size, "the secret")
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
    """Read the secret of the release with this digest, after checking all of it; that of another release is refused."""
    try:
        check_plain(path)
        size = path.stat().st_size
    except FileNotFoundError:
        raise BadInput(f"there is no secret at {path}: check the name.") from None
    except OSError as error:
        raise BadInput(f"the secret {path} cannot be read ({error.strerror}): change its permissions.") from None
    need_memory(size, f"reading {path}", "close other programs, or use a machine with more")
    try:
        with safe_open(path, "pt") as file:
            metadata: dict[str, str] = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        private = checked_private(tensors, parsed(metadata["about"]))
        secret = MixingSecret(private, **checked_keys(tensors, private))  # type: ignore[arg-type]
    except (BadInput, OSError, SafetensorError, KeyError, TypeError, ValueError, AttributeError):
        raise BadInput(
            f"{path} is not a secret that hideseek wrote, or it is damaged: use another copy of it."
        ) from None
    if metadata.get("release") != release:
        raise BadInput(f"{path} belongs to another release: name the secret that was kept with it.")
    return secret
