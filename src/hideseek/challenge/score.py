"""Scoring a submission as the authors of the challenge do: every row by its two private images."""

from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.challenge.files import Challenge, seal
from hideseek.errors import BadInput
from hideseek.hide.files.secret_files import read_secret
from hideseek.progress import track
from hideseek.records import Samples
from hideseek.records.mixing_secret import MixingSecret
from hideseek.similarity import ssim

BLOCK = 1024  # rows that are compared together


@dataclass(frozen=True)
class Scores:
    """Means over all rows of the largest and the mean SSIM, and of the smallest and the mean L2.

    SSIM is scikit-image's with its defaults (7×7 windows), on images of [0, 1]. L2 is the mean squared difference of
    pixels of [−1, 1]. The authors name the measures and publish no code: this L2 is the one that fits their figures.
    Where their best entry is right about one image, it leaves 0.54 for the other, and unrelated images of CIFAR-10 have
    0.49; their root mean square or their distance on [0, 1] would be 0.34 or 19.
    """

    max_ssim: float
    mean_ssim: float
    min_l2: float
    mean_l2: float


def sealed_secret(path: Path, challenge: Challenge) -> MixingSecret:
    """Read the secret of a challenge, and check that it is what was sealed."""
    if challenge.seal is None:
        raise BadInput(
            "this challenge has no challenge.json, so its secret is not known here: only its authors can score it."
        )
    secret = read_secret(path, challenge.digest)
    if seal(secret) != challenge.seal:
        raise BadInput(f"{path} is not the secret that was sealed when the challenge was made: it was changed.")
    return secret


def score(decryption: Float[Tensor, "rows c h w"], secret: MixingSecret) -> Scores:
    """Compare every row's image with all private images of that row."""
    private = raw_pixels(secret.private)
    likeness, distance = [], []
    for start in track(range(0, len(decryption), BLOCK), "scoring"):
        guess = decryption[start : start + BLOCK]
        truths = [private[column] for column in secret.sources[start : start + BLOCK].T]
        likeness.append(torch.stack([ssim(truth, guess, 1.0) for truth in truths], 1))
        distance.append(torch.stack([4 * (truth - guess).square().flatten(1).mean(1) for truth in truths], 1))
    ssims, squares = torch.cat(likeness).double(), torch.cat(distance).double()
    return Scores(
        float(ssims.amax(1).mean()), float(ssims.mean()), float(squares.amin(1).mean()), float(squares.mean())
    )


def raw_pixels(samples: Samples) -> Float[Tensor, "n c h w"]:
    """Give images as they were before they were normalised, of [0, 1]."""
    if samples.images.dtype == torch.uint8:
        return samples.images.float() / 255
    constants = samples.normalisation
    if constants.kind == "image":
        raise BadInput("the private images were normalised one by one, so that [0, 1] is not known: make it of bytes.")
    pixels = samples.pixels()
    if constants.kind == "none":
        return pixels
    mean, std = (torch.tensor(each).view(1, -1, 1, 1) for each in (constants.mean, constants.std))
    return pixels * std + mean
