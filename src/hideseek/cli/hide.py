"""`hideseek hide SCHEME`: encode images so that they can be shared."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import tyro

from hideseek.chance import secure, seeded
from hideseek.cli.images import public_images, training_images
from hideseek.errors import BadInput, no_such
from hideseek.files import must_be_new
from hideseek.hide import ENCODERS, Augmented, Geometry
from hideseek.hide.files.release_files import Revealed, write_release
from hideseek.records import MixingEncoder, Samples

S = TypeVar("S", bound=MixingEncoder)


@dataclass(frozen=True)
class Hide(Generic[S]):
    """Encode every image of a set once, under fresh keys and in a fresh random order, and write the release.

    The folder holds what may be seen by anyone: encoded images, mixed labels, the scheme and its parameters. What was
    mixed with what, the weights and the masks are forgotten, unless --keep-secret asks for them.

    Hidden is not safe: Mixup and InstaHide are broken, and hideseek exists to show you how, on your own images.
    """

    scheme: S
    data: str
    """The private images: folder:PATH (a subfolder a class), npz:PATH, or the name of a set (see `hideseek data`)."""
    out: Path
    """The folder to write; it must not exist."""
    public: str | None = None
    """Public images to mix in, for the cross schemes; patches:ADDRESS cuts patches with much texture from them."""
    size: int | None = None
    """Resize and centre-crop every image to this side, in pixels."""
    channels: Literal[1, 3] | None = None
    """Make every image grey (1) or RGB (3)."""
    normalise: Literal["channel", "image", "none"] = "channel"
    """Before mixing: give each channel mean 0 and deviation 1, or each image mean 0 and norm 1, or leave [0, 1]."""
    features: str | None = None
    """Hide features instead of images: of efficientnet-lite0 (pretrained), or of a model that hideseek trained."""
    geometry: Geometry = field(default_factory=Geometry)
    rounds: int = 1
    """Encode every image so many times, as re-encoding for every epoch does; attackers see all rounds."""
    seed: int | None = None
    """For studies only: draw all keys from this number. Anyone can then take the masks off."""
    keep_secret: Path | None = None
    """For studies only: a file, readable by you alone, for the truth: private images, sources, weights and masks."""
    give_away: tuple[Revealed, ...] = ()
    """For studies only: what an attacker knows besides: the weights of every row, or which images are in it."""


def run(arguments: Sequence[str]) -> None:
    """Parse the arguments and hide."""
    name, *rest = [*arguments] or ["--help"]
    if name in ("-h", "--help"):
        print(_schemes())
        return
    if name not in ENCODERS:
        raise no_such("scheme", name, ENCODERS)
    scheme = ENCODERS[name]
    kind: Any = Hide[type(scheme)]  # type: ignore[misc] # its flags are the scheme's fields
    asked: Hide[MixingEncoder] = tyro.cli(
        kind,
        prog=f"hideseek hide {name}",
        default=Hide(scheme, tyro.MISSING, tyro.MISSING),
        args=rest,
        config=(tyro.conf.OmitArgPrefixes,),
    )
    hide(asked)


def hide(asked: Hide[MixingEncoder]) -> None:
    """Load, hide, write, and say what was done."""
    must_be_new(asked.out)  # before an hour of loading, not after
    private = training_images(
        asked.data, asked.normalise, size=asked.size, channels=asked.channels, features=asked.features
    )
    encoder = Augmented(asked.scheme, asked.geometry) if asked.geometry != Geometry() else asked.scheme
    chance = secure() if asked.seed is None else seeded(asked.seed)
    public = _public(asked, private)
    write_release(encoder, private, public, chance, asked.out, asked.keep_secret, asked.rounds, asked.give_away)
    size = sum(path.stat().st_size for path in asked.out.iterdir())
    print(f"{len(private):,} images are hidden in {asked.out} ({size / 1e6:,.1f} MB).")
    if asked.seed is not None:
        print(f"Its keys come from the seed {asked.seed}: it is for studies, and protects nothing.")
    if asked.give_away:
        print(f"It gives the {' and the '.join(asked.give_away)} away: it is for studies, and protects less.")
    if asked.keep_secret is not None:
        print(f"The truth behind it is in {asked.keep_secret}: never share it.")
    print(f"Look at it:  hideseek show {asked.out}")


def _public(asked: Hide[MixingEncoder], private: Samples) -> Samples | None:
    """Load the public images, for a scheme that mixes some in."""
    if asked.public is None:
        return None
    if getattr(asked.scheme, "k_private", None) is None:
        raise BadInput("this scheme mixes no public images: leave out --public, or set --k-private below --k.")
    return public_images(asked.public, private, size=asked.size, features=asked.features)


def _schemes() -> str:
    width = max(map(len, ENCODERS))
    lines = (f"  {name:{width}}  {_summary(scheme)}" for name, scheme in ENCODERS.items())
    return (
        "usage: hideseek hide SCHEME --data ADDRESS --out DIR [--help] …\n\n"
        + "\n".join(lines)
        + """

`hideseek hide SCHEME --help` explains a scheme's parameters and all options.

Try:  hideseek hide instahide-inside --data faces --out hidden
      hideseek hide instahide-cross --data cifar10 --public patches:tinyimagenet --k 6 --out hidden"""
    )


def _summary(scheme: MixingEncoder) -> str:
    """Give the first sentence on a scheme, without its equation, and its parameters."""
    sentence = (scheme.__doc__ or "").partition("\n")[0].partition(":")[0].rstrip(".")
    given = {key: value for key, value in vars(scheme).items() if value is not None}
    return f"{sentence} ({', '.join(f'{key} {value}' for key, value in given.items())})"
