"""What a judge's figures come from, as lines to draw: hit rates, and how many are caught at how many false alarms."""

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hideseek.errors import BadInput
from hideseek.records import Attribution, Claim, Evidence, Links, PublicImagesFound
from hideseek.records.mixing_secret import MixingSecret
from hideseek.records.result import Curve
from hideseek.score.links import sharing
from hideseek.score.membership import roc
from hideseek.score.public_images import places

POINTS = 120  # of a line


def curves(evidence: Evidence, secret: MixingSecret) -> tuple[Curve, ...]:
    """Draw every claim that has a curve."""
    drawn: list[Curve] = []
    for claim in evidence.claims:
        try:
            drawn += _curve(claim, secret)
        except BadInput:  # nothing of one kind to compare with: no curve
            continue
    return tuple(drawn)


@singledispatch
def _curve(claim: Claim, secret: MixingSecret) -> Sequence[Curve]:
    return ()


@_curve.register
def _(claim: Links, secret: MixingSecret) -> Sequence[Curve]:
    """Draw how many pairs of rows with a common image are found, by how many others are taken for such."""
    false, true = (rate.numpy() for rate in roc(claim.scores.double(), sharing(claim, secret)))
    least = 1 / max(1, len(claim.scores))
    x = np.geomspace(max(least, 1e-4), 1, POINTS)
    y = true[np.searchsorted(false, x, side="right") - 1]  # the largest rate that the false alarms allow
    line = "pairs of rows with a common image that are found"
    return [Curve("Rows that share an image", "false alarms", line, _told(x), _told(y), _told(x), log_x=True)]


@_curve.register
def _(claim: PublicImagesFound, secret: MixingSecret) -> Sequence[Curve]:
    """Draw how often one of a row's public images is among the first m; at random: 1 − C(N − k, m) / C(N, m)."""
    where = places(claim, secret)
    first = torch.where(where > 0, where, claim.among + 1).amin(1).numpy()
    kept, count = claim.candidates.shape[1], where.shape[1]
    if not kept or not len(first):
        return ()
    x = np.unique(np.geomspace(1, kept, POINTS).round().astype(int))
    missed = np.cumprod(1 - count / np.maximum(claim.among - np.arange(claim.among), count))
    y = [(first <= m).mean() for m in x]
    title = f"Public images of a row among {claim.among:,}"
    return [
        Curve(
            title,
            "candidates that are looked at (m)",
            "rows with a hit",
            _told(x),
            _told(y),
            _told(1 - missed[x - 1]),
            log_x=True,
        )
    ]


@_curve.register
def _(claim: Attribution, secret: MixingSecret) -> Sequence[Curve]:
    """Draw how often the image that a row was made for is among the first m that are named."""
    truth = secret.sources[claim.rows.long(), 0]
    right = claim.candidates[None, :] == truth[:, None]
    if not right.numel():
        return ()
    own = torch.where(right, claim.scores, -torch.inf).amax(1, keepdim=True)
    rank = torch.where(right.any(1), 1 + (claim.scores > own).sum(1), len(claim.candidates) + 1).numpy()
    x = np.arange(1, len(claim.candidates) + 1)
    y = [(rank <= m).mean() for m in x]
    title = f"Whose encoding is it, among {len(x)}?"
    return [
        Curve(
            title, "images that are named (m)", "rows whose image is among them", _told(x), _told(y), _told(x / len(x))
        )
    ]


def _told(values: Sequence[float] | NDArray[Any]) -> tuple[float, ...]:
    return tuple(float(f"{value:.5g}") for value in values)
