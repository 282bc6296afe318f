"""`hideseek audit SCHEMES`: say what leaks from images that are shared so, and what it costs."""

import inspect
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import tyro

from hideseek.audit import Learning, Question, audit, learning_from, make_plan
from hideseek.audit.provenance import without_folders
from hideseek.chance import Randomness, seeded
from hideseek.cli.audit_tables import show_plan, show_result
from hideseek.cli.images import prepared, public_images
from hideseek.cli.schemes import schemes
from hideseek.data import DATASETS, load
from hideseek.errors import BadInput, no_such
from hideseek.hide import ENCODERS, Augmented, Geometry
from hideseek.hide.files.release_files import digest
from hideseek.records import MixingEncoder, Samples
from hideseek.seek import ATTACKS

UNITS = {"s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True)
class Several:
    """Several schemes, each with its own parameters in its name."""


S = TypeVar("S", bound=MixingEncoder | Several)


@dataclass(frozen=True)
class Audit(Generic[S]):
    """Hide images as you mean to share them, learn from that, attack it, and write one page on what leaks.

    Every attack that applies is run on exactly what would be shared, by three kinds of attackers: one who sees what is
    shared, one who also knows which rows are of one image, one who also knows who was mixed with whom. An attack
    counts only after it has broken a weak case that was planted for it, and found nothing in noise; a scheme is broken
    if an attack beats what somebody without a clue would score, with 95 % confidence. A scheme that no attack breaks
    has resisted these attacks, and nothing more.

    Writes report.html, one page to read and pass on, in which private images are blurred, and result.json. The folder
    itself holds private images: keep it to yourself. Ctrl-C keeps what is done; --resume goes on.

    Try:  hideseek audit mixup --data faces --rounds 10 --out audit
          hideseek audit mixup,instahide-cross:k=6,singularized-mixup:tau=1e-4 --data faces
              --public patches:photos --rounds 10 --budget 5m --out audit
    """

    scheme: S
    data: str
    """The private images: folder:PATH (a subfolder a class), npz:PATH, or the name of a set (see `hideseek data`)."""
    out: Path
    """The folder to write."""
    public: str | None = None
    """Public images to mix in, for the cross schemes; patches:ADDRESS cuts patches with much texture from them."""
    own: str | None = None
    """Images that the attacker has to try things on, the more like the private ones the stronger he is; by default
    photographs that come with hideseek."""
    rounds: int = 1
    """Hide every image so many times, as re-encoding for every epoch does; attackers see all rounds."""
    attacks: str = "all"
    """The attacks to run, with commas between, or all."""
    budget: str = "10m"
    """How long the audit may take, about: 90s, 10m, 2h. Attacks and trainings are cut to fit."""
    sample: int | None = None
    """Hide and attack only so many of the images, drawn at random; accuracy is still of all."""
    learn_on: str | None = None
    """Measure accuracy on these images instead of the private ones."""
    test: str | None = None
    """Images to test accuracy with; by default a set's own test split, or a fifth that is held out."""
    learn: bool = True
    """Measure what hiding costs in accuracy, or do not (--no-learn)."""
    size: int | None = None
    """Resize and centre-crop every image to this side, in pixels."""
    channels: Literal[1, 3] | None = None
    """Make every image grey (1) or RGB (3)."""
    normalise: Literal["channel", "image", "none"] = "channel"
    """Before mixing: give each channel mean 0 and deviation 1, or each image mean 0 and norm 1, or leave [0, 1]."""
    geometry: Geometry = field(default_factory=Geometry)
    show_private: bool = False
    """Show private and recovered images as they are in the page; by default they are blurred. Do not pass that on."""
    keep: bool = False
    """Keep releases and the truth behind them in the folder; by default they are removed at the end."""
    resume: bool = False
    """Go on with an audit that was stopped."""
    dry_run: bool = False
    """Print the plan, and stop there."""
    seed: int | None = None
    """For studies only: draw everything from this number, keys too. The report says so."""


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
        default=Audit(scheme, tyro.MISSING, tyro.MISSING),
        args=rest,
        config=(tyro.conf.OmitArgPrefixes,),
    )
    if isinstance(asked.scheme, MixingEncoder):
        chosen = dict.fromkeys(chosen, asked.scheme)
    perform(asked, chosen)


def perform(asked: Audit[Any], chosen: dict[str, MixingEncoder]) -> None:
    """Load, plan, audit, and show what came out."""
    question = _question(asked, chosen)
    plan = make_plan(question)
    show_plan(plan, question)
    if asked.dry_run:
        return
    result = audit(
        question,
        asked.out,
        plan=plan,
        seed=asked.seed,
        resume=asked.resume,
        show_private=asked.show_private,
        keep=asked.keep,
        command=shlex.join(["hideseek", *map(without_folders, sys.argv[1:])]),
        tell=lambda text: print(text, flush=True),
    )
    show_result(result, asked.out)


