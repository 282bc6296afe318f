"""`hideseek show DIR`: draw what a release looks like."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from PIL import Image

from hideseek.cli.arguments import parse
from hideseek.cli.terminal import say
from hideseek.errors import BadInput
from hideseek.escapes import escaped
from hideseek.files import new_file
from hideseek.hide.files.release_files import read_release
from hideseek.hide.files.schemes import to_json
from hideseek.records import EncodedRelease
from hideseek.report import Row, contact_sheet


@dataclass(frozen=True)
class Show:
    """Draw some rows of a release on a contact sheet: the encodings, their absolute values, the labels."""

    release: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DIR")]
    """The folder that `hideseek hide` wrote."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="(default: DIR.png)")] = None
    """The picture to write."""
    count: int = 8
    """How many rows to draw."""


def run(arguments: Sequence[str]) -> None:
    """Parse the arguments and draw."""
    asked = parse(Show, "hideseek show", arguments)
    if asked.count < 1:
        raise BadInput(f"--count must be at least 1, not {asked.count}.")
    folder = asked.release.resolve()
    path = asked.out or folder.with_name(f"{folder.name}.png")
    picture = release_sheet(read_release(folder), asked.count)
    with new_file(path) as file:
        picture.save(file, "PNG")
    say(str(path))


def release_sheet(release: EncodedRelease, count: int) -> Image.Image:
    """Draw the first rows of a release; its order is random already."""
    scheme = _flat(to_json(release.scheme))
    images = release.encoded.images[:count]
    captions = [_label(label.tolist(), release.encoded.classes) for label in release.encoded.labels[:count]]
    rows = [Row("encoding", list(images)), Row("|encoding|", list(images.abs()), captions)]
    parameters = ", ".join(f"{key} = {_short(value)}" for key, value in scheme.items() if key != "mechanism")
    seeded = f"\nKeys drawn from the seed {release.seed}: for studies only." if release.reproducible else ""
    total = len(release.encoded)
    return contact_sheet(f"{scheme['mechanism']}, {len(images)} of {total:,} rows", (), rows, parameters + seeded)


def _label(label: Sequence[float], names: Sequence[str]) -> str:
    """Give the two largest entries of a mixed label."""
    largest = sorted(range(len(label)), key=lambda i: -label[i])[:2]
    return "\n".join(f"{label[i]:.2f} {escaped(names[i]) if names else i}" for i in largest if label[i] > 0)


def _flat(scheme: dict[str, Any]) -> dict[str, Any]:
    """Give all parameters of a scheme in a scheme; its mechanisms are joined."""
    inner = [_flat(value) for value in scheme.values() if isinstance(value, dict)]
    names = [part["mechanism"] for part in inner if part["mechanism"] != "geometry"]
    own = {key: value for key, value in scheme.items() if not isinstance(value, dict)}
    merged = {key: value for part in (*inner, own) for key, value in part.items()}
    return {**merged, "mechanism": " ".join([scheme["mechanism"], *names])}


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
