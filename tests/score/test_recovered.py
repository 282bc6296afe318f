"""Recovered: by SciPy and scikit-image; what is the image, and what is only as smooth as it."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.fft import dctn, idctn
from skimage.metrics import structural_similarity

from hideseek.chance import seeded
from hideseek.data import load
from hideseek.records import Evidence, Reconstruction, Samples
from hideseek.records.mixing_secret import MixingSecret
from hideseek.score.judge import judge
from hideseek.score.metrics import METRICS
from hideseek.score.recovered import compare
from hideseek.score.smoothing import blurred, low_frequencies
from score.updates import UpdatesSecret

Array = NDArray[np.float64]


def low(image: Array, count: int = 8) -> Array:
    waves = dctn(image, axes=(1, 2), norm="ortho")
    waves[:, count:], waves[:, :, count:] = 0, 0
    kept: Array = idctn(waves, axes=(1, 2), norm="ortho")
    return kept


def passes(truth: Array, guess: Array) -> bool:
    slope, offset = np.polyfit(guess.ravel(), truth.ravel(), 1)
    alike = structural_similarity(truth, slope * guess + offset, channel_axis=0, data_range=1)
    return bool(np.corrcoef(truth.ravel(), guess.ravel())[0, 1] >= 0.9 and alike >= 0.8)


def reference(truth: Array, guess: Array) -> float:
    if not passes(truth, guess):
        return 0.0
    if not passes(truth, low(truth)):
        return 1.0
    beyond = np.corrcoef((truth - low(truth)).ravel(), (guess - low(guess)).ravel())[0, 1]
    return float(beyond >= 0.7)


def secret_of(private: Samples) -> UpdatesSecret:
    return UpdatesSecret(private, torch.arange(len(private))[:, None])


def scores(guesses: torch.Tensor, private: Samples) -> list[float]:
    claim = Reconstruction(guesses, torch.arange(len(guesses)), "images")
    return METRICS["recovered"].score(claim, secret_of(private)).tolist()


@pytest.fixture(scope="module")
def faces() -> Samples:
    """A hundred and sixty pictures of 25×25 pixels, half of them faces, half what is behind faces."""
    return load("faces")


def test_by_scipy_and_scikit_image(faces: Samples) -> None:
    """Copies under noise and blur of different strength, some turned over."""
    pixels = faces.pixels()
    generator = np.random.default_rng(0)
    noise = torch.from_numpy(generator.standard_normal(pixels.shape)).float()
    level = torch.from_numpy(generator.choice([0.0, 0.01, 0.02, 0.05], len(pixels))).float()[:, None, None, None]
    smooth = torch.stack([blurred(pixels, 1), blurred(pixels, 3), blurred(pixels, 5), low_frequencies(pixels, 8)])
    guesses = smooth[torch.arange(len(pixels)) % 4, torch.arange(len(pixels))] + level * noise
    guesses[::3] = 0.2 + 0.5 * guesses[::3]
    guesses[::7] = 1 - guesses[::7]
    expected = [reference(x, g) for x, g in zip(pixels.double().numpy(), guesses.double().numpy(), strict=True)]
    assert scores(guesses, faces) == expected
    assert 0.25 < np.mean(expected) < 0.75


def test_a_copy_is_recovered_in_other_brightness_and_a_negative_is_no_copy(faces: Samples) -> None:
    pixels = faces.pixels()
    for guesses in (pixels, 0.2 * pixels + 3):
        assert min(scores(guesses, faces)) == 1
    assert max(scores(1 - pixels, faces)) == 0


def test_a_negative_has_no_fitted_likeness(faces: Samples) -> None:
    """The best fit of a negative, whose contrast may not be turned over, is the mean: it is as good as that."""
    pixels = faces.pixels()
    about = torch.arange(len(pixels))
    flat = torch.full_like(pixels, 0.5)
    for metric in ("fitted-ssim", "fitted-psnr"):
        negative, mean, copy = (
            METRICS[metric].score(Reconstruction(guess, about, "images"), secret_of(faces))
            for guess in (1 - pixels, flat, 0.5 * pixels)
        )
        assert torch.allclose(negative, mean, atol=1e-4)
        assert (copy > mean).all()


def test_an_image_without_its_details_is_not(faces: Samples) -> None:
    """A thumbnail of 8×8 passes by correlation and SSIM for two images of five, and for none by what is beyond it."""
    pixels = faces.pixels().double().numpy()
    assert np.mean([passes(image, low(image)) for image in pixels]) > 0.35
    assert max(scores(low_frequencies(faces.pixels(), 8), faces)) == 0
    assert np.mean(scores(blurred(faces.pixels(), 5), faces)) < 0.05


def test_a_smooth_background_is_not_another_one() -> None:
    """Slopes under fine grain of their own: 99 % of their variance is the same."""
    slope = torch.linspace(0.2, 0.8, 24).expand(40, 1, 24, 24)
    images = slope + 0.01 * seeded(0).normals(40, 1, 24, 24)
    assert passes(*images[:2].double().numpy())
    private = Samples(images, torch.empty(40, 0))
    assert scores(images.roll(1, 0), private) == [0] * 40
    assert scores(images + 0.002 * seeded(1).normals(*images.shape), private) == [1] * 40


def test_unrelated_images_are_not_recovered(faces: Samples) -> None:
    """Of all pairs of different faces at most one in five thousand: 25,440, of which none to five were seen."""
    first, second = (each.flatten() for each in torch.meshgrid(torch.arange(160), torch.arange(160), indexing="ij"))
    pixels = faces.pixels()
    found = compare(pixels[first], pixels[second], pictures=True, negatives=True)[first != second]
    assert float(found.sum()) <= 5


def test_where_nothing_is_beyond_the_low_frequencies_there_is_nothing_to_judge() -> None:
    flat = torch.full((2, 1, 12, 12), 0.5)
    wave = 0.5 + 0.4 * torch.cos(np.pi * (torch.arange(12) + 0.5) / 12).expand(1, 1, 12, 12)
    private = Samples(torch.cat([flat, wave]), torch.empty(3, 0))
    assert np.isnan(scores(private.pixels(), private)).all()


def test_images_that_are_no_pictures_are_judged_by_correlation() -> None:
    features = Samples(seeded(0).normals(4, 50, 1, 1), torch.empty(4, 0))
    maps = Samples(seeded(1).normals(4, 2, 12, 12), torch.empty(4, 0))
    small = Samples(seeded(2).uniforms(4, 1, 5, 5).float(), torch.empty(4, 0))
    for private in (features, maps, small):
        deviation = private.pixels().flatten(1).std(1)[:, None, None, None]
        for level, expected in ((0.2, 1), (1.0, 0)):
            noise = level * deviation * seeded(3).normals(*private.images.shape)
            assert scores(private.pixels() + noise, private) == [expected] * 4


def test_of_a_few_images_all_pairs_tell_how_often_unrelated_ones_pass(faces: Samples) -> None:
    """Five images have 20 ordered pairs, so that five hits have the chance (1/21)⁵."""
    private = faces.take(torch.tensor([3, 30, 60, 90, 120]))
    claim = Reconstruction(private.pixels(), torch.arange(5), "images")
    chance = METRICS["recovered"].chance
    assert chance is not None
    assert chance(claim, secret_of(private)).tolist() == pytest.approx([1 / 21] * 5)
    (score,) = judge(Evidence((claim,)), secret_of(private), seeded(0), ["recovered"]).scores
    assert score.best_baseline == "chance"
    assert score.significance is not None
    assert score.significance.p_value == pytest.approx(21.0**-5)


def test_the_rate_counts_pairs_and_chances(faces: Samples) -> None:
    """Two copies among eight images are 2 of 56 ordered pairs; matched guesses choose among all: 2 of 8 images."""
    private = faces.take(torch.tensor([3, 3, 30, 50, 60, 90, 120, 150]))
    secret = secret_of(private)
    chance = METRICS["recovered"].chance
    assert chance is not None
    about = torch.arange(8)
    claim = Reconstruction(private.pixels(), about, "images")
    assert chance(claim, secret).tolist() == pytest.approx([3 / 57] * 8)
    assert chance(replace(claim, of="any"), secret).tolist() == pytest.approx([3 / 9] * 8)
    pairs = UpdatesSecret(private, torch.tensor([[0, 1], [2, -1]]))
    items = Reconstruction(private.pixels(slice(0, 2)), torch.arange(2))
    assert chance(items, pairs).tolist() == pytest.approx([1 - (54 / 57) ** 2, 3 / 57])


def test_many_images_are_compared_in_part(faces: Samples) -> None:
    """4,000 of 25,440 pairs, and never an image with itself, which would pass: 25 of them among as many at random."""
    claim = Reconstruction(faces.pixels(), torch.arange(160), "images")
    chance = METRICS["recovered"].chance
    assert chance is not None
    (rate,) = chance(claim, secret_of(faces)).unique().tolist()
    assert 0.999 / 4001 <= rate <= 4 / 4001


def test_masked_rows_do_not_change_what_is_recovered(secret: MixingSecret) -> None:
    claim = Reconstruction(secret.private.pixels(), torch.arange(24), "images")
    assert secret.masked
    assert METRICS["recovered"].score(claim, secret).tolist() == [1] * 24
    negative = replace(claim, images=-claim.images)  # which gives the same rows
    assert METRICS["recovered"].score(negative, secret).tolist() == [1] * 24
    folded = replace(claim, images=claim.images.abs())
    assert METRICS["recovered"].score(folded, secret).sum() == 0
