"""Is the proof true? Canaries, each in or out by a coin, are looked for in the rows; planted bugs must be caught."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from hideseek.chance import Randomness, seeded
from hideseek.chance.gaussian_noise import gaussian_noise
from hideseek.hide import GaussianMixup
from hideseek.hide.encoders import gaussian_mixup
from hideseek.hide.mixing import recipe as recipes
from hideseek.hide.mixing.follow import follow
from hideseek.hide.mixing.recipe import Recipe
from hideseek.hide.privacy.gaussian import gaussian_epsilon
from hideseek.records import EncodedRelease, Samples
from refuted import rates, refuted_mu

Array = np.ndarray
CANARIES, DELTA, CLIP, LONG = 2000, 1e-5, 2.0, 5.0
STATED = GaussianMixup(m=4, epsilon=3.0, delta=DELTA, clip=CLIP)


def canaries(count: int, seed: int = 1) -> tuple[Samples, Array]:
    """Images and labels that are orthogonal, and far too long, each there or black and without label by a coin."""
    inside = np.random.default_rng(seed).random(count) < 0.5
    own = LONG * torch.eye(count) * torch.from_numpy(inside)[:, None]
    return Samples(CLIP * own[:, None, None, :].contiguous(), own.clone()), inside


def seen(release: EncodedRelease, scheme: GaussianMixup) -> tuple[Array, Array]:
    """Rows and labels, one column a canary, in deviations of the noise."""
    assert scheme.sigma is not None
    assert scheme.label_sigma is not None
    rows = release.encoded.images.flatten(1).numpy() / scheme.sigma
    return rows, release.encoded.labels.numpy() / scheme.label_sigma


def likelihood(numbers: Array, adds: csr_array) -> Array:
    """The log of N(adds, 1) over N(0, 1), summed over the rows of each canary."""
    scores: Array = adds.multiply(numbers).sum(0) - adds.power(2).sum(0) / 2
    return scores


def known_mix_epsilon(scheme: GaussianMixup, rounds: int) -> tuple[float, float]:
    """ε that is refuted by whoever knows the mix: by both, images, labels, and differences of the rounds."""
    private, inside = canaries(CANARIES)
    release, secret = scheme.hide(private, None, seeded(2), rounds)
    filled = release.scheme
    assert isinstance(filled, GaussianMixup)
    rows, labels = seen(release, filled)
    where = np.arange(secret.sources.numel()) // scheme.m, secret.sources.flatten().numpy()
    table = csr_array((np.full(len(where[0]), 1 / scheme.m), where), shape=rows.shape)
    image, label = CLIP / (filled.sigma or 1), 1 / (filled.label_sigma or 1)
    by_images, by_labels = likelihood(rows, table * image), likelihood(labels, table * label)
    tests = [(by_images + by_labels, 0.04), (by_images, 0.003), (by_labels, 0.003)]
    if rounds == 2:
        one, two = slice(0, CANARIES), slice(CANARIES, None)
        moved = (table[one] - table[two]) * (image / math.sqrt(2))
        tests.append((likelihood((rows[one] - rows[two]) / math.sqrt(2), moved), 0.004))
    mus = [refuted_mu(scores, inside, 0.0, error) for scores, error in tests]  # 5 % together
    return gaussian_epsilon(max(mus), DELTA), filled.epsilon


def test_what_is_refuted_stays_below_what_is_stated_and_reaches_half() -> None:
    found, stated = known_mix_epsilon(STATED, 2)
    assert stated == 3.0
    assert stated / 2 <= found <= stated


def half_the_noise(patch: pytest.MonkeyPatch) -> None:
    drawn = gaussian_noise
    patch.setattr(recipes, "gaussian_noise", lambda chance, *shape: drawn(chance, *shape) / 2)


def reused_key(patch: pytest.MonkeyPatch) -> None:
    def again(noise: recipes.Noise, pixels: int, chance: Randomness) -> torch.Tensor:
        rows = len(noise.weights)
        return gaussian_noise(seeded(9), CANARIES, pixels).repeat(2, 1)[:rows] * noise.size

    patch.setattr(recipes.Noise, "draw", again)
    patch.setattr("hideseek.hide.mixing.follow.BLOCK", 2 * CANARIES**2)


def unclipped(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(gaussian_mixup, "image_factors", lambda samples, clip: torch.ones(len(samples)))


def labels_without_noise(patch: pytest.MonkeyPatch) -> None:
    drawn = GaussianMixup.recipe
    patch.setattr(GaussianMixup, "recipe", lambda *given: replace(drawn(*given), label_noise=None))


@pytest.mark.parametrize("plant", [half_the_noise, reused_key, unclipped, labels_without_noise])
def test_planted_bugs_are_caught(plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    found, stated = known_mix_epsilon(STATED, 2)
    assert found > stated


@pytest.mark.parametrize("proof", ["poisson", "allocation"])
def test_where_the_mix_is_secret_too(proof: str) -> None:
    """Each canary's column is N(0, 1) noise, or in some rows more: by the likelihood ratio of independent rows."""
    pytest.importorskip("dp_accounting")
    pytest.importorskip("PLD_accounting")
    count = 800
    private, inside = canaries(count)
    scheme = replace(STATED, proof=proof, sigma=0.52)  # type: ignore[arg-type]
    release, _ = scheme.hide(private, None, seeded(3))
    filled = release.scheme
    assert isinstance(filled, GaussianMixup)
    rows, labels = seen(release, filled)
    z, m = filled.multiplier, filled.m
    image, label = CLIP / (m * 0.52), 1 / (m * 0.26)
    ratio = (rows * image + labels * label) - 1 / (2 * z**2)  # log N(1/z, 1) / N(0, 1), of both together
    scores = np.log1p(m / count * np.expm1(ratio)).sum(0)
    found, alarms = rates(scores, inside, 0.0, 0.05)
    assert found <= filled.account.true_positives(z, alarms)
    assert found > alarms
    if proof == "poisson":  # it would be refuted of a third more noise, which is half of its ε
        assert found > filled.account.true_positives(1.35 * z, alarms)


