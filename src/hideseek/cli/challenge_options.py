"""The options of `hideseek challenge`, a class for each of its verbs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from hideseek.data.public import PublicKnown

SCHEME = "instahide-cross:k=6"  # of the authors' challenge


@dataclass(frozen=True)
class Make:
    """Write encryption.npy (rows × height × width × channels) and label.npy (rows × classes), and keep the secret.

    challenge.json beside them states the scheme, and seals the secret by a digest.
    """

    data: str
    """Private images to draw from: folder:, dicom: or npz:PATH, or a name."""
    out: Path
    """The folder to write, for anyone to see."""
    secret: Path
    """The file for the ground truth, which only you can read."""
    public: str | None = None
    """Public images to mix in; patches:ADDRESS cuts patches from them."""
    scheme: str = SCHEME
    """The scheme, with its parameters."""
    images: int = 100
    """How many private images are drawn."""
    rounds: int = 50
    """How often each is encoded."""
    size: int | None = None
    """Resize and centre-crop all images to this side."""
    channels: Literal[1, 3] | None = None
    """Make all images grey (1) or RGB (3)."""
    seed: int | None = None
    """For studies: draw everything from this number; anyone can then undo it."""


@dataclass(frozen=True)
class Attack:
    """Run an attack on encryption.npy and label.npy, and write one image for every row.

    A folder without challenge.json is taken for the authors' own: say what is known of it by --scheme and --images.
    """

    challenge: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DIR")]
    """The folder with encryption.npy and label.npy."""
    out: Path
    """The file to write, decryption.npy by the authors' rules."""
    attack: str | None = None
    """The attack; left out, the strongest that applies."""
    public: str | None = None
    """The public images that were mixed in, where they are known."""
    public_known: PublicKnown = "images"
    """Of patches: the larger images that they were cut from, or the very patches."""
    own: str | None = None
    """Images of the attacker's own, like the private ones."""
    scheme: str | None = None
    """Of a folder that does not say it: how it was made."""
    images: int | None = None
    """Of a folder that does not say it: how many private images there are."""
    seed: int | None = None
    """Draw the attack's chance from this number."""


@dataclass(frozen=True)
class Score:
    """Compare every row of decryption.npy with the private images of that row, as the authors do."""

    decryption: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
    """What an attack recovered: rows × height × width × channels, of [0, 1]."""
    challenge: Path
    """The folder of the challenge."""
    secret: Path
    """The secret that was kept."""
    board: Path | None = None
    """Put it on this leaderboard (JSON, and Markdown beside it), among the published entries."""
    name: str = "unnamed"
    """The attack, as the leaderboard calls it."""
    time: str = ""
    """What it took, as the leaderboard says."""
