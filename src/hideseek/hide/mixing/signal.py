"""What the rows of a release are made of, told from the ground truth: the signal of each, and the rest of it."""

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.records import EncodedRelease, Release
from hideseek.records.mixing_secret import MixingSecret
from hideseek.records.moving import moved
from hideseek.records.secret import Secret

CHUNK = 1024  # rows that are looked at together
TINY = 1e-30  # a rest of nothing: black images without noise


def signal_and_rest(
    release: Release, secret: Secret
) -> Iterator[tuple[Float[Tensor, "n pixels"], Float[Tensor, "n pixels"]]]:
    """Give, some rows at a time, the signal S_r = λ_r1 x_{s_r1} and the rest I_r = σ_r ∘ x̃_r − S_r.

    The signal is what a row has of the image that it was made for, as it was mixed: normalised, and moved where images
    were moved. The rest is all else: other images and noise (Singularized Mixup, Theorem 4.2: S_i and I_i).
    """
    assert isinstance(release, EncodedRelease)  # noqa: S101 (made by a scheme that mixes)
    assert isinstance(secret, MixingSecret)  # noqa: S101 (and so is its secret)
    for rows in torch.arange(secret.items).split(CHUNK):
        part = secret.rows(rows)
        images = secret.private.pixels(part.sources[:, 0])
        if part.transforms is not None:
            images = moved(images, part.transforms[:, 0])
        signal = part.weights[:, 0, None] * images.flatten(1)
        shared = release.encoded.pixels(rows) * part.signs()
        yield signal, shared.flatten(1) - signal


def signal_to_rest(release: Release, secret: Secret) -> float:
    """Measure E‖S‖² / E‖I‖² over the rows of a release."""
    signals, rests = 0.0, 0.0
    for signal, rest in signal_and_rest(release, secret):
        signals += float(signal.double().square().sum())
        rests += float(rest.double().square().sum())
    return signals / max(rests, TINY)
