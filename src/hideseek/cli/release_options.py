"""The options of `hideseek audit --release`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from tyro.conf import arg

from hideseek.challenge.received import Layout
from hideseek.cli.audit_options import UNDESCRIBED, Output
from hideseek.cli.gate import Gate
from hideseek.data.public import PublicKnown


@dataclass(frozen=True)
class AuditRelease:
    """Attack what somebody else shared, and write one page on what can be said of it.

    Reads a folder that `hideseek hide` wrote, an InstaHide challenge (encryption.npy, label.npy), or rows in
    an .npy, .npz or .safetensors file, as the authors of InstaHide and GradAttack have them. Without the private
    images nothing is judged: the page has what attackers confirm by themselves, what they guess, and what is known of
    the scheme. With them (--private), and no keys, guesses are matched to them, and judged.

    Try:  hideseek audit --release hidden --out audit
          hideseek audit --release challenge --images 100 --budget 1h --out audit
          hideseek audit --release rows.npz --scheme instahide-inside:k=4 --private folder:xrays --out audit
    """

    release: Annotated[Path, arg(metavar="DIR|FILE")]
    """What was shared."""
    output: Annotated[Output, UNDESCRIBED]
    labels: Annotated[Path | None, arg(metavar="FILE", help_behavior_hint="")] = None
    """Labels of rows in a file of their own: rows × classes, or classes by number."""
    scheme: Annotated[str | None, arg(metavar="NAME", help_behavior_hint="")] = None
    """How rows were made, where the release does not say: mixup:k=4, instahide-cross:k=6 …"""
    images: Annotated[int | None, arg(metavar="N", help_behavior_hint="")] = None
    """How many private images there are, where it does not say; by default as many as rows."""
    layout: Annotated[Layout | None, arg(metavar="hwc|chw", help_behavior_hint="")] = None
    """Whether channels are last or first, where that cannot be told."""
    public: Annotated[str | None, arg(metavar="ADDRESS", help_behavior_hint="")] = None
    """The public images that were mixed in, where you have them."""
    public_known: Annotated[PublicKnown, arg(metavar="WHAT")] = "images"
    """Of patches, the attacker has the larger images, or the very patches."""
    private: Annotated[str | None, arg(metavar="ADDRESS", help_behavior_hint="")] = None
    """The private images, to judge by."""
    own: Annotated[str | None, arg(metavar="ADDRESS", help_behavior_hint="")] = None
    """Images that the attacker has; by default photographs. Like ones make him stronger."""
    attacks: Annotated[str, arg(metavar="NAMES")] = "all"
    """The attacks to run, with commas between, or all."""
    budget: Annotated[str, arg(metavar="TIME")] = "10m"
    """How long the audit may work, about: 90s, 10m, 2h."""
    seed: Annotated[int | None, arg(metavar="N", help_behavior_hint="")] = None
    """For studies: draw everything from this number."""
    gate: Annotated[Gate, UNDESCRIBED] = field(default_factory=Gate)
