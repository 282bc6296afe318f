"""One masked row with what its label tells: whether exact weights of public images are right, and what they leave."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from hideseek.records import EncodedRelease, Samples
from hideseek.seek.signals.soft_signs import soft_signs
from hideseek.seek.systems.byte_decoding import DecodedRow, decode_row
from hideseek.seek.systems.byte_equations import row_solutions
from hideseek.seek.systems.byte_prior import BytePrior
from hideseek.seek.systems.byte_solutions import expected_solutions
from hideseek.seek.systems.confirmation import enough
from hideseek.seek.systems.signed_pairs import SURE, SignedPairs, byte_steps, signed_pairs
from hideseek.seek.systems.split_votes import split_votes

EXPLAINED = 0.9  # of pixels have a solution in bytes, where weights are right
CHANCE = 0.5  # of pixels may have one by chance, for that to mean something
WIDE = 4e-6  # of a row's units: how wrong pixels may be where votes tell weights
PIXELS = 12  # of them all, every so many are looked at
ROOM = 8
MOST_PRIVATE = 2  # images in a row, to be decoded beside public ones
FEWEST = 2  # pairs that must be explained, for the weights of private images to be looked for
LEAST_MASS = 1e-3  # of private images, or of a public one, in a row: less would explain every flat place

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class ExactSet:
    """Public images with exact weights, and how many pairs confirm each."""

    places: list[int]
    weights: NDArray[np.float64]
    support: int


@dataclass(frozen=True)
class PrivateWeights:
    """The weights of a row's private images, and how wrong a pixel may be for them, in the row's units.

    None: as sums in float32 are.
    """

    values: Floats
    tolerance: float | None = None


@dataclass(frozen=True)
class RowUnderMask:
    """One row with what its label tells: the weights of its private images, their sum (of one class), or nothing.

    `scale` and `shift` are the constants of bytes, for every channel.
    """

    row: Float[Tensor, "c h w"]
    private: Floats
    count: int  # of private images
    scale: Floats
    shift: Floats
    public: Samples

    @property
    def mass(self) -> float | None:
        """Give what the weights of public images sum to, where the label tells."""
        return 1 - float(self.private.astype(np.float64).sum()) if len(self.private) else None

    @property
    def told(self) -> bool:
        """Tell whether the label has the weight of every private image."""
        return len(self.private) == self.count

    def pairs(self) -> SignedPairs:
        """Give the pairs of neighbours; with one weight for two images, they are taken to change alike."""
        steps = byte_steps(self.private.astype(np.float64), self.scale.astype(np.float64))
        return signed_pairs(self.row.numpy(), steps, float(self.scale.max()))

    def images(self, places: list[int]) -> Floats:
        """Give public images, flat."""
        pixels: Floats = self.public.pixels(torch.tensor(places)).flatten(1).numpy()
        return pixels

    def known(self, found: ExactSet) -> NDArray[np.float64]:
        """Give m, what public images are in the row."""
        mixed: NDArray[np.float64] = found.weights @ self.images(found.places).astype(np.float64)
        return mixed.reshape(self.row.shape)

    def explained(self, found: ExactSet, private: PrivateWeights) -> float:
        """Give the share of pixels that have a solution in bytes, of a sample; 0 where chance would give many."""
        flat = self.row.numpy().reshape(len(self.row), -1)[:, ::PIXELS]
        known = self.known(found).reshape(len(self.row), -1)[:, ::PIXELS]
        arguments = (np.ascontiguousarray(flat), private.values, self.scale, self.shift, ROOM)
        solutions, off, _ = row_solutions(*arguments, known=known, masked=True, tolerance=private.tolerance)
        by_chance = 1 - math.exp(-expected_solutions(private.values, float(off.mean()), 2))
        return float((solutions.counts > 0).mean()) if by_chance < CHANCE else 0.0

    def confirmed(self, found: ExactSet) -> bool:
        """Tell whether exact weights are right: chance explains few pairs, and few pixels.

        Pixels confirm them where the weights of private images are known, or fit: of 768 pixels, where chance explains
        half, 0.9 are explained once in 10⁴¹ times, if only every third counts. Else pairs must do alone, which makes
        images likely (`confirmation`).
        """
        if found.support < (SURE if self.told else FEWEST) or found.weights.min() < LEAST_MASS:
            return False
        private = self.weights(found)
        if private is not None:
            return not self.told or self.explained(found, private) > EXPLAINED
        pairs, free = self.pairs(), len(found.places) - (self.mass is not None)
        differences = np.stack([pairs.of(image) for image in self.images(found.places)])
        return enough(pairs, differences, found.weights, found.support, free)

    def weights(self, found: ExactSet) -> PrivateWeights | None:
        """Give the weights of the private images: what the label does not tell, by votes of neighbours.

        All weights sum to one, so public ones tell what is left for private ones. None where no weights fit.
        """
        if self.told:
            return PrivateWeights(self.private)
        total = 1 - float(found.weights.sum())
        if self.count > MOST_PRIVATE or len(self.private) > 1 or total < LEAST_MASS:
            return None
        lesser = [0.0] if self.count == 1 else self._splits(found, total)
        for tolerance in (None, WIDE):
            for weight in lesser:
                values = np.array([total - weight, weight][: self.count], np.float32)
                private = PrivateWeights(values, tolerance)
                if values.min() > 0 and self.explained(found, private) > EXPLAINED:
                    return private
        return None

    def _splits(self, found: ExactSet, total: float) -> list[float]:
        """Give what may be the lesser of two weights."""
        known = torch.from_numpy(self.known(found))
        signs, _ = soft_signs(self.row.abs()[None], known[None].float())
        rest = (signs[0].sign() * self.row.abs() - known).numpy() / self.scale.astype(np.float64)[:, None, None]
        return split_votes(np.concatenate([np.diff(rest, axis=axis).ravel() for axis in (1, 2)]), total)

    def decode(self, found: ExactSet, prior: BytePrior | None) -> DecodedRow | None:
        """Decode the private images; None where their weights cannot be told."""
        private = self.weights(found)
        if private is None:
            return None
        arguments = (self.row.numpy(), private.values, self.scale, self.shift, self.known(found))
        off = private.tolerance if self.told else WIDE  # votes are less exact than labels: weights are fitted again
        return decode_row(*arguments, masked=True, prior=prior, tolerance=off)


def exact_bytes(release: EncodedRelease) -> bool:
    """Tell whether rows are exact sums of a few bytes with known constants; weights that labels hide, rows tell."""
    encoded, scheme = release.encoded, release.scheme
    shared = scheme.row_type == "float32" and encoded.images.dtype == torch.float32
    known = encoded.normalisation.kind != "image"
    return scheme.exact and shared and known and scheme.images_per_row.private <= MOST_PRIVATE


def told_weights(release: EncodedRelease, labels: Float[Tensor, " classes"]) -> Floats:
    """Give the weights of private images that a label tells exactly: none where labels are rounded or withheld."""
    none: Floats = np.empty(0, np.float32)
    return labels[labels > 0].numpy() if release.scheme.label_kind == "exact" else none
