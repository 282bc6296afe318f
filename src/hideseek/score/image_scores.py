"""Every guess compared with the private images that it may show, the best of them counting."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek import similarity
from hideseek.errors import BadInput
from hideseek.progress import track
from hideseek.records import Reconstruction, Samples
from hideseek.records.secret import Secret
from hideseek.score.ground_truth import HUGE, blocks, candidates, fitted, raw_truth, versions
from hideseek.score.ground_truth import raw as as_raw
from hideseek.score.metric import Scores

Images = Float[Tensor, "b c h w"]
Compare = Callable[[Images, Images], Scores]

LIMIT = 100.0  # dB: an exact reconstruction has infinitely many, and no mean
_SLACK = 1e-3  # by which resizing may leave [0, 1]


def best(
    claim: Reconstruction,
    secret: Secret,
    compare: Compare,
    *,
    higher: bool = True,
    raw: bool = False,
    each: int | None = None,
) -> Scores:
    """Compare every guess with its private image, or with all that it may show, and keep the best.

    Images that were moved before they were shared are compared as they are, and as they were shared.
    `raw` compares raw pixels, else normalised ones are compared; `each` is what a guess costs, in numbers.
    """
    if claim.picked:
        raise BadInput("its guesses are candidates that the attacker had before: what counts is which it picks.")
    private, places, items = secret.private, candidates(claim, secret), versions(claim, secret)
    found = torch.full((len(places),), torch.nan)
    keep = torch.fmax if higher else torch.fmin
    for rows in track(blocks(len(places), each or math.prod(private.shape)), "scoring"):
        guess = claim.images[rows].to(private.images.device).float().clamp(-HUGE, HUGE)
        for column in places[rows].T:
            known = column.clamp_min(0)
            shown = as_raw(private, known, guess) if raw else guess
            truth = raw_truth(private, known) if raw else private.pixels(known)
            scores = compare(truth, shown).float().cpu()
            found[rows] = keep(found[rows], torch.where(column < 0, torch.nan, scores))
            for item in () if items is None else items[rows].T:
                there = secret.moved(known, item.clamp_min(0))
                scores = compare(as_raw(private, known, there) if raw else there, shown).float().cpu()
                found[rows] = keep(found[rows], torch.where((column < 0) | (item < 0), torch.nan, scores))
    return found


def must_be_pictures(private: Samples) -> None:
    """Refuse features, and floats that are not raw pixels, to metrics that need the range of a pixel."""
    if private.shape[1:] == (1, 1):
        raise BadInput("it is for images, and these are features.")
    if private.images.dtype != torch.uint8:
        low, high = private.images.aminmax()
        if low < -_SLACK or high > 1 + _SLACK:
            raise BadInput(f"it needs raw pixels in [0, 1], and these go from {float(low):.3g} to {float(high):.3g}.")


def by_pixels(compare: Compare, claim: Reconstruction, secret: Secret, *, higher: bool = True) -> Scores:
    """Compare normalised images."""
    return best(claim, secret, compare, higher=higher)


def by_raw_pixels(compare: Compare, claim: Reconstruction, secret: Secret, *, fit: bool = False) -> Scores:
    """Compare raw pixels, perhaps after the guess was given the brightness and contrast that fit best."""
    must_be_pictures(secret.private)

    def after_fit(truth: Images, guess: Images) -> Scores:
        return compare(truth, fitted(truth, guess, negatives=secret.masked))

    return best(claim, secret, after_fit if fit else compare, raw=True)


def snr(truth: Images, guess: Images) -> Scores:
    """Give the signal-to-noise ratio; NaN where there is no signal, as in a flat image that was normalised by image."""
    ratio = similarity.snr(truth, guess).clamp(-LIMIT, LIMIT)
    return torch.where(truth.flatten(1).any(1), ratio, torch.nan)


def psnr(truth: Images, guess: Images) -> Scores:
    """Give the peak signal-to-noise ratio of raw pixels in [0, 1]."""
    return similarity.psnr(truth, guess, data_range=1.0).clamp(-LIMIT, LIMIT)
