"""`hideseek demo`: the main job on the embedded sets, and a picture of what every scheme does to faces."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro

from hideseek.cli.audit import Audit, Several, perform
from hideseek.cli.schemes import schemes
from hideseek.demo import demo_sheet
from hideseek.files import must_be_new, new_file
from hideseek.randomness import secure, seeded

SCHEMES = "mixup,instahide-inside,instahide-cross,singularized-mixup"


@dataclass(frozen=True)
class Demo:
    """Audit four ways of sharing the embedded faces: Mixup, InstaHide inside and cross, Singularized Mixup.

    Faces are attacked, by somebody who has others of his own; photographs are learnt from. It takes a few minutes on
    two cores, and writes report.html, with
    the faces as they are, since these are public, and faces.png: what every scheme does to them.
    """

    out: Path = Path("demo")
    """The folder to write."""
    rounds: int = 10
    """How often every face is hidden and shared."""
    budget: str = "3m"
    """How long it may take, about."""
    seed: int | None = None
    """Draw everything from this number."""


def run(arguments: Sequence[str]) -> None:
    """Parse the arguments, audit and draw."""
    asked = tyro.cli(Demo, prog="hideseek demo", args=arguments)
    must_be_new(asked.out)
    audit = Audit(
        Several(),
        data="faces",
        out=asked.out,
        public="patches:photos?each=1",
        own="faces?split=test",
        rounds=asked.rounds,
        budget=asked.budget,
        learn_on="photos",
        show_private=True,
        seed=asked.seed,
    )
    perform(audit, schemes(SCHEMES))
    picture = demo_sheet(secure() if asked.seed is None else seeded(asked.seed))
    with new_file(asked.out / "faces.png") as file:
        picture.save(file, "PNG")
    print(f"What hiding does to faces: {(asked.out / 'faces.png').resolve()}")
