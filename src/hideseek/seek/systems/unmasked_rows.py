"""The private images of a masked row, once its public images are known, exactly or nearly."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.seek.signals.public_sets import Found
from hideseek.seek.signals.soft_signs import soft_signs
from hideseek.seek.systems.byte_prior import BytePrior
from hideseek.seek.systems.row_under_mask import ExactSet, RowUnderMask


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


def decoded_row(under: RowUnderMask, exact: ExactSet, prior: BytePrior) -> UnmaskedRow:
    """Decode what exact weights leave of a row; where that fails, give it as it is."""
    found = Found(torch.tensor([exact.places]), torch.from_numpy(exact.weights)[None].float())
    decoded = under.decode(exact, prior)
    if decoded is None:
        return replace(subtracted(under, found), confirmed=True)
    pixels = decoded.images * under.scale[:, None, None] + under.shift[:, None, None]
    return UnmaskedRow(torch.from_numpy(pixels.astype(np.float32)), found, confirmed=True, sure=decoded.sure)


def subtracted(under: RowUnderMask, found: Found) -> UnmaskedRow:
    """Give what public images leave of a row, by the signs that they tell: the mixture of its private images."""
    known = found.sum(under.public)
    signs, _ = soft_signs(under.row[None], known)
    return UnmaskedRow((signs * under.row - known).expand(under.count, -1, -1, -1), found)
