"""Signs of rows from all pixels, and images from such rows, against sums over all signs and NumPy's solutions."""

import itertools

import numpy as np
import pytest
import torch

from hideseek.chance import seeded
from hideseek.hide import InstaHide
from hideseek.records import Samples
from hideseek.seek.signals.row_slots import RowSlots
from hideseek.seek.systems import row_signs
from hideseek.seek.systems.image_spectrum import ImageSpectrum
from hideseek.seek.systems.local_solve import LEAST, local_weights, locally_solved
from hideseek.seek.systems.mixtures import Mixtures
from hideseek.seek.systems.phase_retrieval import FLOOR, LAST_ERROR, PhaseProblem
from hideseek.seek.systems.row_signs import expected_rows
from hideseek.seek.systems.signed_pair_scores import signed_pair_scores
from hideseek.seek.systems.signed_solve import with_signs
from hideseek.similarity import correlation
from releases import photos, unknown_rows
from toys import images as toy_images


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape, dtype=np.float32))


def smooth_spectrum(shape: tuple[int, int, int]) -> ImageSpectrum:
    return ImageSpectrum.usual(shape, 1.0)


def exactly(magnitudes: torch.Tensor, mean: torch.Tensor, unknown: float, spectrum: ImageSpectrum) -> np.ndarray:
    """E s by the sum over all signs."""
    pixels = magnitudes.numel()
    power = spectrum.basis.deviations.square()
    scale = (unknown * (power + row_signs.WHITE * power.mean())).sqrt()
    factor = spectrum.basis.images(torch.eye(pixels).view(-1, *magnitudes.shape) * scale).flatten(1).double().numpy()
    precision = np.linalg.inv(factor.T @ factor)
    rows = np.array(list(itertools.product((-1, 1), repeat=pixels))) * magnitudes.flatten().double().numpy()
    away = rows - mean.flatten().double().numpy()
    logs = -np.einsum("ri,ij,rj->r", away, precision, away) / 2
    chances = np.exp(logs - logs.max())
    answer: np.ndarray = chances @ rows / chances.sum()
    return answer


def test_expected_rows_are_nearly_those_of_all_signs() -> None:
    spectrum = smooth_spectrum((1, 3, 4))
    factor = spectrum.basis.images(draw(40, 1, 3, 4) * spectrum.basis.deviations)
    mean = spectrum.basis.images(draw(40, 1, 3, 4, seed=1) * spectrum.basis.deviations)
    rows = mean + 0.6 * factor
    found = expected_rows(rows.abs(), mean, torch.full((40,), 0.36), spectrum).flatten(1).numpy()
    pairs = zip(rows.abs(), mean, strict=True)
    truth = np.stack([exactly(row, known, 0.36, spectrum) for row, known in pairs])
    alone = (rows.abs() * torch.tanh(rows.abs() * mean / 0.36)).flatten(1).numpy()
    assert np.square(found - truth).mean() < 0.5 * np.square(alone - truth).mean()
    assert np.corrcoef(found.ravel(), truth.ravel())[0, 1] > 0.97


def test_all_pixels_tell_more_signs_than_each_alone() -> None:
    rows, mean, mixtures, spectrum = unknown_rows()
    unknown = torch.full((len(rows),), 0.4**2)
    signed = expected_rows(rows.abs(), mean, unknown, spectrum)
    plain, better = (float((values * rows > 0).float().mean()) for values in (mean, signed))
    assert better > plain + 0.08
    problem = PhaseProblem(rows.abs(), mixtures, unknown, unknown.sqrt(), spectrum)
    truth = photos("channel")[0].take(slice(0, 10)).pixels()
    noisy = truth + 0.3 * draw(*truth.shape)
    improved = with_signs(problem, noisy, 2)
    assert float(correlation(improved, truth).mean()) > max(0.9, float(correlation(noisy, truth).mean()))


