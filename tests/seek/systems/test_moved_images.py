"""Solving for moved images: squares, signs, places and pixels, on mixtures whose truth is known."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from hideseek.chance import seeded
from hideseek.records import Samples
from hideseek.records.moving import moved
from hideseek.seek.signals.shifted_maps import Shifts
from hideseek.seek.signals.whitening import Whitening
from hideseek.seek.systems.moved_frames import centred_images, centred_templates, middle
from hideseek.seek.systems.moved_mixtures import MovedMixtures
from hideseek.seek.systems.moved_refit import Target, fits
from hideseek.seek.systems.moved_signs import energies, pooled, signed_images
from hideseek.seek.systems.moved_solve import from_white, likeliest
from hideseek.similarity import correlation

SHIFTS = Shifts(16, 16, 2, 2, True)
NOTHING = torch.zeros(1, 1, 1, 1)


def smooth(count: int, seed: int) -> torch.Tensor:
    """Smooth images of two channels, which are nearly alike, as colours are."""
    noise = torch.from_numpy(np.random.default_rng(seed).standard_normal((count, 2, 16, 16), dtype=np.float32))
    images = pooled(0.3 * noise + noise.mean(1, keepdim=True), 5)
    return images / images.std()


def problem(rows: int = 160, count: int = 6) -> tuple[torch.Tensor, MovedMixtures]:
    generator = np.random.default_rng(0)
    sources = np.stack([generator.permutation(count)[:2] for _ in range(rows)])
    first = torch.from_numpy(generator.uniform(0.3, 0.7, (rows, 1)).astype(np.float32))
    places = torch.from_numpy(generator.integers(0, SHIFTS.count, (rows, 2)))
    weights = torch.cat([first, 1 - first], 1)
    return smooth(count, 1), MovedMixtures(torch.from_numpy(sources), weights, SHIFTS.moves(places))


def likeness(truth: torch.Tensor, found: torch.Tensor) -> float:
    return float(correlation(truth.reshape(1, 1, 1, -1), found.reshape(1, 1, 1, -1)).abs())


def spectrum() -> Whitening:
    images = smooth(300, 9)
    return Whitening.of(Samples(images, torch.empty(300, 0)))


def test_rows_are_sums_of_moved_images() -> None:
    images, mixtures = problem(5)
    for row in range(5):
        expected = sum(
            mixtures.weights[row, slot]
            * moved(images[None, mixtures.sources[row, slot]], mixtures.moves[None, row, slot])
            for slot in range(2)
        )
        torch.testing.assert_close(mixtures.mixed(images)[row], expected[0])  # type: ignore[index]
    loads = [float((mixtures.weights**2)[mixtures.sources == image].sum()) for image in range(6)]
    np.testing.assert_allclose(mixtures.load(2, 6).flatten(), loads, rtol=1e-5)


def test_squares_then_signs_then_pixels() -> None:
    images, mixtures = problem()
    rows = mixtures.mixed(images).abs()
    energy = energies(rows.square(), mixtures, 6, NOTHING.expand(160, 1, 1, 1))
    assert likeness(images.square(), energy) > 0.7
    signed, _ = signed_images(rows.square(), mixtures, energy, NOTHING.expand(160, 1, 1, 1), 8, seeded(0))
    assert likeness(images, signed) > 0.7
    found, _, left = likeliest(rows, mixtures, signed, spectrum(), 80, masked=True)
    assert likeness(images, found) > 0.97
    assert float(left.mean()) < 0.1 * float(rows.square().mean())


def test_without_a_mask_no_signs_are_needed() -> None:
    images, mixtures = problem(60)
    found, _, _ = likeliest(mixtures.mixed(images), mixtures, torch.zeros_like(images), spectrum(), 80, masked=False)
    assert float(correlation(images, found).min()) > 0.97


def test_shifts_by_parts_of_a_pixel_are_found() -> None:
    images, mixtures = problem(60)
    true = mixtures.moves.clone()
    generator = np.random.default_rng(2)
    true[..., 2] += torch.from_numpy(generator.uniform(-0.5, 0.5, (60, 2, 2)).astype(np.float32)) / 8
    rows = replace(mixtures, moves=true).mixed(images)
    _, found, _ = likeliest(rows, mixtures, images, spectrum(), 100, masked=False)
    before, after = ((moves - true)[..., 2].abs().mean() for moves in (mixtures.moves, found.moves))
    assert float(after) < 0.5 * float(before)


def test_white_images_have_their_spectrum() -> None:
    shape = spectrum()
    images = smooth(3, 4)
    torch.testing.assert_close(
        from_white(shape.spectrum(images) / shape.deviations, shape), images, atol=1e-4, rtol=1e-4
    )


@pytest.mark.parametrize("masked", [True, False])
def test_an_image_is_found_in_its_row_beside_the_other(masked: bool) -> None:
    images, mixtures = problem(40)
    rows = mixtures.mixed(images)
    values = rows.square() if masked else rows
    white = Whitening.of(Samples(values - values.mean(0), torch.empty(40, 0)))
    target = Target(values, white, masked)
    start = smooth(1, 5).expand(40, -1, -1, -1)
    assert float((target.white(start) * values).sum()) == pytest.approx(
        float((start * target.white.transposed(values)).sum()), rel=1e-3
    )
    lost = mixtures.moves.clone()
    lost[:, 0] = SHIFTS.moves(torch.zeros(40, dtype=torch.int64))  # where the first is, is not known any more
    weights = torch.zeros(40, 6).scatter_(1, mixtures.sources, mixtures.weights).clamp_min(0.5)
    weights.scatter_(1, mixtures.sources, mixtures.weights)
    allowed = torch.ones(40, 6, dtype=torch.bool).scatter_(1, mixtures.sources[:, 1:], False)
    placed = replace(mixtures, moves=lost)
    found = fits(target, images, placed, weights, allowed, SHIFTS)
    assert float((found.scores.argmax(1) == mixtures.sources[:, 0]).float().mean()) > 0.9
    first = found.moves[torch.arange(40), mixtures.sources[:, 0]]
    assert float((first - mixtures.moves[:, 0]).abs().amax((1, 2)).le(1e-4).float().mean()) > 0.9


def test_the_middle_of_shifts() -> None:
    shifts = torch.linspace(-1.5, 4.5, 41)
    assert middle(shifts, torch.ones(41), 3.0) == pytest.approx(1.5, abs=0.01)
    mistaken = torch.cat([shifts, torch.tensor([-6.0])])
    assert middle(mistaken, torch.ones(42), 3.0) == pytest.approx(1.5, abs=0.2)


def test_frames_are_moved_to_the_middle() -> None:
    images, mixtures = problem(400, 4)
    rows = mixtures.mixed(images)
    off = torch.tensor([[1.0, -1.0], [0.0, 1.0], [0.5, 0.0], [0.0, 0.0]]) / 8
    there = torch.eye(2, 3).repeat(4, 1, 1)
    there[..., 2] = off
    moves = mixtures.moves.clone()
    moves[..., 2] -= off[mixtures.sources]
    again, frames = centred_images(moved(images, there), replace(mixtures, moves=moves), torch.ones(400), (2, 2))
    assert float((frames.moves - mixtures.moves)[..., 2].abs().max()) * 8 < 0.3
    inside = (slice(None), slice(None), slice(3, -3), slice(3, -3))
    assert float(correlation(images[inside], again[inside]).min()) > 0.9
    assert rows.shape == frames.mixed(again).shape
    everywhere = torch.zeros(4, 400, 2, 3)
    everywhere[mixtures.sources, torch.arange(400)[:, None]] = moves
    centred = centred_templates(everywhere, mixtures.sources, torch.ones(400, 4), (2, 2), (16, 16))
    error = (centred[mixtures.sources, torch.arange(400)[:, None]] - mixtures.moves)[..., 2]
    assert float(error.abs().max()) * 8 <= 1.0
