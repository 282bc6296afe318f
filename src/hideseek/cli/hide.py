"""`hideseek hide SCHEME`: encode images so that they can be shared."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

import tyro
from tyro.conf import FlagCreatePairsOff, arg

from hideseek.chance import secure, seeded
from hideseek.cli.arguments import parse
from hideseek.cli.class_names import LEAST, ClassNames, check_sizes, described, without_names
from hideseek.cli.images import by_column, public_images, training_images
from hideseek.cli.ledger_book import Book
from hideseek.cli.mistakes import BadArguments
from hideseek.cli.shared import Shared
from hideseek.cli.terminal import say
from hideseek.data.labels import NoLabels
from hideseek.errors import BadInput, no_such
from hideseek.files import must_be_new
from hideseek.hide import ENCODERS, Augmented, Geometry, RecipeEncoder
from hideseek.hide.files.release_checks import Revealed, read_description
from hideseek.hide.files.release_files import write_release
from hideseek.hide.files.schemes import to_json
from hideseek.hide.privacy.ledger_entries import Leaving
from hideseek.records import Bound, LabelKind, MixingEncoder, RowType, Samples, Spent
from hideseek.report import sentences

S = TypeVar("S", bound=RecipeEncoder)


@dataclass(frozen=True)
class Images:
    """What is done to images before they are hidden."""

    size: Annotated[int | None, arg(metavar="PIXELS", help_behavior_hint="")] = None
    """Resize and centre-crop all images to this side, where sizes differ."""
    channels: Annotated[Literal[1, 3] | None, arg(metavar="N", help_behavior_hint="")] = None
    """Make all images grey (1) or RGB (3), where they differ."""
    normalise: Annotated[Literal["channel", "image", "none"], arg(metavar="X")] = "channel"
    """Channel, image (mean 0 and norm 1), or none."""
    features: Annotated[str | None, arg(metavar="OF", help_behavior_hint="")] = None
    """Hide features: of efficientnet-lite0, or of a model that hideseek trained."""
    least: Annotated[int, arg(metavar="N")] = LEAST
    """Refuse classes of fewer images, such as a folder for each person."""
    class_names: Annotated[ClassNames, arg(metavar="WHAT")] = "names"
    """Share the names of classes, or numbers in their place."""


@dataclass(frozen=True)
class Studies:
    """Options that protect less."""

    seed: Annotated[int | None, arg(metavar="N", help_behavior_hint="")] = None
    """Draw all keys from this number; anyone can then take the masks off."""
    keep_secret: Annotated[Path | None, arg(metavar="FILE", help_behavior_hint="")] = None
    """Keep the ground truth, in a file that only you can read."""
    give_away: Annotated[tuple[Revealed, ...], arg(metavar="X", help_behavior_hint="")] = ()
    """Tell attackers the weights, or the sources (which images), of every row."""


@dataclass(frozen=True)
class Hide(Generic[S]):
    """Encode every image of a set, under fresh keys and in a fresh random order, and write the release.
    Hidden is not safe: Mixup and InstaHide are broken. `hideseek audit` shows what your own images reveal.
    """  # noqa: D205 (a blank line would not fit one screen)

    scheme: Annotated[S, arg(help="")]
    data: Annotated[str, arg(metavar="SET")]
    """Images: folder:, dicom: or npz:PATH, or a name; --label-column NAME."""
    out: Annotated[Path, arg(metavar="DIR")]
    """The folder to write, for anyone to see."""
    public: Annotated[str | None, arg(metavar="SET", help_behavior_hint="")] = None
    """Public images to mix in; patches:ADDRESS cuts patches from them."""
    rounds: Annotated[int, arg(metavar="N")] = 1
    """Encode every image so many times; attackers see all rounds."""
    labels: Annotated[LabelKind, arg(metavar="HOW")] = "exact"
    """Share labels exact, rounded (to tenths), or drawn (one class)."""
    rows: Annotated[RowType, arg(metavar="TYPE")] = "float32"
    """Share rows as float32, float16, or int8 with dither."""
    ledger: Annotated[Path | None, arg(metavar="FILE", help_behavior_hint="")] = None
    """Write it to this ledger first, or to HIDESEEK_LEDGER (`hideseek ledger`)."""
    images: Annotated[Images, arg(help="")] = field(default_factory=Images)
    geometry: Annotated[Geometry, FlagCreatePairsOff, arg(help="")] = field(default_factory=Geometry)
    studies: Annotated[Studies, arg(name="studies-only", help="")] = field(default_factory=Studies)


def run(arguments: Sequence[str]) -> None:
    """Parse the arguments and hide."""
    name, *rest = [*arguments] or ["--help"]
    if name in ("-h", "--help"):
        say(*_schemes().split("\n"))
        return
    if name not in ENCODERS:
        raise no_such("scheme", name, ENCODERS)
    scheme = ENCODERS[name]
    rest, column = _label_column(rest)
    kind: Any = Hide[type(scheme)]  # type: ignore[misc] # its flags are the scheme's fields
    asked: Hide[RecipeEncoder] = parse(
        kind,
        f"hideseek hide {name}",
        rest,
        default=Hide(scheme, tyro.MISSING, tyro.MISSING),
        config=(tyro.conf.OmitArgPrefixes,),
    )
    hide(replace(asked, data=by_column(asked.data, column)))


def _label_column(arguments: Sequence[str]) -> tuple[list[str], str | None]:
    """Take --label-column out, which the help of --data names: lines of its own would not fit one screen.

    >>> _label_column(["--k", "2", "--label-column", "finding"]), _label_column(["--label-column=side"])
    ((['--k', '2'], 'finding'), ([], 'side'))
    """
    rest, column = [], None
    given = iter(arguments)
    for argument in given:
        option, equals, value = argument.partition("=")
        if option != "--label-column":
            rest.append(argument)
        elif not (column := value if equals else next(given, "")):
            raise BadArguments("--label-column needs the name of a column.")
    return rest, column


def hide(asked: Hide[RecipeEncoder]) -> None:
    """Load, hide, write, and say what was done."""
    must_be_new(asked.out)  # before an hour of loading, not after
    _check_public(asked)
    studies = asked.studies
    private = _private(asked)
    public = _public(asked, private)
    moved = Augmented(asked.scheme, asked.geometry) if asked.geometry != Geometry() else asked.scheme
    encoder = Shared(asked.labels, asked.rows).of(moved)
    chance = secure() if studies.seed is None else seeded(studies.seed)
    proved = not (chance.reproducible or studies.give_away)
    book = Book.of(asked.ledger, asked.data)
    book.check(_leaving(asked, encoder, len(private), proved=proved))
    secret, rounds = studies.keep_secret, asked.rounds

    def before(scheme: MixingEncoder, digest: str) -> None:
        book.add(_leaving(asked, scheme, len(private), digest, proved=proved))

    try:
        write_release(encoder, private, public, chance, asked.out, secret, rounds, studies.give_away, before)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("stopped; what was not finished was removed.") from None
    book.finish()
    say(*book.said())
    size = sum(path.stat().st_size for path in asked.out.iterdir())
    say(f"{sentences.counted(len(private), 'image')} are hidden in {asked.out} ({size / 1e6:,.1f} MB).")
    for statement in read_description(asked.out).get("proved", ()):
        say(sentences.bound(Bound(**statement)))
    if studies.seed is not None:
        say(f"Its keys come from the seed {studies.seed}: it is for studies, and protects nothing.")
    if studies.give_away:
        say(f"It gives the {' and the '.join(studies.give_away)} away: it is for studies, and protects less.")
    if studies.keep_secret is not None:
        say(f"The ground truth is in {studies.keep_secret}: never share it.")
    say(f"Look at it:  hideseek show {asked.out}")


def _leaving(
    asked: Hide[RecipeEncoder], scheme: MixingEncoder, images: int, digest: str = "", *, proved: bool
) -> Leaving:
    """Describe the release to a ledger; keys that a seed gives, and what is given away, leave nothing proved."""
    spent = scheme.spends(images, asked.rounds) if proved else Spent()
    return Leaving("hide", to_json(scheme), spent, asked.rounds, digest, str(asked.out.absolute()))


def _private(asked: Hide[RecipeEncoder]) -> Samples:
    """Load the private images, without labels where there are none, and say which classes will be shared."""
    images = asked.images
    how: dict[str, Any] = {"size": images.size, "channels": images.channels, "features": images.features}
    try:
        private = training_images(asked.data, images.normalise, **how)
    except NoLabels:
        private = training_images(asked.data, images.normalise, **how, labelled=False)
    check_sizes(private, images.least)
    say(described(private, images.class_names))
    return without_names(private, images.class_names)


def _check_public(asked: Hide[RecipeEncoder]) -> None:
    """Refuse public images that the scheme has no use for, and a scheme that lacks them."""
    if asked.public is None and asked.scheme.mixes_public:
        count = asked.scheme.images_per_row.public
        mixed = sentences.counted(count, "public image")
        raise BadInput(f"this scheme mixes {mixed} into every row: name a set with --public.")
    if asked.public is not None and not asked.scheme.mixes_public:
        raise BadInput("this scheme mixes no public images: leave out --public, or set --k-private below --k.")


def _public(asked: Hide[RecipeEncoder], private: Samples) -> Samples | None:
    if asked.public is None:
        return None
    return public_images(asked.public, private, size=asked.images.size, features=asked.images.features)


def _schemes() -> str:
    """List the schemes, those of one mechanism under its first sentence."""
    mechanisms = dict.fromkeys(type(scheme) for scheme in ENCODERS.values())
    return (
        "usage: hideseek hide SCHEME --data ADDRESS --out DIR [--help] …\n\n"
        + "\n".join(line for mechanism in mechanisms for line in _listing(mechanism))
        + """

`hideseek hide SCHEME --help` explains a scheme's parameters and all options.

Try:  hideseek hide instahide-inside --data faces --out hidden
      hideseek hide instahide-cross --data cifar10 --public patches:tinyimagenet --k 6 --out hidden"""
    )


def _listing(mechanism: type[RecipeEncoder]) -> Iterator[str]:
    """Give a mechanism's first sentence, without its equation, and its schemes."""
    yield "  " + (mechanism.__doc__ or "").partition("\n")[0].partition(":")[0].rstrip(".")
    width = max(map(len, ENCODERS))
    for name, scheme in ENCODERS.items():
        if type(scheme) is mechanism:
            yield f"    {name:{width}}  {_settings(name)}"


def _settings(name: str) -> str:
    """Give the parameters of a scheme, or the scheme before it that has the same ones."""
    first = next(other for other, scheme in ENCODERS.items() if scheme == ENCODERS[name])
    if first != name:
        return f"the same as {first}"
    return ", ".join(f"{key} {value}" for key, value in vars(ENCODERS[name]).items() if value is not None)
