"""The private images of a masked row, once its public images are known, exactly or nearly."""

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.seek.signals.public_sets import Found
from hideseek.seek.signals.soft_signs import soft_signs
from hideseek.seek.systems.byte_decoding import DecodedRow
from hideseek.seek.systems.byte_prior import BytePrior
from hideseek.seek.systems.row_under_mask import ExactSet, RowUnderMask

ONE = 1.5  # solutions of a pixel, on average, that are counted as one


@dataclass(frozen=True)
class UnmaskedRow:
    """The private images of a row, and the public ones."""

    images: Float[Tensor, "private c h w"]
    found: Found
    confirmed: bool = False
    sure: bool = False

    def named(self, which: Int[Tensor, " candidates"]) -> "UnmaskedRow":
        """Give public images their numbers, where they were searched among some candidates."""
        return replace(self, found=Found(which[self.found.places], self.found.weights))


def unmasked(under: RowUnderMask, found: ExactSet | Found, prior: BytePrior) -> UnmaskedRow:
    """Decode what exact weights leave of a row; of others, give what they leave."""
    return decoded_row(under, found, prior) if isinstance(found, ExactSet) else subtracted(under, found)


def decoded_row(under: RowUnderMask, exact: ExactSet, prior: BytePrior) -> UnmaskedRow:
    """Decode what exact weights leave of a row; where that fails, give it as it is: then pixels confirm nothing."""
    found = Found(torch.tensor([exact.places]), torch.from_numpy(exact.weights)[None].float())
    decoded = under.decode(exact, prior)
    if decoded is None:
        return subtracted(under, found)
    pixels = decoded.images * under.scale[:, None, None] + under.shift[:, None, None]
    sure = decoded.sure and unambiguous(decoded)
    return UnmaskedRow(torch.from_numpy(pixels.astype(np.float32)), found, confirmed=True, sure=sure)


def unambiguous(decoded: DecodedRow) -> bool:
    """Tell whether pixels have about one solution, and those that chance adds.

    Where weights are nearly in the ratio of small integers, n₁λ₁ = n₂λ₂, whole regions may be shifted by (n₁, −n₂), and
    neighbours agree on what is wrong: belief is no proof then. The limit was set on 1,870 rows (k = 3 and 8, CIFAR-10's
    first thousand), so that no sure image of these is wrong.
    """
    expected = -math.log1p(-decoded.by_chance)
    return decoded.solutions < ONE + 2 * expected  # sums are denser in their middle


def subtracted(under: RowUnderMask, found: Found) -> UnmaskedRow:
    """Give what public images leave of a row, by the signs that they tell: the mixture of its private images."""
    known = found.sum(under.public)
    signs, _ = soft_signs(under.row[None], known)
    return UnmaskedRow((signs * under.row - known).expand(under.count, -1, -1, -1), found)
