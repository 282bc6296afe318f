"""Whether evidence can be about the release that a secret belongs to; it may come from a stranger."""

from dataclasses import fields
from functools import singledispatch

import torch
from torch import Tensor

from hideseek.errors import BadInput
from hideseek.records import Attribution, Claim, Links, Masks, PublicImagesFound, Reconstruction
from hideseek.records.mixing_secret import MixingSecret

MOST = 1 << 26  # public images: an order of more would not fit into memory
_ADVICE = "the evidence is of another release, or damaged"


def check(claim: Claim, secret: MixingSecret) -> None:
    """Refuse a claim about rows, images or public images that are not there, and what is not a number."""
    for field in fields(claim):
        value = getattr(claim, field.name)
        if isinstance(value, Tensor) and not bool(value.isfinite().all()):
            raise BadInput(f"the {field.name} of a claim are not all finite numbers: the attack has failed.")
    _check(claim, secret)


@singledispatch
def _check(claim: Claim, secret: MixingSecret) -> None:
    """Check what is particular to a kind of claim."""


@_check.register
def _(claim: Reconstruction, secret: MixingSecret) -> None:
    _shape(claim.images, secret)
    if claim.of == "rows":
        _within(claim.about, len(secret.sources), "row")
    elif claim.of == "images":
        _within(claim.about, len(secret.private), "private image")
    elif claim.of != "any":
        raise BadInput(f"reconstructions cannot be of {claim.of!r}, but of rows, images or any: {_ADVICE}.")


@_check.register
def _(claim: PublicImagesFound, secret: MixingSecret) -> None:
    if not isinstance(claim.among, int) or not 1 <= claim.among <= MOST:
        raise BadInput(f"public images cannot be found among {claim.among!r} of them: {_ADVICE}.")
    _within(claim.rows, len(secret.sources), "row")
    _within(claim.candidates, claim.among, "public image")
    if claim.candidates.shape[1] > claim.among:
        raise BadInput(f"{claim.candidates.shape[1]} answers cannot differ among {claim.among} images: {_ADVICE}.")
    if secret.public_sources.numel() and int(secret.public_sources.max()) >= claim.among:
        raise BadInput(
            f"the release was mixed with more public images than the {claim.among} that were searched: {_ADVICE}."
        )


@_check.register
def _(claim: Links, secret: MixingSecret) -> None:
    for rows in (claim.first, claim.second):
        _within(rows, len(secret.sources), "row")
    if bool((claim.first == claim.second).any()):
        raise BadInput("the evidence links a row with itself, which proves nothing: leave such pairs out.")


@_check.register
def _(claim: Masks, secret: MixingSecret) -> None:
    _shape(claim.signs, secret)
    _within(claim.rows, len(secret.sources), "row")
    if claim.signs.numel() and (int(claim.signs.min()) < -1 or int(claim.signs.max()) > 1):
        raise BadInput(f"signs are −1 and 1, or 0 where they are left open: {_ADVICE}.")


@_check.register
def _(claim: Attribution, secret: MixingSecret) -> None:
    _within(claim.rows, len(secret.sources), "row")
    _within(claim.candidates, len(secret.private), "private image")


def _within(numbers: Tensor, count: int, what: str) -> None:
    outside = numbers[(numbers < 0) | (numbers >= count)]
    if outside.numel():
        raise BadInput(f"the evidence speaks of {what} {int(outside[0])}, and there are {count:,}: {_ADVICE}.")


def _shape(images: Tensor, secret: MixingSecret) -> None:
    wanted = secret.private.shape
    if images.shape[1:] != torch.Size(wanted):
        given = (images.shape[1], images.shape[2], images.shape[3])
        raise BadInput(
            f"the evidence has images of {in_words(given)}, and the private ones are {in_words(wanted)}: {_ADVICE}."
        )
