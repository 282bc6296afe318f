"""Which private image a guess is judged by, and both of them as raw pixels."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.records import Reconstruction, Samples
from hideseek.records.secret import Secret
from hideseek.score.matching import one_to_one
from hideseek.score.moved import items_of

BLOCK = 1 << 22  # numbers at a time
HUGE = 1e9  # no pixel is beyond: guesses that are would overflow, and escape judgement
_ROUNDING = 1e-6  # a deviation below this share of the values is rounding


@dataclass(frozen=True)
class Matched(Reconstruction):
    """Guesses whose images the judge has found, by matching; −1 where no image was left."""

    items: Int[Tensor, " guesses"] | None = None
    """The items whose images the guesses were matched to; None: to all private images."""


def match_guesses(claim: Reconstruction, secret: Secret) -> Reconstruction:
    """Match guesses without an order one to one to private images, by their likeness: to all, or to those of an item.

    The Hungarian method needs the table of all guesses and images: its size bounds how many can be matched.
    """
    if claim.of == "any":
        return Matched(claim.images, one_to_one(likeness(claim.images, secret)), "images", claim.sure, claim.picked)
    if claim.of != "batches":
        return claim
    items = claim.about.cpu().long()
    found = torch.full((len(items),), -1, dtype=torch.int64)
    for item in items[items >= 0].unique():
        guesses = (items == item).nonzero()[:, 0]
        images = secret.holds(item[None])[0]
        images = images[images >= 0]
        if len(images):
            place = one_to_one(likeness(claim.images[guesses], secret, images))
            found[guesses] = torch.where(place < 0, -1, images[place.clamp_min(0)])
    return Matched(claim.images, found, "images", claim.sure, claim.picked, items=items)


def candidates(claim: Reconstruction, secret: Secret) -> Int[Tensor, "guesses truths"]:
    """Give the private images that each guess may be judged by, the best of them counting; −1 is none.

    A guess about an item may show any of the item's private images: baselines have the same advantage.
    """
    claim = match_guesses(claim, secret)
    known = claim.about.cpu().long()
    return known[:, None] if claim.of == "images" else held(known, secret)


def versions(claim: Reconstruction, secret: Secret) -> Int[Tensor, "guesses versions"] | None:
    """Give the items as whose images, moved before they were shared, a guess is judged besides; −1 is none.

    A guess about an item is judged by the images as they are in it, any other by a few of the versions that were
    shared. None: images were not moved.
    """
    if not secret.moves:
        return None
    claim = match_guesses(claim, secret)
    if isinstance(claim, Matched) and claim.items is not None:
        return claim.items[:, None]
    known = claim.about.cpu().long()
    if claim.of == "items":
        return known[:, None]
    return torch.where(known[:, None] < 0, -1, items_of(secret)[known.clamp_min(0)])


def held(items: Int[Tensor, " n"], secret: Secret) -> Int[Tensor, "n k"]:
    """Give the private images that are in each item; −1 is none, also where the item is −1."""
    return torch.where(items[:, None] < 0, -1, secret.holds(items.clamp_min(0)))


def subjects(claim: Reconstruction, secret: Secret) -> Int[Tensor, " guesses"]:
    """Give the private image that a guess is about, of an item's images the one that the item was made for."""
    return candidates(claim, secret)[:, 0]


def made_for(items: Int[Tensor, " n"], secret: Secret) -> Int[Tensor, " n"]:
    """Give the private image that each item was made for; items of one image rise and fall together."""
    return secret.holds(items.long())[:, 0]


def likeness(
    guesses: Float[Tensor, "guesses c h w"], secret: Secret, places: Int[Tensor, " n"] | None = None
) -> Float[Tensor, "guesses n"]:
    """Give how like every guess is to every private image, or to those at some places; see `alike`.

    Where images were moved before they were shared, the best of the image and a few of its moved versions counts.
    """
    private = secret.private if places is None else secret.private.take(places)
    found = alike(guesses, private.pixels, len(private), secret)
    if secret.moves:
        images = torch.arange(len(secret.private)) if places is None else places
        for items in items_of(secret)[images].T:
            known = items.clamp_min(0)
            there = alike(guesses, lambda rows, at=known: secret.moved(images[rows], at[rows]), len(images), secret)  # type: ignore[misc] # mypy does not see through the default
            found = torch.where(items < 0, found, torch.maximum(found, there))
    return found


