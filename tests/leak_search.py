"""A search of bytes that left a party for what must not be in them: images, names, sources, weights, masks."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.torch import load_file

from hideseek.federate.agreement import Agreement
from hideseek.federate.party import PartySettings, load_party

WINDOW = 12  # pixels, or bytes of a mask, that are searched for
VALUES = 4  # different ones that such a window has at least
"""Three black pixels are black in every mixture of images that are black there, and one mask in four leaves them alike:
they show nothing of an image, and were found in one set of encodings in twenty. Twelve pixels of four colours come from
one image alone; none was found in 300 sets."""
PIXELS = ("<f8", "<f4", "<f2")  # that pixels may be written as
INDICES = 6  # numbers of images, one behind the other, that are searched for
WEIGHTS = 8  # of two rows: the weights of one may be its label, which is sent
KINDS = ("<i8", "<i4", "<i2", "u1")  # that numbers of images may be written as


@dataclass(frozen=True)
class Secrets:
    """Pieces of bytes that must not leave, by the name of what they are of."""

    pieces: Mapping[str, frozenset[bytes]]

    def found_in(self, sent: bytes) -> list[str]:
        """Name what is found."""
        assert all(self.pieces.values()), [name for name, found in self.pieces.items() if not found]
        return [name for name, pieces in self.pieces.items() if any(piece in sent for piece in pieces)]

    def __or__(self, others: "Secrets") -> "Secrets":
        return Secrets({**self.pieces, **others.pieces})


def images_of(settings: PartySettings, agreed: Agreement) -> Secrets:
    """Give the images of a party, in the forms that it has them in: a piece must be of several colours."""
    private = load_party(settings, agreed).private
    pixels, stored = private.pixels().numpy(), private.images.numpy()
    found = {}
    for place in range(len(private)):
        found[f"pixels of image {place}"] = pieces_of(pixels[place], PIXELS)
        found[f"bytes of image {place}"] = pieces_of(stored[place])
    told = {name: pieces for name, pieces in found.items() if pieces}
    assert len(told) > 0.95 * len(found)  # the others are of one colour, nearly
    return Secrets(told)


def words(**said: str) -> Secrets:
    """Give names and other texts, whole."""
    return Secrets({name: frozenset({text.encode()}) for name, text in said.items()})


def truths(files: Iterable[Path]) -> Secrets:
    """Give what was mixed, with which weights, under which masks: of all ground truths that a party kept."""
    found: dict[str, frozenset[bytes]] = {}
    for path in files:
        kept = _kept(path)
        if (sources := kept.get("sources")) is not None and sources.shape[-1] > 1:
            found[f"sources in {path.name}"] = _numbers(sources)
            found[f"weights in {path.name}"] = _floats(kept["weights"])
        if (mask := kept.get("mask")) is not None:
            found[f"mask in {path.name}"] = _bits(mask)
    return Secrets(found)


def _kept(path: Path) -> dict[str, Any]:
    """Read a ground truth, of updates or of encodings."""
    return {name: tensor.contiguous().numpy() for name, tensor in load_file(path).items()}


def pieces_of(content: Any, kinds: Iterable[str] = ()) -> frozenset[bytes]:
    """Cut what an array holds into windows, and write those of enough different values as numbers of every kind."""
    windows = _windows(content)
    return frozenset(each.astype(kind).tobytes() for each in windows for kind in kinds or (content.dtype,))


def _windows(content: Any) -> list[Any]:
    flat = content.reshape(-1)
    windows = [flat[start : start + WINDOW] for start in range(0, max(1, len(flat) - WINDOW), WINDOW)]
    return [each for each in windows if len(set(each.tolist())) >= VALUES]


def _bits(mask: Any) -> frozenset[bytes]:
    """Give windows of a mask, as it is kept, eight signs a byte, and as one number a sign."""
    found = set()
    for window in _windows(mask):
        signs = np.unpackbits(window, bitorder="little")
        found |= {window.tobytes(), signs.tobytes(), (2 * signs.astype("i1") - 1).tobytes()}
    return frozenset(found)


def _numbers(sources: Any) -> frozenset[bytes]:
    """Give runs of numbers of images, row by row and column by column, as integers of every kind and as text."""
    found = set()
    for order in (sources.reshape(-1), np.moveaxis(sources, -1, 0).reshape(-1)):
        for start in range(0, len(order) - INDICES, INDICES):
            run = order[start : start + INDICES]
            if len(set(run)) >= VALUES and len(set(np.diff(run))) > 1:  # counting up tells nothing
                found |= {run.astype(kind).tobytes() for kind in KINDS if run.max() < 1 << 8 or kind != "u1"}
    for row in sources.reshape(-1, sources.shape[-1]):
        if len(set(row)) >= VALUES:
            found |= {separator.join(map(str, row)).encode() for separator in (", ", ",", " ")}
    return frozenset(found)


def _floats(weights: Any) -> frozenset[bytes]:
    flat = weights.reshape(-1)
    runs = [flat[start : start + WEIGHTS] for start in range(0, len(flat) - WEIGHTS, WEIGHTS)]
    runs = [each for each in runs if len(set(each)) >= VALUES]
    return frozenset(each.astype(kind).tobytes() for each in runs for kind in ("<f4", "<f2"))
