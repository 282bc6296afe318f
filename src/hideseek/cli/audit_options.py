"""The options of `hideseek audit`, in groups."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

from tyro.conf import FlagCreatePairsOff, arg

from hideseek.cli.gate import Gate
from hideseek.cli.shared import Shared
from hideseek.data.public import PublicKnown
from hideseek.hide import Geometry
from hideseek.records import MixingEncoder

UNDESCRIBED = arg(help="")  # a group of options that its title explains


def _unset(metavar: str) -> Any:
    """Describe an option that is left out by default, without a default in its help."""
    return arg(metavar=metavar, help_behavior_hint="")


@dataclass(frozen=True)
class Several:
    """Several schemes, each with its own parameters in its name."""


S = TypeVar("S", bound=MixingEncoder | Several)
Switch = Annotated[bool, FlagCreatePairsOff, arg(help_behavior_hint="")]


@dataclass(frozen=True)
class Images:
    """The images."""

    data: Annotated[str, arg(metavar="ADDRESS")]
    """Private images: folder:, dicom: or npz:PATH, or a name (see `hideseek data`)."""
    public: Annotated[str | None, _unset("ADDRESS")] = None
    """Public images to mix in; patches:ADDRESS cuts patches from them."""
    public_known: Annotated[PublicKnown, arg(metavar="WHAT")] = "images"
    """Of patches, the attacker has the larger images, or the very patches."""
    own: Annotated[str | None, _unset("ADDRESS")] = None
    """Images that the attacker has; by default photographs. Like ones make him stronger."""
    sample: Annotated[int | None, _unset("N")] = None
    """Hide and attack only so many images, always the same ones, or by --seed; accuracy is of all."""
    size: Annotated[int | None, _unset("PIXELS")] = None
    """Resize and centre-crop every image to this side."""
    channels: Annotated[Literal[1, 3] | None, _unset("1|3")] = None
    """Make every image grey (1) or RGB (3)."""
    label_column: Annotated[str | None, _unset("NAME")] = None
    """Take labels from this column of a labels.csv, or of an npz with several an image."""
    normalise: Annotated[Literal["channel", "image", "none"], arg(metavar="HOW")] = "channel"
    """By channel, by image (mean 0 and norm 1), or none."""


@dataclass(frozen=True)
class Attacking:
    """What is attacked, and for how long."""

    rounds: Annotated[int, arg(metavar="N")] = 1
    """Encode every image so many times; attackers see all rounds."""
    attacks: Annotated[str, arg(metavar="NAMES")] = "all"
    """The attacks to run, with commas between, or all."""
    budget: Annotated[str, arg(metavar="TIME")] = "10m"
    """How long the audit may work, about: 90s, 10m, 2h; beside other work it may last 4 times as long."""
    seed: Annotated[int | None, _unset("N")] = None
    """For studies: draw everything from this number, keys too."""


@dataclass(frozen=True)
class Accuracies:
    """What hiding costs."""

    learn: Annotated[bool, arg(help_behavior_hint="")] = True
    """Measure what hiding costs in accuracy, or do not."""
    learn_on: Annotated[str | None, _unset("ADDRESS")] = None
    """Measure accuracy on these images instead of the private ones."""
    test: Annotated[str | None, _unset("ADDRESS")] = None
    """Images to test with; by default the test split, or a fifth held out."""


@dataclass(frozen=True)
class Output:
    """What is written."""

    out: Annotated[Path, arg(metavar="DIR")]
    """The folder to write."""
    show_private: Switch = False
    """Do not blur private images in the page. Do not pass such a page on."""
    keep: Switch = False
    """Keep releases and the ground truth in the folder."""
    resume: Switch = False
    """Go on with an audit that was stopped."""
    dry_run: Switch = False
    """Print the plan, and stop there."""


@dataclass(frozen=True)
class Audit(Generic[S]):
    """Hide images as you mean to share them, learn from that, attack it, and write one page on what leaks.

    Every attack that applies is run on exactly what would be shared: by the outsider, who sees what is shared; one who
    also has candidate images; the linked attacker, who also knows which rows are of one image (a row is one encoding);
    and the informed one, who also knows which images are in each row, and their weights. An attack counts after it has
    succeeded on a weak case and found nothing in noise. A scheme is broken if private images come back or are picked
    from the candidates; it leaks if anything else is found; else it resisted these attacks, and nothing more. What
    there was no time for is not tried, and open. A finding beats every baseline that ignores the release, with an
    error of 2.5 % over all schemes and attackers together.

    Writes report.html, to read and pass on, with private images blurred, and result.json. The folder itself holds
    private images: keep it to yourself. Ctrl-C keeps what is done; --resume goes on.

    Try:  hideseek audit mixup --data faces --rounds 10 --out audit
          hideseek audit mixup,instahide-cross:k=6,singularized-mixup:tau=1e-4 --data faces
              --public patches:photos --rounds 10 --budget 5m --out audit
    """

    scheme: Annotated[S, UNDESCRIBED]
    images: Annotated[Images, UNDESCRIBED]
    output: Annotated[Output, UNDESCRIBED]
    attacking: Annotated[Attacking, arg(name="attack", help="")] = field(default_factory=Attacking)
    accuracies: Annotated[Accuracies, arg(name="accuracy", help="")] = field(default_factory=Accuracies)
    geometry: Annotated[Geometry, UNDESCRIBED] = field(default_factory=Geometry)
    shared: Annotated[Shared, UNDESCRIBED] = field(default_factory=Shared)
    gate: Annotated[Gate, UNDESCRIBED] = field(default_factory=Gate)