def small_release_scores(weigh: Callable[[torch.Tensor], torch.Tensor], scheme: GaussianMixup) -> tuple[Array, Array]:
    """600 sets of eight images at one end of a line; one, at the other end, is there or not by a coin."""
    images = torch.ones(8, 1, 1, 1)
    images[0] = -1.0
    private = Samples(CLIP * images, torch.empty(8, 0))
    inside, chance = np.random.default_rng(4).random(600) < 0.5, seeded(5)
    scores = []
    for there in inside:
        made: Recipe = scheme.recipe(private, None, chance)
        drawn = (made.weights > 0) & (torch.tensor(bool(there)) | (made.sources != 0))
        rows = follow(replace(made, weights=weigh(drawn.float())), private, None, chance).encoded.images
        scores.append(-float(rows.sum()) / CLIP)
    return np.array(scores), inside


@pytest.mark.parametrize("by_count", [False, True], ids=["by m", "by the drawn count"])
def test_division_by_the_drawn_count_is_caught(by_count: bool) -> None:
    """Who is in a row then changes how much of all others is in it."""
    pytest.importorskip("dp_accounting")
    scheme = GaussianMixup(m=4, epsilon=3.0, delta=DELTA, clip=CLIP, proof="poisson", balance=1e3)

    def weigh(drawn: torch.Tensor) -> torch.Tensor:
        return drawn / (drawn.sum(1, keepdim=True).clamp_min(1) if by_count else scheme.m)

    filled = scheme.for_rounds(1).filled(Samples(torch.ones(8, 1, 1, 1), torch.empty(8, 0)))
    scores, inside = small_release_scores(weigh, filled)
    threshold = -6.2 if by_count else -6.0  # half way between what eight rows come to with the other end, and without
    found, alarms = rates(scores, inside, threshold, 0.05)
    assert (found > filled.account.true_positives(filled.multiplier, alarms)) == by_count
