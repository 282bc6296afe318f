"""`hideseek demo`: what every scheme does to faces."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro

from hideseek.demo import demo_sheet
from hideseek.files import new_file
from hideseek.randomness import secure, seeded


@dataclass(frozen=True)
class Demo:
    """Hide the embedded faces with every scheme and draw them at every stage: original, mix, encoding, |encoding|."""

    out: Path = Path("demo/faces.png")
    """The picture to write."""
    seed: int | None = None
    """Draw the same picture again."""


def run(arguments: Sequence[str]) -> None:
    """Parse the arguments and draw."""
    asked = tyro.cli(Demo, prog="hideseek demo", args=arguments)
    picture = demo_sheet(secure() if asked.seed is None else seeded(asked.seed))
    with new_file(asked.out) as file:
        picture.save(file, "PNG")
    print(f"What hiding does to faces: {asked.out.resolve()}")
