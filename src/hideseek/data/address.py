"""One way to say which images: folder:PATH, dicom:PATH, npz:PATH, a name, or patches: of any of these."""

import contextlib
import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from hideseek.data.decode import PICTURES
from hideseek.data.dicom import DICOM
from hideseek.data.folder import load_folder
from hideseek.data.labels import unlabelled
from hideseek.data.named import DATASETS
from hideseek.data.npz import SPLITS, load_npz
from hideseek.data.public import EACH, KEYPOINTS, public_patches
from hideseek.data.shaping import Size, height_and_width, with_channels, with_size
from hideseek.errors import BadInput
from hideseek.records import Samples

_SYNTAX = f"folder:PATH, dicom:PATH, npz:PATH, patches:ADDRESS or one of {', '.join(DATASETS)}"
COLUMN = "label-column"
READERS = {"folder": PICTURES, "dicom": DICOM}
_OPTIONS = {"folder": (COLUMN,), "dicom": (COLUMN,), "npz": ("split", COLUMN)}
_PATCH_OPTIONS = ("each", "keypoints", "side")


@dataclass(frozen=True)
class Address:
    """An address taken apart: `kind:target?key=value&key=value`; a name is a kind without a target."""

    kind: str
    target: str = ""
    options: Mapping[str, str] = field(default_factory=dict)


def parse(text: str) -> Address:
    """Take an address apart; the last question mark begins the options.

    >>> parse("npz:a/b.npz?split=test")
    Address(kind='npz', target='a/b.npz', options={'split': 'test'})
    >>> parse("mnist").kind
    'mnist'
    """
    place, _, tail = text.rpartition("?") if "?" in text else (text, "", "")
    kind, colon, target = place.partition(":")
    known = kind in (*_OPTIONS, "patches") if colon else kind in DATASETS
    if not known or (colon and not target):
        raise BadInput(_unknown(text, kind))
    options = {}
    for part in filter(None, tail.split("&")):
        key, _, value = part.partition("=")
        options[key] = value
    return Address(kind, target, options)


def load(address: str, *, size: Size | None = None, channels: int | None = None, labelled: bool = True) -> Samples:
    """Give the images at an address, bytes where they are stored as bytes, not normalised.

    - `folder:PATH`: image files, a subfolder a class, or a labels.csv with the columns file, label, perhaps patient;
    - `dicom:PATH`: the same of DICOM files, or one such file; whose images they are is known;
    - `npz:PATH?split=train`: arrays x_train and y_train (x_test …), x and y, or images and labels;
    - a name of `DATASETS`, such as `mnist?split=test`;
    - `patches:ADDRESS?each=10&keypoints=40&side=64`: public patches of `size`, without labels, of the images at
      another address, after these were scaled to a square of `side` if that is given.

    `?label-column=NAME` is another column of labels.csv, or one of the columns of an npz file whose images have several
    labels each: 0, 1, …, of which one must be named.
    `size` scales the shorter side and crops the centre; `channels` is 1 (grey) or 3; without labels, labels are n×0.
    Labels that cannot be used are a `BadLabels`: the images can be loaded without. What is passed over is logged.
    """
    if channels not in (None, 1, 3):
        raise BadInput(f"channels must be 1 or 3, not {channels}.")
    wanted = None if size is None else height_and_width(size)
    place = parse(address)
    if place.kind == "patches":
        return _load_patches(place, wanted, channels)
    _check_options(place, _OPTIONS.get(place.kind, ("split",)))
    if place.kind in READERS:
        column = place.options.get(COLUMN)
        return load_folder(place.target, wanted, channels, labelled, READERS[place.kind], column)
    split = place.options.get("split")
    if place.kind == "npz":
        if split not in (None, *SPLITS):
            raise BadInput(f"split={split} is not known; choose one of {', '.join(SPLITS)}.")
        samples = load_npz(Path(place.target).expanduser(), split, labelled, column=place.options.get(COLUMN))
    else:
        samples = DATASETS[place.kind].load(split, labelled)
    if not labelled:
        samples = replace(samples, labels=unlabelled(len(samples)), classes=())
    if channels == 1:  # first what leaves less to resize
        samples = with_channels(samples, channels)
    return with_channels(with_size(samples, wanted), channels)


def with_label_column(address: str, column: str | None) -> str:
    """Put the column that has the labels into an address, unless none is asked for or it has one.

    >>> with_label_column("folder:xrays", "finding"), with_label_column("npz:chest.npz?split=test", "3")
    ('folder:xrays?label-column=finding', 'npz:chest.npz?split=test&label-column=3')
    """
    if column is None or COLUMN in parse(address).options:
        return address
    return f"{address}{'&' if '?' in address else '?'}{COLUMN}={column}"


def _load_patches(place: Address, size: tuple[int, int] | None, channels: int | None) -> Samples:
    """Cut public patches from the images at the inner address, which gets the options that are not for patches."""
    if size is None:
        raise BadInput("patches: needs a size; give the size of the private images.")
    if place.target.startswith("patches:"):
        raise BadInput("patches of patches make no sense; name the images themselves after patches:.")
    numbers = {key: _number(key, place.options[key]) for key in _PATCH_OPTIONS if key in place.options}
    rest = {key: value for key, value in place.options.items() if key not in _PATCH_OPTIONS}
    inner = parse(place.target)
    _check_options(replace(inner, options=rest), _OPTIONS.get(inner.kind, ("split",)), _PATCH_OPTIONS)
    tail = "?" + "&".join(f"{key}={value}" for key, value in rest.items()) if rest else ""
    source = load(place.target + tail, size=numbers.get("side"), channels=channels, labelled=False)
    return public_patches(source, size, numbers.get("each", EACH), numbers.get("keypoints", KEYPOINTS))


def _check_options(place: Address, *allowed: tuple[str, ...]) -> None:
    names = [name for group in allowed for name in group]
    for key in place.options:
        if key not in names:
            offer = f"only {', '.join(names)}" if names else "none"
            raise BadInput(f"{place.kind} has no option {key!r}, {offer}; leave it out.")


def _number(key: str, value: str) -> int:
    if not value.isdecimal():
        raise BadInput(f"the option {key} must be a whole number, not {value!r}.")
    return int(value)


def _unknown(text: str, kind: str) -> str:
    """Say what an address looks like, and what this one may have meant."""
    with contextlib.suppress(OSError):  # of names too long, or places forbidden
        if text and Path(text).is_dir():
            return f"{text!r} is a folder; write folder:{text}."
    near = difflib.get_close_matches(kind, [*DATASETS, *_OPTIONS, "patches"])
    hint = f"; did you mean {' or '.join(near)}?" if near else "."
    return f"{text!r} is not an address of images; write {_SYNTAX}{hint}"
