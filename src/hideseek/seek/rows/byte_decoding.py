"""Decoding rows one by one: images are bytes, so that a pixel of few mixed images has few solutions."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray

from hideseek.chance import Randomness
from hideseek.progress import track
from hideseek.records import Attack, EncodedRelease, Evidence, Reason, Reconstruction, Refusal, Samples, Task
from hideseek.seek.refusals import check_rows, too_small
from hideseek.seek.run import check
from hideseek.seek.systems.byte_decoding import DecodedRow, decode_row
from hideseek.seek.systems.byte_equations import LOOSE, ROUNDING
from hideseek.seek.systems.byte_prior import prior_of
from hideseek.seek.systems.byte_solutions import LEVELS, expected_solutions
from hideseek.seek.systems.label_weights import LabelWeights
from hideseek.seek.work import CALL, LOOKUP, attacked, largest

MOST_IMAGES = 3  # in a row
CALLS = 600  # of libraries, for a row
NODE = 1800  # numbers that are looked up for each image of a pixel, while beliefs spread
LEAST_ROWS = 20  # that are worth attacking

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class ByteDecoding(Attack[EncodedRelease]):
    """Decode a row from itself alone: no other row, no public image, no training.

    A pixel of an image is s b + t, with a byte b, and the s and t of the normalisation, which is public. So a row's
    pixel is ±Σ_j λ_j (s b_j + t), a number of 24 bits that was made of 8k: at k = 2 about one pair of bytes gives this
    very number, at k = 3 one or two triples, under a mask too, once it is known how float32 rounds the sum
    (`byte_rounding`). Neighbouring pixels tell the few apart (`byte_graphs`). The label has the λ_j, where the images
    of a row have different classes; where two have one class, differences of neighbouring pixels have them
    (`byte_weights`).
    """

    sees: ClassVar = EncodedRelease
    source: ClassVar = "hideseek"

    rows: int | None = None
    """Attack the first rows only."""

    def __post_init__(self) -> None:
        check_rows(self.rows)

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        """Read the weights of each row, and decode it."""
        check(self, release)
        encoded = release.encoded.take(slice(self.rows))
        scale, shift = constants(release.encoded)
        masked, k = release.scheme.masked, release.scheme.images_per_row.private
        labels = encoded.labels.numpy()
        prior = prior_of(release.own if release.own is not None else release.public, encoded.shape[0])
        reader = LabelWeights(
            k, labels if labels.shape[1] else np.zeros((len(encoded), 1), np.float32), scale, shift, masked
        )
        guesses, sure, found, from_row = [], [], [], 0
        for number in track(range(len(encoded)), "decoding rows"):
            row = encoded.pixels(slice(number, number + 1))[0].numpy()
            read = reader.of_row(number, row)
            if read is None:  # the mixture is the best guess
                guesses += [torch.from_numpy(np.abs(row) if masked else row)] * k
                sure += [False] * k
                continue
            decoded = decode_row(row, read.weights, scale, shift, masked=masked, prior=prior)
            pixels = decoded.images * scale[:, None, None] + shift[:, None, None]
            guesses += list(torch.from_numpy(pixels))
            sure += [decoded.sure] * k
            found.append(decoded)
            from_row += read.from_row
        about = torch.arange(len(encoded)).repeat_interleave(k)
        claim = Reconstruction(torch.stack(guesses), about, "batches", torch.tensor(sure))
        return Evidence((claim,), _remarks(found, len(encoded), from_row, float(np.mean(sure)), reader.half))

    def refuses(self, release: EncodedRelease) -> Refusal | None:
        """Refuse what is no exact sum of a few bytes with known constants."""
        private, public = release.scheme.images_per_row
        if not release.scheme.exact:
            return Refusal(Reason.NOT_EXACT)
        if public:
            return Refusal(Reason.UNKNOWN_PUBLIC_IMAGES, {"given": public})
        if release.encoded.normalisation.kind == "image":
            return Refusal(Reason.CONSTANTS_UNKNOWN)
        if release.encoded.images.dtype != torch.float32:
            return Refusal(Reason.COARSE_ROWS)
        if private > MOST_IMAGES:
            return Refusal(Reason.TOO_MANY_SOLUTIONS, {"images": private, "solutions": _solutions(release)})
        return too_small(release)

    def work(self, task: Task) -> float:
        """Count lookups for every pixel of a row, for all bytes of all but two images, and what is done once a row."""
        sides = 2 if task.masked else 1
        lookups = sides * float(LEVELS) ** max(0, task.images_per_item - 2) + NODE * task.images_per_item
        return attacked(self.rows, task) * (float(task.pixels) * lookups * LOOKUP + CALLS * CALL)

    def within(self, work: float, task: Task) -> Self:
        """Attack fewer rows."""
        if self.work(task) <= work:
            return self
        most = attacked(self.rows, task)
        return replace(self, rows=largest(lambda rows: replace(self, rows=rows).work(task), LEAST_ROWS, most, work))


def constants(encoded: Samples) -> tuple[Floats, Floats]:
    """Give the scale and the shift of every channel's bytes, as float32 has them: (b / 255 − mean) / std."""
    byte = np.float64(np.float32(1 / 255))
    channels = encoded.shape[0]
    if encoded.normalisation.kind == "none":
        return np.full(channels, byte, np.float32), np.zeros(channels, np.float32)
    mean, std = np.array(encoded.normalisation.mean), np.array(encoded.normalisation.std)
    return (byte / std).astype(np.float32), (-mean / std).astype(np.float32)


def _solutions(release: EncodedRelease) -> int:
    """Tell how many solutions a pixel has, to the last bit, if all images have the same weight."""
    k = release.scheme.images_per_row.private
    scale, shift = constants(release.encoded)
    rounding = ROUNDING * max(1.0, float(np.abs(shift).max())) / float(scale.min())
    found = expected_solutions(np.full(k, 1 / k), rounding / LOOSE, 2 if release.scheme.masked else 1)
    return int(float(f"{found:.1g}"))


def _remarks(
    found: list[DecodedRow], rows: int, from_row: int, sure: float, half: float
) -> dict[str, float | int | str]:
    """Say how far it came: which weights were known, how well bytes explain rows, and how many could be confirmed."""
    remarks: dict[str, float | int | str] = {
        "rows": rows,
        "weights from labels": len(found) - from_row,
        "weights from rows": from_row,
        "weights unknown": rows - len(found),
        "labels": f"rounded, ± {half:g}" if half else "exact",
        "confirmed": sure,
    }
    if found:
        remarks["pixels explained"] = float(np.mean([row.explained for row in found]))
        remarks["explained to the bit"] = float(np.mean([row.exact for row in found]))
        remarks["solutions of a pixel"] = float(np.mean([row.solutions for row in found]))
        remarks["belief"] = float(np.mean([row.belief for row in found]))
    return remarks
