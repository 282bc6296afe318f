"""The options of `hideseek learn`, in groups."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

from tyro.conf import FlagCreatePairsOff, arg

from hideseek.cli.class_names import ClassNames
from hideseek.hide import ENCODERS
from hideseek.learn import PrivateSGD
from hideseek.models import MODELS
from hideseek.records import MixingEncoder
from hideseek.train.recipes import RECIPES

UNDESCRIBED = arg(help="")  # a group of options that its title explains
AUTO = "auto"  # the recipe that goes by the number of images


@dataclass(frozen=True)
class Vanilla:
    """Plain training, nothing hidden."""


METHODS: dict[str, MixingEncoder | PrivateSGD | Vanilla] = {
    "vanilla": Vanilla(),
    **ENCODERS,
    "dp-sgd": PrivateSGD(),
}

S = TypeVar("S", bound=MixingEncoder | PrivateSGD | Vanilla)


def _unset(metavar: str) -> Any:
    """Describe an option that is left out by default, without a default in its help."""
    return arg(metavar=metavar, help_behavior_hint="")


@dataclass(frozen=True)
class ImageOptions:
    """What to train on and to test with."""

    release: Annotated[Path | None, _unset("DIR")] = None
    """Train on a release that `hideseek hide` wrote."""
    data: Annotated[str | None, _unset("ADDRESS")] = None
    """Train on folder:, dicom: or npz:PATH, or a name (`hideseek data`)."""
    public: Annotated[str | None, _unset("ADDRESS")] = None
    """Public images to mix in; patches:ADDRESS cuts patches."""
    test: Annotated[str | None, _unset("ADDRESS")] = None
    """Test on these after every epoch (mnist?split=test)."""
    features: Annotated[str | None, _unset("NAME")] = None
    """Take features: efficientnet-lite0, or a model's file."""
    size: Annotated[int | None, _unset("PIXELS")] = None
    """Resize and centre-crop every image to this side."""
    channels: Annotated[Literal[1, 3] | None, _unset("1|3")] = None
    """Make every image grey (1) or RGB (3)."""
    label_column: Annotated[str | None, _unset("NAME")] = None
    """Take labels from this column (`hideseek data`)."""
    normalise: Annotated[Literal["channel", "image", "none"], arg(metavar="HOW")] = "channel"
    """Normalise by channel, by image, or none."""
    class_names: Annotated[ClassNames, arg(metavar="WHAT")] = "names"
    """Keep names of classes in the model, or numbers."""


@dataclass(frozen=True)
class TrainingOptions:
    """How to train; what is left out goes by the recipe."""

    model: Annotated[str | None, _unset("NAME")] = None
    """The network; left out, a small one that suits images and scheme."""
    recipe: Annotated[str, arg(metavar="NAME")] = AUTO
    """Train as a paper did, or by the number of images."""
    epochs: Annotated[int | None, _unset("N")] = None
    """Passes over the images; the schedule is stretched to fit."""
    batch: Annotated[int | None, _unset("N")] = None
    """Images a step."""
    rate: Annotated[float | None, _unset("RATE")] = None
    """The first learning rate."""
    augment: Annotated[Literal[True, False] | None, _unset("BOOL")] = None
    """Shift and mirror images at random (True), or do not (False)."""


@dataclass(frozen=True)
class RunOptions:
    """How the run is kept and repeated."""

    resume: Annotated[bool, FlagCreatePairsOff, arg(help_behavior_hint="")] = False
    """Continue what was begun in the folder."""
    checkpoint_every: Annotated[float, arg(metavar="SEC")] = 30.0
    """Seconds between two checkpoints."""
    seed: Annotated[int | None, _unset("N")] = None
    """For studies: draw all chance from this number."""


@dataclass(frozen=True)
class Learn(Generic[S]):
    """Train a model on a release, or on images that a scheme hides anew for every epoch.
    The options of a scheme: --scheme NAME --help. On several GPUs: torchrun -m hideseek learn …
    """  # noqa: D205, D400 (a blank line would not fit one screen)

    out: Annotated[Path, arg(metavar="DIR", help_behavior_hint="(required)")]
    """The folder to write: the model, its metrics and a curve."""
    scheme: Annotated[S, UNDESCRIBED]
    images: Annotated[ImageOptions, UNDESCRIBED] = field(default_factory=ImageOptions)
    training: Annotated[TrainingOptions, UNDESCRIBED] = field(default_factory=TrainingOptions)
    run: Annotated[RunOptions, UNDESCRIBED] = field(default_factory=RunOptions)


@dataclass(frozen=True)
class LearnPrivately(Learn[PrivateSGD]):
    """Train a model that may leave: what it spends of an image can be written down first."""

    ledger: Annotated[Path | None, _unset("FILE")] = None
    """Write ε to this ledger first, or to HIDESEEK_LEDGER (`hideseek ledger`)."""


def lists() -> str:
    """List what options may name."""
    named: dict[str, Iterable[str]] = {"Schemes": METHODS, "Models": MODELS, "Recipes": (AUTO, *RECIPES)}
    schemes, *rest = (f"{title}: {', '.join(names)}." for title, names in named.items())
    return f"- {schemes}\n- {' '.join(rest)}"  # a line for each would not fit one screen
