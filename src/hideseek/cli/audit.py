"""`hideseek audit SCHEMES`: say what leaks from images that are shared so, and what it costs."""

import inspect
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import tyro

from hideseek.audit import audit, make_plan
from hideseek.audit.provenance import without_folders
from hideseek.cli.audit_tables import show_plan, show_result
from hideseek.cli.schemes import schemes
from hideseek.errors import BadInput
from hideseek.hide import ENCODERS, Geometry
from hideseek.records import MixingEncoder
from hideseek.seek import ATTACKS


@dataclass(frozen=True)
class Several:
    """Several schemes, each with its own parameters in its name."""


S = TypeVar("S", bound=MixingEncoder | Several)


@dataclass(frozen=True)
class Images:
    """The images."""

    data: str
    """The private images: folder:PATH (a subfolder a class), npz:PATH, or the name of a set (see `hideseek data`)."""
    public: str | None = None
    """Public images to mix in, for the cross schemes; patches:ADDRESS cuts patches with much texture from them."""
    own: str | None = None
    """Images that the attacker has to try things on, the more like the private ones the stronger he is; by default
    photographs that come with hideseek."""
    sample: int | None = None
    """Hide and attack only so many of the images, drawn at random; accuracy is still of all."""
    size: int | None = None
    """Resize and centre-crop every image to this side, in pixels."""
    channels: Literal[1, 3] | None = None
    """Make every image grey (1) or RGB (3)."""
    normalise: Literal["channel", "image", "none"] = "channel"
    """Before mixing: give each channel mean 0 and deviation 1, or each image mean 0 and norm 1, or leave [0, 1]."""


@dataclass(frozen=True)
class Attacking:
    """What is attacked, and for how long."""

    rounds: int = 1
    """Hide every image so many times, as re-encoding for every epoch does; attackers see all rounds."""
    attacks: str = "all"
    """The attacks to run, with commas between, or all."""
    budget: str = "10m"
    """How long the audit may take, about: 90s, 10m, 2h. Attacks and trainings are cut to fit."""
    seed: int | None = None
    """For studies only: draw everything from this number, keys too. The report says so."""


@dataclass(frozen=True)
class Accuracies:
    """What hiding costs."""

    learn: bool = True
    """Measure what hiding costs in accuracy, or do not (--no-learn)."""
    learn_on: str | None = None
    """Measure accuracy on these images instead of the private ones."""
    test: str | None = None
    """Images to test accuracy with; by default a set's own test split, or a fifth that is held out."""


@dataclass(frozen=True)
class Output:
    """What is written."""

    out: Path
    """The folder to write."""
    show_private: bool = False
    """Show private and recovered images as they are in the page; by default they are blurred. Do not pass that on."""
    keep: bool = False
    """Keep releases and the truth behind them in the folder; by default they are removed at the end."""
    resume: bool = False
    """Go on with an audit that was stopped."""
    dry_run: bool = False
    """Print the plan, and stop there."""


@dataclass(frozen=True)
class Audit(Generic[S]):
    """Hide images as you mean to share them, learn from that, attack it, and write one page on what leaks.

    Every attack that applies is run on exactly what would be shared. There are three attackers. The outsider sees what
    is shared. The linked one also knows which rows are of one image; a row is one encoding. The informed one also
    knows which images are in each row, and their weights. An attack counts only after it has broken a weak case that
    was made for it, and found nothing in noise. A scheme is broken if an attack beats every baseline that ignores the
    release, with 95 % confidence. A scheme that no attack breaks has resisted these attacks, and nothing more.

    Writes report.html, one page to read and pass on, in which private images are blurred, and result.json. The folder
    itself holds private images: keep it to yourself. Ctrl-C keeps what is done; --resume goes on.

    Try:  hideseek audit mixup --data faces --rounds 10 --out audit
          hideseek audit mixup,instahide-cross:k=6,singularized-mixup:tau=1e-4 --data faces
              --public patches:photos --rounds 10 --budget 5m --out audit
    """

    scheme: S
    images: Images
    output: Output
    attacking: Attacking = field(default_factory=Attacking)
    accuracies: Accuracies = field(default_factory=Accuracies)
    geometry: Geometry = field(default_factory=Geometry)


def run(arguments: Sequence[str]) -> None:
    """Parse the arguments and audit; parameters of a single scheme are options too."""
    names, *rest = [*arguments] or ["--help"]
    if names in ("-h", "--help"):
        print(_overview())
        return
    chosen = schemes(names)
    scheme: Any = next(iter(chosen.values())) if len(chosen) == 1 else Several()
    kind: Any = Audit[type(scheme)]  # type: ignore[misc] # its flags are the scheme's fields
    asked: Audit[Any] = tyro.cli(
        kind,
        prog=f"hideseek audit {names}",
        description=inspect.cleandoc(Audit.__doc__ or ""),
        default=Audit(scheme, Images(tyro.MISSING), Output(tyro.MISSING)),
        args=rest,
        config=(tyro.conf.OmitArgPrefixes,),
    )
    if isinstance(asked.scheme, MixingEncoder):
        chosen = dict.fromkeys(chosen, asked.scheme)
    perform(asked, chosen)


def perform(asked: Audit[Any], chosen: Mapping[str, MixingEncoder]) -> None:
    """Load, plan, audit, and show what came out."""
    from hideseek.cli.audit_question import question_of

    question = question_of(asked, chosen)
    plan = make_plan(question)
    show_plan(plan, question)
    output = asked.output
    if output.dry_run:
        return
    try:
        result = audit(
            question,
            output.out,
            plan=plan,
            seed=asked.attacking.seed,
            resume=output.resume,
            show_private=output.show_private,
            keep=output.keep,
            command=shlex.join(["hideseek", *map(without_folders, sys.argv[1:])]),
            tell=lambda text: print(text, flush=True),
        )
    except KeyboardInterrupt as stopped:
        raise KeyboardInterrupt(f"{stopped} Give the same command with --resume.") from None
    except BadInput as mistake:
        kept = (output.out / "audit.json").is_file() and not (output.out / "result.json").is_file()
        raise BadInput(
            f"{mistake} (--resume goes on with an audit that was begun.)" if kept else str(mistake)
        ) from None
    show_result(result, output.out)


def _overview() -> str:
    return (
        "usage: hideseek audit SCHEME[,SCHEME…] --data ADDRESS --out DIR [--rounds T] [--budget 10m] [--help] …\n\n"
        f"{inspect.cleandoc(Audit.__doc__ or '')}\n\n"
        f"Schemes: {', '.join(ENCODERS)}.\n"
        f"Attacks: {', '.join(ATTACKS)}.\n\n"
        "`hideseek audit SCHEME --help` explains all options."
    )
