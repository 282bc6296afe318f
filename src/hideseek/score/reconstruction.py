"""How much of a private image a guess shows: one score a guess."""

import math
from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek import similarity
from hideseek.errors import BadInput
from hideseek.progress import track
from hideseek.records import Reconstruction, Samples
from hideseek.records.mixing_secret import MixingSecret
from hideseek.score.ground_truth import BLOCK, HUGE, Matched, blocks, candidates, fitted, likeness, raw_pair, subjects
from hideseek.score.matching import ranks
from hideseek.score.metric import Metric, Scores

Compare = Callable[[Float[Tensor, "b c h w"], Float[Tensor, "b c h w"]], Scores]

COMES_BACK = 0.9  # the correlation with the truth from which anybody would say that it is the same picture
LIMIT = 100.0  # dB: an exact reconstruction has infinitely many, and no mean
_SLACK = 1e-3  # by which resizing may leave [0, 1]


def best(
    claim: Reconstruction,
    secret: MixingSecret,
    compare: Compare,
    *,
    higher: bool = True,
    raw: bool = False,
    each: int | None = None,
) -> Scores:
    """Compare every guess with its private image, or with all that it may show, and keep the best.

    `raw` compares raw pixels, else normalised ones are compared; `each` is what a guess costs, in numbers.
    """
    private, places = secret.private, candidates(claim, secret)
    found = torch.full((len(places),), torch.nan)
    keep = torch.fmax if higher else torch.fmin
    for rows in track(blocks(len(places), each or math.prod(private.shape)), "scoring"):
        guess = claim.images[rows].to(private.images.device).float().clamp(-HUGE, HUGE)
        for column in places[rows].T:
            known = column.clamp_min(0)
            truth, shown = raw_pair(private, known, guess) if raw else (private.pixels(known), guess)
            scores = compare(truth, shown).float().cpu()
            found[rows] = keep(found[rows], torch.where(column < 0, torch.nan, scores))
    return found


def must_be_pictures(private: Samples) -> None:
    """Refuse features, and floats that are not raw pixels, to metrics that need the range of a pixel."""
    if private.shape[1:] == (1, 1):
        raise BadInput("it is for images, and these are features.")
    if private.images.dtype != torch.uint8:
        low, high = private.images.aminmax()
        if low < -_SLACK or high > 1 + _SLACK:
            raise BadInput(f"it needs raw pixels in [0, 1], and these go from {float(low):.3g} to {float(high):.3g}.")


def _pixelwise(compare: Compare, claim: Reconstruction, secret: MixingSecret, *, higher: bool = True) -> Scores:
    """Compare normalised images."""
    return best(claim, secret, compare, higher=higher)


def _picture(compare: Compare, claim: Reconstruction, secret: MixingSecret, *, fit: bool = False) -> Scores:
    """Compare raw pixels, perhaps after the guess was given the brightness and contrast that fit best."""
    must_be_pictures(secret.private)
    compared: Compare = (lambda truth, guess: compare(truth, fitted(truth, guess))) if fit else compare
    return best(claim, secret, compared, raw=True)


def _decibels(compare: Compare, truth: Float[Tensor, "b c h w"], guess: Float[Tensor, "b c h w"]) -> Scores:
    return compare(truth, guess).clamp(-LIMIT, LIMIT)


def _snr(truth: Float[Tensor, "b c h w"], guess: Float[Tensor, "b c h w"]) -> Scores:
    """Give the signal-to-noise ratio; NaN where there is no signal, as in a flat image that was normalised by image."""
    return torch.where(truth.flatten(1).any(1), similarity.snr(truth, guess), torch.nan)


def re_identified(claim: Reconstruction, secret: MixingSecret) -> Scores:
    """Tell whether the true image is more like the guess than all other private images, by absolute correlation.

    1 where it ranks first, ½ where it shares the first place with one other, else 0.
    """
    if claim.of == "any" or isinstance(claim, Matched):
        raise BadInput("guesses without an order are given to the images that they are most like: any would be.")
    private, places = secret.private, candidates(claim, secret)
    found = torch.full((len(places),), torch.nan)
    for rows in track(blocks(len(places), max(len(private), math.prod(private.shape)), 4 * BLOCK), "scoring"):
        alike = likeness(claim.images[rows], private)
        for column in places[rows].T:
            first = (2 - ranks(alike, column.clamp_min(0))).clamp_min(0)
            found[rows] = torch.fmax(found[rows], torch.where(column < 0, torch.nan, first))
    return found


def _comes_back(truth: Float[Tensor, "b c h w"], guess: Float[Tensor, "b c h w"]) -> Scores:
    """Tell whether a guess, or its negative, is all but the truth."""
    return (similarity.correlation(truth, guess).abs() >= COMES_BACK).double()


def _by_chance(claim: Reconstruction, secret: MixingSecret) -> Scores:
    """Give the share of private images that would be right."""
    ordered = candidates(claim, secret).sort(1).values
    distinct = 1 + (ordered[:, 1:] != ordered[:, :-1]).sum(1)
    return distinct / len(secret.private)


def _metric(meaning: str, score: Callable[..., Scores], compare: Compare, unit: str = "", **how: bool) -> Metric:
    limit = LIMIT if unit == "dB" else None
    higher = how.get("higher", True)
    return Metric(Reconstruction, partial(score, compare, **how), subjects, higher, unit, meaning, limit)


_SNR, _PSNR = partial(_decibels, _snr), partial(_decibels, partial(similarity.psnr, data_range=1.0))
_SSIM = partial(similarity.ssim, data_range=1.0)
_FIT = "once brightness and contrast are set to fit the truth"

METRICS = {
    "snr": _metric("signal-to-noise ratio of normalised pixels, 100 dB at most", _pixelwise, _SNR, "dB"),
    "psnr": _metric("peak signal-to-noise ratio of raw pixels in [0, 1], 100 dB at most", _picture, _PSNR, "dB"),
    "ssim": _metric("structural similarity of raw pixels, windows of 7×7", _picture, _SSIM),
    "ssim-gaussian": _metric("the same, Gaussian windows of 11×11", _picture, partial(_SSIM, window="gaussian")),
    "fitted-psnr": _metric(f"psnr {_FIT}", _picture, _PSNR, "dB", fit=True),
    "fitted-ssim": _metric(f"ssim {_FIT}", _picture, _SSIM, fit=True),
    "correlation": _metric("Pearson's correlation of normalised pixels", _pixelwise, similarity.correlation),
    "absolute-correlation": _metric(
        "the same of absolute values: signs need not be right", _pixelwise, similarity.absolute_correlation
    ),
    "recovered": _metric(
        f"the share of guesses whose correlation with the truth, or its negative, is {COMES_BACK} or more",
        _pixelwise,
        _comes_back,
        "share",
    ),
    "l2": _metric("distance to the truth, of normalised pixels", _pixelwise, similarity.l2, higher=False),
    "re-identified": Metric(
        Reconstruction,
        re_identified,
        subjects,
        True,
        "share",
        "the share of guesses that are more like their truth than like any other private image",
        chance=_by_chance,
    ),
}
