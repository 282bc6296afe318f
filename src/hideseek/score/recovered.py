"""Whether a guess is the private image itself, and not only as smooth as it."""

import torch
from jaxtyping import Bool
from torch import Tensor

from hideseek import similarity
from hideseek.errors import BadInput
from hideseek.records import Reconstruction, Samples
from hideseek.records.secret import Secret
from hideseek.score.ground_truth import fitted
from hideseek.score.image_scores import Images, best, must_be_pictures
from hideseek.score.metric import Scores
from hideseek.score.smoothing import low_frequencies

CORRELATION, SSIM = 0.9, 0.8  # from which anybody would say that it is the same picture
LOW = 8  # frequencies of the cosine transform in each direction: those of a thumbnail of 8×8
BEYOND = 0.7  # the correlation beyond them: half of the variance there is explained
_NOTHING = 1e-6  # of the whole image, beyond its low frequencies: rounding


def recovered(claim: Reconstruction, secret: Secret) -> Scores:
    """Tell whether a guess is the private image: corr(x, x̂) ≥ 0.9 and SSIM(x, a x̂ + b) ≥ 0.8.

    a and b are the least squares fit, to raw pixels. A negative is not the image; under a mask of signs it counts,
    since images and their negatives give the same rows, and |corr| stands for corr. A simple image, which its own low
    frequencies would pass for by these two, is judged by what is beyond them too: the correlation must be 0.7 or more
    there. Where nothing is beyond them, as in a flat image, there is nothing to judge a guess by, and the score is NaN.

    0.7 and 8×8 are chosen by pairs of unrelated images: of those with a simple image 0.1 % (faces), 0.03 % (chest
    X-rays) and none (photographs, CIFAR-10, MNIST) reach 0.7 beyond 8×8.
    Deviation: images that are no pictures, or too small for its windows, have no SSIM, and features no frequencies.
    """
    pictures = are_pictures(secret.private)
    negatives = secret.masked

    def judged(truth: Images, guess: Images) -> Scores:
        return compare(truth, guess, pictures=pictures, negatives=negatives)

    return best(claim, secret, judged, raw=pictures)


def recovered_of_sure(claim: Reconstruction, secret: Secret) -> Scores:
    """Tell the same of the guesses that the attacker is sure of by himself; NaN for the others."""
    found = recovered(claim, secret)
    return found if claim.sure is None else torch.where(claim.sure, found, torch.nan)


def unsure(claim: Reconstruction, secret: Secret) -> str:
    """Say that an attack does not tell which guesses it is sure of, so that all would count."""
    return "the attack does not say which of its guesses it is sure of." if claim.sure is None else ""


def compare(truth: Images, guess: Images, *, pictures: bool, negatives: bool) -> Scores:
    """Tell for each pair whether the guess is the truth, or, with `negatives`, its negative."""
    good = _passes(truth, guess, pictures, negatives)
    if truth.shape[2:] == (1, 1):
        return good.double()
    low = low_frequencies(truth, LOW)
    beyond = truth - low
    close = good.nonzero()[:, 0]  # the others need no second look
    simple = close[_passes(truth[close], low[close], pictures, negatives)]
    there = guess[simple] - low_frequencies(guess[simple], LOW)
    good[simple] = likeness(beyond[simple], there, negatives) >= BEYOND
    nothing = beyond.flatten(1).norm(dim=1) <= _NOTHING * truth.flatten(1).norm(dim=1)
    return torch.where(nothing | guess.flatten(1).isnan().any(1), torch.nan, good.double())


def likeness(truth: Images, guess: Images, negatives: bool) -> Scores:
    """Give corr(x, x̂), or, where a negative counts too, its absolute value."""
    found = similarity.correlation(truth, guess)
    return found.abs() if negatives else found


def _passes(truth: Images, guess: Images, pictures: bool, negatives: bool) -> Bool[Tensor, " n"]:
    """Tell which guesses pass by correlation, and by fitted SSIM where there is one."""
    good = likeness(truth, guess, negatives) >= CORRELATION
    if pictures and min(truth.shape[2:]) >= similarity.UNIFORM:
        close = good.nonzero()[:, 0]
        fit = fitted(truth[close], guess[close], negatives=negatives)
        good[close] = similarity.ssim(truth[close], fit, data_range=1.0) >= SSIM
    return good


def are_pictures(private: Samples) -> bool:
    """Tell whether images have raw pixels in [0, 1]."""
    try:
        must_be_pictures(private)
    except BadInput:
        return False
    return True