@pytest.mark.parametrize("value", [0.0, 1.0, 1e4])
def test_flat_rows_have_finite_signs(value: float) -> None:
    rows = torch.full((3, 3, 8, 8), value)
    found = expected_rows(rows, torch.zeros_like(rows), torch.tensor([0.0, 0.1, 10.0]), smooth_spectrum((3, 8, 8)))
    assert bool(found.isfinite().all())
    assert bool((found.abs() <= rows).all())


def test_white_images_become_what_they_were() -> None:
    values = draw(5, 3, 9, 11)
    spectrum = ImageSpectrum.of(Samples(draw(40, 3, 9, 11, seed=1), torch.empty(40, 0)))
    torch.testing.assert_close(spectrum.coloured(spectrum.white(values)), values, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(spectrum.basis.images(spectrum.basis.spectrum(values)), values, atol=1e-4, rtol=1e-4)


def test_places_have_solutions_of_their_own() -> None:
    chance = np.random.default_rng(0)
    mixtures = Mixtures(torch.from_numpy(chance.integers(0, 6, (90, 2))), draw(90, 2).abs(), 6)
    weights, right = draw(90, 70, seed=1).abs() + 0.5, draw(6, 3, 70, seed=2)
    start = torch.zeros_like(right)
    for _ in range(4):
        start = locally_solved(mixtures, weights, 0.5, right, start)
    matrix = mixtures.mixed(torch.eye(6)).double().numpy()
    for place in (0, 63, 64, 69):
        normal = matrix.T @ (weights[:, place].double().numpy()[:, None] * matrix) + 0.5 * np.eye(6)
        expected = np.linalg.solve(normal, right[..., place].double().numpy())
        np.testing.assert_allclose(start[..., place], expected, rtol=1e-3, atol=1e-4)


def test_weights_are_inverse_energies_of_neighbours() -> None:
    residual = draw(2, 3, 8, 8)
    energy = np.pad(residual.square().mean(1).numpy(), ((0, 0), (2, 2), (2, 2)), mode="edge")
    local = np.lib.stride_tricks.sliding_window_view(energy, (5, 5), (1, 2)).mean((3, 4))
    expected = (1 + LEAST) / (local + LEAST * local.mean((1, 2), keepdims=True) + FLOOR)
    np.testing.assert_allclose(local_weights(residual)[:, 0], expected, rtol=1e-4)


def test_pairs_score_as_the_sums_that_define_them() -> None:
    private = toy_images(12, height=8, width=8, classes=3, stored=False)
    order = private.labels.argmax(1).argsort(stable=True)
    public = toy_images(40, height=8, width=8, seed=1, stored=False)
    release, secret = InstaHide(k=4, k_private=2).hide(private.take(order), public, seeded(0), 3)
    slots, pixels = RowSlots.of(release), secret.private.pixels()
    spectrum = ImageSpectrum.of(Samples(draw(60, *pixels.shape[1:]) + 0.1, torch.empty(60, 0)))
    likely = Mixtures(secret.sources, 0.9 * slots.weights, 12)
    magnitudes = release.encoded.pixels().abs()
    problem = PhaseProblem(magnitudes, likely, slots.unknown(2), slots.rest(), spectrum)
    found = signed_pair_scores(problem, pixels, slots, likely)
    expected = likely.mixed(pixels.flatten(1)).view_as(magnitudes)
    rest = slots.rest()[:, None, None, None] * spectrum.mean
    signed = expected_rows(magnitudes, expected + rest, problem.doubt(LAST_ERROR), spectrum) - rest
    white = spectrum.white(signed)
    local = local_weights(spectrum.white(signed - expected))
    for row in range(0, 36, 5):
        count = int(found.scores[row].isfinite().sum())
        pairs, weights = found.pairs[row, :count], found.weights[row, :count]
        mixed = (weights[:, :, None, None, None] * pixels[pairs]).sum(1)
        scores = -(local[row] * (white[row] - spectrum.white(mixed)).square()).flatten(1).sum(1) / 2
        np.testing.assert_allclose(found.scores[row, :count], scores - scores[0], rtol=1e-2, atol=0.02)
        torch.testing.assert_close(weights.sum(1), slots.weights[row].sum().expand(count))
        assert bool((slots.image_classes[pairs] == slots.classes[row]).all())
