"""What is proved of sums of clipped images under Gaussian noise, as a release states it, and what its rows come to."""

import math

import torch

from hideseek.hide.mixing.clipping import image_factors, label_factors
from hideseek.hide.privacy.calibration import LEAST, Account
from hideseek.hide.privacy.gaussian import gaussian_mu
from hideseek.records import Bound, Effective, EncodedRelease, Release, Samples
from hideseek.records.mixing_secret import MixingSecret
from hideseek.records.secret import Secret

CHUNK = 256  # rows that are looked at together
FEW = 0.01  # the FPR and the prior that guarantees are stated at
MOST = 1e12  # ε that is told
THEOREMS = {
    "known-mix": "Gaussian mechanism (W: the mix may be known)",
    "poisson": "Poisson-subsampled Gaussian mechanism (P: the mix is secret)",
    "allocation": "Gaussian mechanism with random allocation (A: the mix is secret)",
}
OUTSIDE = (
    "outside the proof are the channel statistics of the normalisation, the number of images, the extractor of"
    " features, and the number and names of the classes"
)


def guarantees(account: Account, multiplier: float, delta: float) -> tuple[Bound, ...]:
    """Say what is proved at this noise: ε at δ for both neighbouring relations, μ, TPR at FPR, reconstruction."""
    theorem, rounds = THEOREMS[account.proof], account.rounds
    epsilon = account.epsilon(multiplier, delta)
    over = f"over all {rounds} rounds" if rounds > 1 else "in one round"
    told = Bound(
        theorem,
        f"ε at δ = {delta:g}, of an image with its label that is added or left out, {over},",
        up(min(MOST, epsilon)),
        OUTSIDE,
    )
    bounds = [told]
    if account.proof == "known-mix" or multiplier / 2 >= LEAST:
        replaced = min(MOST, account.epsilon(multiplier / 2, delta))
        limits = "to replace one image moves the sums twice as far as to leave it out"
        bounds.append(
            Bound(theorem, f"ε at δ = {delta:g}, of an image that is replaced by another,", up(replaced), limits)
        )
    if account.proof == "known-mix":
        limits = "rounds add up as μ² = Σ μ²"
        bounds.append(Bound(theorem, "μ of every image", up(account.mu(multiplier)), limits))
    else:
        mu = gaussian_mu(epsilon, delta)
        limits = "it stands for the Gaussian mechanism with the same ε at this δ alone, and does not add up"
        bounds.append(Bound(theorem, "μ at this ε and δ", up(mu), limits))
    found = account.true_positives(multiplier, FEW)
    tests = "it holds whatever else the attacker knows of the image" + (
        "" if account.proof == "known-mix" else ", unless he knows which images are in which row"
    )
    bounds += [
        Bound(theorem, "the TPR of any test for membership, at an FPR of 1 %,", up(found), tests),
        Bound(
            theorem, "the chance to reconstruct an image that is guessed with a chance of 1 % before", up(found), tests
        ),
    ]
    return tuple(bounds)


def up(value: float) -> float:
    """Round up to four digits, so that what is told still holds.

    >>> up(0.71891), up(2.9999999999), up(0.0)
    (0.719, 3.0, 0.0)
    """
    if value <= 0:
        return 0.0
    digits = 3 - math.floor(math.log10(value))
    return float(math.ceil(value * 10.0**digits - 1e-6) / 10.0**digits)


def measured(
    account: Account,
    m: int,
    delta: float,
    stated: tuple[float, float, float, float],
    clips: tuple[float, float],
    release: Release,
    secret: Secret,
) -> tuple[Effective, ...]:
    """Measure the noise of rows and labels, the ε that it comes to, and the largest μ of an image.

    `stated` are ε, z, σx and σy. μ_i = ‖W_i‖ √(‖x_i‖²/σx² + ‖y_i‖²/σy²), with the image and its label as they were
    clipped; only the owner may know it.
    """
    assert isinstance(release, EncodedRelease) and isinstance(secret, MixingSecret)  # noqa: S101, PT018 (its own)
    epsilon, multiplier, sigma, label_sigma = stated
    private = secret.private
    on_labels = label_factors(private, clips[1]) / m
    squares, label_squares = 0.0, 0.0
    for rows in torch.arange(secret.items).split(CHUNK):
        part = secret.rows(rows)
        pixels = private.pixels(part.sources.flatten()).flatten(1).view(*part.sources.shape, -1)
        rest = release.encoded.pixels(rows).flatten(1) - (part.weights[:, :, None] * pixels).sum(1)
        weights = (part.weights > 0) * on_labels[part.sources]
        label_rest = release.encoded.labels[rows] - (weights[:, :, None] * private.labels[part.sources]).sum(1)
        squares += float(rest.double().square().sum())
        label_squares += float(label_rest.double().square().sum())
    noise = math.sqrt(squares / release.encoded.images.numel())
    found = [Effective("noise", sigma, noise, "the deviation of the noise on a number of a row")]
    ratio = (clips[0] / max(m * noise, 1e-30)) ** 2
    if label_sigma and private.labels.shape[1]:
        label_noise = math.sqrt(label_squares / release.encoded.labels.numel())
        found.append(Effective("label noise", label_sigma, label_noise, "the deviation of the noise on a label"))
        ratio += (clips[1] / max(m * label_noise, 1e-30)) ** 2
    if account.proof == "known-mix" or 1 / math.sqrt(ratio) >= LEAST:
        spent = min(MOST, account.epsilon(1 / math.sqrt(ratio), delta))
        found.append(Effective("epsilon", epsilon, spent, f"ε at δ = {delta:g}, by the noise measured in the rows"))
    if account.proof == "known-mix":
        mus = image_mus(private, secret, m, clips, (sigma, label_sigma))
        meaning = "the largest μ of an image as long as it is, beside that of the longest that may be"
        found.append(Effective("mu", account.mu(multiplier), float(mus.max()), meaning))
    return tuple(found)


def image_mus(
    private: Samples, secret: MixingSecret, m: int, clips: tuple[float, float], sigmas: tuple[float, float]
) -> torch.Tensor:
    """Give μ_i of every image, by how often it was used and how long it is."""
    used = torch.bincount(secret.sources[secret.weights > 0], minlength=len(private)).double() / m**2
    lengths = torch.cat(
        [private.pixels(slice(i, i + CHUNK)).flatten(1).norm(dim=1) for i in range(0, len(private), CHUNK)]
    )
    images = (lengths * image_factors(private, clips[0]) / sigmas[0]).double().square()
    labels = (private.labels.norm(dim=1) * label_factors(private, clips[1])).double().square()
    return (used * (images + (labels / sigmas[1] ** 2 if sigmas[1] else 0.0))).sqrt()
