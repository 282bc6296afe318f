"""`hideseek predict MODEL IMAGES…`: ask a trained model about images."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import torch
import tyro
from jaxtyping import Float
from torch import Tensor
from tyro.conf import arg

from hideseek.chance import secure, seeded
from hideseek.cli.arguments import parse
from hideseek.cli.images import prepared, public_images
from hideseek.cli.terminal import say, shown
from hideseek.data import load
from hideseek.data.address import READERS
from hideseek.data.address import parse as parse_address
from hideseek.data.decode import PICTURES
from hideseek.data.dicom import DICOM, is_dicom
from hideseek.data.folder import load_named
from hideseek.data.labels import NoLabels
from hideseek.data.reader import Reader
from hideseek.errors import BadInput
from hideseek.files import new_file
from hideseek.hide.files.schemes import BadParameter, from_json
from hideseek.learn import accuracy, largest_class, predict
from hideseek.records import MixingEncoder, Samples
from hideseek.report import sentences
from hideseek.train.trained import MODEL, Trained, read_model


@dataclass(frozen=True)
class HidingOptions:
    """How images are hidden from the model."""

    hidden: Annotated[bool, tyro.conf.FlagCreatePairsOff, arg(help_behavior_hint="")] = False
    """Ask about encodings of the images, made by the scheme of the training."""
    pool: Annotated[str | None, arg(metavar="ADDRESS", help_behavior_hint="")] = None
    """Images to mix in, which the server may find out: public ones; else those asked about."""
    public: Annotated[str | None, arg(metavar="ADDRESS", help_behavior_hint="")] = None
    """Public images to mix in, if the scheme does that."""
    times: Annotated[int, arg(metavar="N")] = 10
    """How many encodings of each image to average over."""
    seed: Annotated[int | None, arg(metavar="N", help_behavior_hint="")] = None
    """For studies only: draw all keys from this number."""


@dataclass(frozen=True)
class Predict:
    """Ask a trained model which class images are of, and how sure it is.

    Image files, of DICOM too, give a line each, a folder gives a CSV, and so does an address of images without classes,
    such as dicom:scans; one of labelled images, such as mnist?split=test, gives the accuracy. With --hidden, the model
    sees only encodings of an image, and its answers are joined by how much of each is the image.
    """

    model: Annotated[Path, tyro.conf.Positional, arg(metavar="MODEL", help_behavior_hint="")]
    """The folder that `hideseek learn` wrote, or the model in it."""
    images: Annotated[tuple[str, ...], tyro.conf.Positional, arg(metavar="IMAGES", help_behavior_hint="")]
    """Image files, one folder, or one address (folder:, dicom: or npz:PATH or a name)."""
    out: Annotated[Path | None, arg(metavar="FILE", help_behavior_hint="")] = None
    """Write the CSV to this file instead of to the terminal."""
    hiding: Annotated[HidingOptions, arg(help="")] = field(default_factory=HidingOptions)


def run(arguments: Sequence[str]) -> None:
    """Parse the arguments and ask."""
    config = (tyro.conf.OmitArgPrefixes, tyro.conf.DisallowNone)
    asked = parse(Predict, "hideseek predict", arguments, config=config)
    path = asked.model / MODEL if asked.model.is_dir() else asked.model
    trained, described = read_model(path)
    images, names = _images(asked, trained)
    hiding = asked.hiding
    encoder = _scheme(hiding, described)
    pool = public = None
    if encoder is not None and hiding.pool is not None:
        pool = _fitted(hiding.pool, trained, labelled=False)
    if encoder is not None and hiding.public is not None:
        public = public_images(hiding.public, images, size=_raw_size(trained), features=trained.features)
    chance = secure() if hiding.seed is None else seeded(hiding.seed)
    answers = predict(trained, images, encoder=encoder, pool=pool, public=public, times=hiding.times, chance=chance)
    labelled = images.labels.shape[1] > 0
    if asked.out is not None or not labelled:
        _answer(asked, trained, answers, names)
    if labelled:
        right = accuracy(answers, images.labels)
        say(sentences.classified(right, len(images), largest_class(images.labels)))


def _scheme(hiding: HidingOptions, described: object) -> MixingEncoder | None:
    """Give the scheme that the model was trained with, where images shall be hidden by it."""
    if not hiding.hidden:
        if hiding.pool or hiding.public:
            raise BadInput("a pool or public images are for hidden images: add --hidden.")
        return None
    if described is None:
        raise BadInput("this model was trained on plain images, there is no scheme to hide by: leave --hidden out.")
    try:
        return from_json(described)
    except BadParameter as bad:
        raise BadInput(
            f"the parameter {bad.name} = {bad.value!r} of the model's scheme is not usable: train the model again."
        ) from None


def _images(asked: Predict, trained: Trained) -> tuple[Samples, list[str]]:
    """Load what is asked about, and what each of it is called."""
    if not asked.images:
        raise BadInput("name at least one image, a folder or an address.")
    places, reader = _places(asked), PICTURES
    if all(place.is_file() for place in places):
        reader = _reader(places)
    elif len(places) > 1:
        missing = next(name for name, place in zip(asked.images, places, strict=True) if not place.is_file())
        raise BadInput(f"there is no image file {missing}: check the name (one folder or one address at a time).")
    elif not places[0].is_dir():
        return _at_address(asked.images[0], trained)
    return _named(places, trained, reader)


def _reader(files: Sequence[Path]) -> Reader:
    """Give what reads all of some files."""
    dicom = [is_dicom(file) for file in files]
    if any(dicom) and not all(dicom):
        raise BadInput("some of these files are DICOM and some are not: ask about one kind at a time.")
    return DICOM if all(dicom) else PICTURES


def _at_address(address: str, trained: Trained) -> tuple[Samples, list[str]]:
    """Load images from an address; where they have no classes, files are named, as there is no accuracy to tell."""
    try:
        samples = _fitted(address, trained)
    except NoLabels:
        place = parse_address(address)
        if place.kind in READERS:
            return _named([Path(place.target).expanduser()], trained, READERS[place.kind])
        samples = _fitted(address, trained, labelled=False)
    return samples, [str(row) for row in range(len(samples))]


def _named(places: Sequence[Path], trained: Trained, reader: Reader) -> tuple[Samples, list[str]]:
    """Load image files, or those of a folder, in the form that the model takes."""
    if trained.features is None and trained.shape[1:] == (1, 1):
        raise BadInput("this model takes features, and does not know of what: train it with --features.")
    channels = None if trained.features else trained.shape[0]
    samples, names = load_named(places, _raw_size(trained), channels, reader)
    return prepared(samples, trained.normalisation, trained.features), names


def _fitted(address: str, trained: Trained, labelled: bool = True) -> Samples:
    """Load images from an address in the form that the model takes."""
    raw = trained.features is not None or trained.shape[1:] == (1, 1)
    channels = None if raw else trained.shape[0]
    loaded = load(address, size=_raw_size(trained), channels=channels, labelled=labelled)
    return prepared(loaded, trained.normalisation, trained.features)


def _raw_size(trained: Trained) -> tuple[int, int] | None:
    """Give the size that images are brought to before the model, or its extractor, sees them."""
    if trained.features is not None:
        return None if trained.size is None else (trained.size, trained.size)
    return None if trained.shape[1:] == (1, 1) else trained.shape[1:]


def _places(asked: Predict) -> list[Path]:
    """Read what was named as paths; an address is none that exists."""
    if not all(asked.images):
        raise BadInput("an image needs a name: it cannot be empty.")
    try:
        return [Path(name).expanduser() for name in asked.images]
    except RuntimeError:
        raise BadInput("there is no such home folder: write the path in full.") from None


def _answer(asked: Predict, trained: Trained, answers: Float[Tensor, "n classes"], names: Sequence[str]) -> None:
    """Give one line an image: on the terminal, or as CSV."""
    confidence, number = answers.max(1) if len(answers) else (torch.empty(0), torch.empty(0, dtype=torch.int64))
    rows = [
        (name, trained.classes[which], f"{sure:.4f}")
        for name, which, sure in zip(names, number.tolist(), confidence.tolist(), strict=True)
    ]
    if asked.out is None and _places(asked)[0].is_file():
        width = max(len(shown(name)) for name in names)
        for name, which, sure in rows:
            say(f"{shown(name):{width}}  {which}  {100 * float(sure):.1f} %")
        return
    if asked.out is None:
        say(*_csv([tuple(map(shown, row)) for row in rows]).splitlines())
        return
    with new_file(asked.out) as file:
        file.write(_csv(rows).encode(errors="replace"))
    say(f"Answers about {sentences.counted(len(rows), 'image')} are in {asked.out}.")


def _csv(rows: Sequence[Sequence[str]]) -> str:
    table = io.StringIO(newline="")
    csv.writer(table).writerows([("image", "class", "confidence"), *rows])
    return table.getvalue()