def _question(asked: Audit[Any], chosen: dict[str, MixingEncoder]) -> Question:
    """Load all that is named.

    Which images are sampled or held out is no secret, and must be the same when an audit goes on: it is drawn from the
    content of the set, like public patches.
    """
    attacks = list(ATTACKS) if asked.attacks == "all" else [name.strip() for name in asked.attacks.split(",")]
    for name in attacks:
        if name not in ATTACKS:
            raise no_such("attack", name, ATTACKS)
    budget = seconds(asked.budget)
    if asked.geometry != Geometry():
        chosen = {name: Augmented(scheme, asked.geometry) for name, scheme in chosen.items()}
    whole, unlabelled = _labelled(asked.data, asked)
    chance = seeded(int(digest(whole), 16))
    private = whole
    if asked.sample is not None:
        if not 2 <= asked.sample <= len(whole):
            raise BadInput(f"--sample must be between 2 and the {len(whole):,} images that there are.")
        private = whole.take(chance.permutation(len(whole))[: asked.sample].sort().values)
    mixes = any(scheme.images_per_row.public for scheme in chosen.values())
    if asked.public is not None and not mixes:
        raise BadInput("none of these schemes mixes public images: leave out --public, or audit a cross scheme.")
    public = None if asked.public is None else public_images(asked.public, private, size=asked.size, features=None)
    own_address = asked.own or ("faces" if "photos" in asked.data else "photos")  # others than the private ones
    own = public_images(own_address, private, size=private.shape[1:], features=None)
    learning, why = None, unlabelled or "it was not asked for (--no-learn)."
    if asked.learn and (asked.learn_on or not unlabelled):
        learning, why = _learning(asked, whole, public, chance)
    return Question(
        private,
        chosen,
        public,
        own,
        asked.rounds,
        {name: ATTACKS[name] for name in attacks},
        budget,
        learning,
        why,
        {"private": asked.data, "public": asked.public or "", "own": own_address},
    )


def _labelled(address: str, asked: Audit[Any]) -> tuple[Samples, str]:
    """Load images with their labels; without, where they have none, and say so."""
    how: dict[str, Any] = {"size": asked.size, "channels": asked.channels}
    try:
        return prepared(load(address, **how), asked.normalise, None), ""
    except BadInput as mistake:
        samples = prepared(load(address, **how, labelled=False), asked.normalise, None)
        place = address.rpartition(":")[2].partition("?")[0]
        reason = str(mistake).replace(place, Path(place).name)  # without folders: it stands in the report
        return samples, f"the images could not be read with labels: {reason}"


def _learning(
    asked: Audit[Any], whole: Samples, public: Samples | None, chance: Randomness
) -> tuple[Learning | None, str]:
    """Choose what accuracy is measured on: a set with its test images, or the images themselves, some held out."""
    address = asked.learn_on or asked.data
    train = whole
    if asked.learn_on is not None:
        train = prepared(load(address, channels=asked.channels), asked.normalise, None)
        if asked.public is not None:
            public = public_images(asked.public, train, size=train.shape[1:], features=None)
    test = asked.test or _test_split(address)
    if test is None or train.labels.shape[1] < 2:
        held, why = learning_from(train, chance, public)
        return (held and replace(held, address=address)), why
    images = load(test, size=train.shape[1:], channels=train.shape[0])
    tested = prepared(images, train.normalisation, None)
    if tested.labels.shape[1] != train.labels.shape[1] or tested.classes != train.classes:
        raise BadInput(f"the classes of {test} are not those of {address}: name test images of the same classes.")
    return Learning(train, tested, public, address), ""


def _test_split(address: str) -> str | None:
    """Give the test split of a named set that is asked for by its name alone."""
    known = DATASETS.get(address)
    return f"{address}?split=test" if known is not None and "test" in known.counts else None


def seconds(text: str) -> float:
    """Read a time.

    >>> seconds("90s"), seconds("1.5m"), seconds("2h"), seconds("600")
    (90.0, 90.0, 7200.0, 600.0)
    """
    number, unit = (text[:-1], UNITS[text[-1]]) if text[-1:] in UNITS else (text, 1)
    try:
        found = float(number) * unit
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise BadInput(f"--budget is a time such as 90s, 10m or 2h, not {text!r}.")
    return found


def _overview() -> str:
    return (
        "usage: hideseek audit SCHEME[,SCHEME…] --data ADDRESS --out DIR [--rounds T] [--budget 10m] [--help] …\n\n"
        f"{inspect.cleandoc(Audit.__doc__ or '')}\n\n"
        f"Schemes: {', '.join(ENCODERS)}.\n"
        f"Attacks: {', '.join(ATTACKS)}.\n\n"
        "`hideseek audit SCHEME --help` explains all options."
    )
