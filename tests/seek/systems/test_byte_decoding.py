"""Rows of few embedded photographs: decoded by weights that are known, by those of the row itself, and not by noise."""

from functools import cache

import numpy as np
import pytest

from hideseek.chance import seeded
from hideseek.hide import InstaHide, Mixup
from hideseek.records import EncodedRelease
from hideseek.records.mixing_secret import MixingSecret
from hideseek.seek.systems.byte_decoding import decode_row
from hideseek.seek.systems.byte_prior import learn_prior, of_photographs
from hideseek.seek.systems.byte_rounding import Adding
from hideseek.seek.systems.byte_votes import Unknown
from hideseek.seek.systems.byte_weights import CONFIRMED, split_weights
from releases import photos


@cache
def hidden(k: int, masked: bool) -> tuple[EncodedRelease, MixingSecret]:
    private, _ = photos("channel")
    return (InstaHide(k=k) if masked else Mixup(k=k, largest=0.65)).hide(private, None, seeded(0))


def parts(k: int, masked: bool, row: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A row, its weights, the constants of its pixels, and its images, in bytes."""
    release, secret = hidden(k, masked)
    private = secret.private
    pixels = release.encoded.pixels(slice(row, row + 1))[0].numpy()
    truth = private.images[secret.sources[row]].numpy()
    return pixels, secret.weights[row].numpy(), private.scale[0].numpy(), private.shift[0].numpy(), truth


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("k", [2, 3])
def test_a_row_with_known_weights_is_decoded_to_the_byte(k: int, masked: bool) -> None:
    row, weights, scale, shift, truth = parts(k, masked, 0)
    decoded = decode_row(row, weights, scale, shift, masked=masked)
    assert decoded.exact
    assert decoded.sure
    assert (decoded.images == truth).mean() > 0.995


@pytest.mark.parametrize("adding", list(Adding))
def test_however_float32_adds_up(adding: Adding) -> None:
    """Rows made anew, by NumPy, in all ways but the fused ones, which it has not."""
    _, weights, scale, shift, truth = parts(3, False, 0)
    pixels = truth.astype(np.float32) * scale[:, None, None] + shift[:, None, None]
    if adding is Adding.DOUBLE:
        exact = truth * scale[:, None, None].astype(np.float64) + shift[:, None, None].astype(np.float64)
        row = np.einsum("k,kchw->chw", weights.astype(np.float64), exact).astype(np.float32)
    elif adding is Adding.PIXELS:
        row = weights[0] * pixels[0] + weights[1] * pixels[1] + weights[2] * pixels[2]
    elif adding is Adding.FACTORS:
        offset = np.zeros(3, np.float32)
        for weight in weights:
            offset = offset + weight * shift
        factors = (weights[:, None] * scale)[:, :, None, None]
        row = np.broadcast_to(offset[:, None, None], pixels.shape[1:])
        for j in range(3):
            row = row + factors[j] * truth[j].astype(np.float32)
    elif adding is Adding.FACTORS_FUSED:
        row = parts(3, False, 0)[0]
    else:
        exact = truth * scale[:, None, None].astype(np.float64) + shift[:, None, None].astype(np.float64)
        rounded = exact.astype(np.float32).astype(np.float64)
        row = np.zeros(rounded.shape[1:], np.float32)
        for weight, image in zip(weights, rounded, strict=True):
            product = np.float64(weight) * image
            product = product if adding is Adding.PIXELS_FUSED else product.astype(np.float32)
            row = (row + product).astype(np.float32)
    decoded = decode_row(row, weights, scale, shift)
    assert decoded.exact
    assert (decoded.images == truth).mean() > 0.99


@pytest.mark.parametrize(("error", "least"), [(0.0, 0.999), (1e-6, 0.99), (1e-5, 0.8)])
def test_what_is_known_beside_the_images_is_taken_out(error: float, least: float) -> None:
    """Public images, under the mask with the private ones, known exactly, and not quite."""
    private, public = photos("channel")
    release, secret = InstaHide(k=4, k_private=2).hide(private, public, seeded(0))
    row, weights = release.encoded.pixels(slice(2, 3))[0].numpy(), secret.weights[2].double()
    beside = (weights[2:, None, None, None] * public.pixels(secret.public_sources[2]).double()).sum(0).numpy()
    beside += error * np.random.default_rng(0).standard_normal(beside.shape)
    decoded = decode_row(
        row,
        secret.weights[2, :2].numpy(),
        private.scale[0].numpy(),
        private.shift[0].numpy(),
        beside,
        masked=True,
        tolerance=4 * error or None,
    )
    assert (decoded.images == private.images[secret.sources[2]].numpy()).mean() > least


def test_noise_and_wrong_weights_are_not_believed() -> None:
    row, weights, scale, shift, _ = parts(2, True, 0)
    noise = np.random.default_rng(0).standard_normal(row.shape).astype(np.float32)
    assert not decode_row(noise, weights, scale, shift, masked=True).sure
    wrong = weights + np.array([1e-3, -1e-3], np.float32)
    assert not decode_row(row, wrong, scale, shift, masked=True).sure
    row, weights, scale, shift, _ = parts(3, False, 0)
    assert not decode_row(row, weights[[1, 2, 0]] + np.float32(1e-4), scale, shift).sure


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("k", [2, 3])
def test_weights_of_one_class_are_found_to_the_bit(k: int, masked: bool) -> None:
    right = 0
    for number in range(4):
        row, weights, scale, shift, _ = parts(k, masked, number)
        total = float(np.float32(weights[0] + weights[1]))
        cases = [Unknown(total, tuple(weights[2:]))]
        if k == 3:  # the label does not tell which class two images have
            cases.append(Unknown(float(weights[2]), (np.float32(total),)))
        found = split_weights(row, cases, scale, shift, masked=masked)
        right += sorted(found.weights.tolist()) == sorted(weights.tolist()) and found.explained >= CONFIRMED
    assert right >= 3


def test_a_prior_knows_how_rough_images_are() -> None:
    generator = np.random.default_rng(0)
    smooth = np.cumsum(generator.integers(-1, 2, (20, 1, 16, 64)), axis=3) + 128
    rough = generator.integers(0, 256, (20, 1, 16, 64))
    scales = [float(learn_prior(each.astype(np.uint8)).differences[0, 0]) ** 0.5 for each in (smooth, rough)]
    assert scales[0] < 8
    assert scales[1] > 30


def test_a_prior_is_that_of_a_cauchy_law() -> None:
    """Steps that are Cauchy of scale 4, summed along rows that are long enough to be without limits."""
    steps = 4 * np.random.default_rng(0).standard_cauchy((400, 1, 1, 50))
    fitted = learn_prior(np.concatenate([np.zeros((400, 1, 1, 1)), np.cumsum(steps, 3)], 3).astype(np.float32))
    assert float(fitted.differences[0, 0]) ** 0.5 == pytest.approx(4, rel=0.05)


def test_priors_of_photographs_suit_any_number_of_channels() -> None:
    for channels in (1, 2, 3):
        prior = of_photographs(channels)
        assert prior.differences.shape == (channels, channels)
        assert np.linalg.eigvalsh(prior.differences).min() > 0
    colour = of_photographs(3).differences
    correlation = colour[0, 1] / np.sqrt(colour[0, 0] * colour[1, 1])
    assert correlation > 0.8  # colours change together