def alike(
    guesses: Float[Tensor, "guesses c h w"],
    pixels: Callable[[slice], Float[Tensor, "b c h w"]],
    count: int,
    secret: Secret,
    *,
    negatives: bool = False,
) -> Float[Tensor, "guesses count"]:
    """Give how like every guess is to each of `count` images, block by block.

    corr(x, x̂), or |corr(x, x̂)| where a negative is as good. Where signs are hidden, corr(|x|, |x̂|).
    In double precision and rounded to nine places, so that an image that is there twice is as like in both.
    """
    found = torch.empty(len(guesses), count)
    each = math.prod(secret.private.shape)
    for part in blocks(len(guesses), each, BLOCK // 4):
        rows = _unit(guesses[part].float().clamp(-HUGE, HUGE), secret.masked)
        for others in blocks(count, each, BLOCK // 4):
            likeness = (rows @ _unit(pixels(others), secret.masked).T).round(decimals=9)
            found[part, others] = (likeness.abs() if negatives and not secret.masked else likeness).float()
    return found


def _unit(images: Float[Tensor, "n c h w"], absolute: bool) -> Float[Tensor, "n pixels"]:
    """Centre values, or their absolute values, and give them length one; what is all of one value becomes zero."""
    rows = images.cpu().flatten(1).double()
    if absolute:
        rows.abs_()
    before = rows.norm(dim=1, keepdim=True)
    rows -= rows.mean(1, keepdim=True)
    length = rows.norm(dim=1, keepdim=True)
    return rows.mul_(torch.where(length > _ROUNDING * before, 1 / length.clamp_min(1e-30), 0.0))


def raw(private: Samples, places: Int[Tensor, " b"], pixels: Float[Tensor, "b c h w"]) -> Float[Tensor, "b c h w"]:
    """Map pixels back to the raw ones of [0, 1] that some private images came from: (pixel − shift) / scale.

    An image that normalising made all zero has no way back: it becomes NaN.
    """
    scale, shift = (each if len(each) == 1 else each[places] for each in (private.scale, private.shift))
    width = 255.0 if private.images.dtype == torch.uint8 else 1.0
    back = torch.where(scale == 0, torch.nan, 1 / scale)[:, :, None, None]
    return (pixels - shift[:, :, None, None]) * back / width


def raw_truth(private: Samples, places: Int[Tensor, " b"]) -> Float[Tensor, "b c h w"]:
    """Give private images as raw pixels of [0, 1], as they are stored."""
    return private.images[places].float() / (255.0 if private.images.dtype == torch.uint8 else 1.0)


def fitted(
    truth: Float[Tensor, "b c h w"], guess: Float[Tensor, "b c h w"], *, negatives: bool
) -> Float[Tensor, "b c h w"]:
    """Give a x̂ + b with the a and b that make it most like the truth: the least squares fit, one for each image.

    A negative is no picture of an image, so a ≥ 0. With `negatives`, a may have either sign: under a mask of signs
    images and their negatives give the same rows, and no attacker can tell which it was.

    >>> fitted(torch.tensor([[[[1.0, 3.0]]]]), torch.tensor([[[[5.0, 4.0]]]]), negatives=True).flatten()
    tensor([1., 3.])
    >>> fitted(torch.tensor([[[[1.0, 3.0]]]]), torch.tensor([[[[5.0, 4.0]]]]), negatives=False).flatten()
    tensor([2., 2.])
    """
    x, y = truth.flatten(1).double(), guess.flatten(1).double()
    mean_x, mean_y = x.mean(1, keepdim=True), y.mean(1, keepdim=True)
    centred = y - mean_y
    variance = centred.square().sum(1, keepdim=True)
    flat = variance <= (_ROUNDING * y).square().sum(1, keepdim=True)
    slope = torch.where(flat, 0.0, ((x - mean_x) * centred).sum(1, keepdim=True) / variance.clamp_min(1e-300))
    slope = slope if negatives else slope.clamp_min(0)
    return (slope * centred + mean_x).float().reshape(truth.shape)


def blocks(count: int, each: int, size: int = BLOCK) -> list[slice]:
    """Divide items of `each` numbers into blocks of bounded size.

    >>> blocks(5, 10, 20)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, size // max(1, each))
    return [slice(start, min(start + step, count)) for start in range(0, count, step)]
