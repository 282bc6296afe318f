"""Phase retrieval against its equations, a few lines of NumPy each."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from hideseek.chance import seeded
from hideseek.records import Samples
from hideseek.seek.systems.image_spectrum import ImageSpectrum
from hideseek.seek.systems.mixtures import Mixtures
from hideseek.seek.systems.phase_retrieval import (
    PhaseProblem,
    annealed,
    em_step,
    log_likelihood,
    signed_sums,
)
from hideseek.seek.systems.spectral_start import spectral_start
from hideseek.similarity import correlation
from releases import photos

SHAPE = (3, 9, 11)  # pixels that are no multiple of a piece


def random_problem(known: bool) -> tuple[PhaseProblem, torch.Tensor, torch.Tensor]:
    chance = np.random.default_rng(0)

    def draw(*shape: int) -> torch.Tensor:
        return torch.from_numpy(chance.standard_normal(shape, dtype=np.float32))

    spectrum = ImageSpectrum.of(Samples(draw(20, *SHAPE) + 0.5, torch.empty(20, 0)))
    mixtures = Mixtures(torch.from_numpy(chance.integers(0, 4, (13, 2))), draw(13, 2).abs(), 4)
    rest = draw(13, *SHAPE) if known else None
    problem = PhaseProblem(draw(13, *SHAPE).abs(), mixtures, draw(13).square(), draw(13).abs(), spectrum, rest)
    return problem, draw(4, *SHAPE), draw(13).square() + 0.1


def by_numpy(problem: PhaseProblem, images: torch.Tensor) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    matrix = problem.mixtures.mixed(torch.eye(problem.mixtures.images)).double().numpy()
    rest = np.outer(problem.mass.numpy(), problem.spectrum.mean.numpy().ravel())
    if problem.known is not None:
        rest = rest + problem.known.flatten(1).numpy()
    rows = problem.magnitudes.flatten(1).double().numpy()
    return matrix, rest, matrix @ images.flatten(1).double().numpy() + rest, rows


@pytest.mark.parametrize("known", [False, True])
def test_sums_of_expected_rows(known: bool) -> None:
    problem, images, doubt = random_problem(known)
    matrix, rest, mean, rows = by_numpy(problem, images)
    variance, each = problem.spectrum.variance.numpy().ravel(), doubt.double().numpy()[:, None]
    signed = rows * np.tanh(rows * mean / (each * variance))
    gathered, seen = signed_sums(problem, images, doubt)
    expected = matrix.T @ ((signed - rest) / each)
    np.testing.assert_allclose(gathered, expected, atol=1e-3 * np.abs(expected).max())
    doubts = ((rows**2 - 2 * signed * mean + mean**2) / variance).mean(1)
    np.testing.assert_allclose(seen, doubts, rtol=5e-3)


def test_soft_signs_are_those_of_tanh_however_large() -> None:
    """One row with one image of weight 1: what is gathered is x̃ tanh(x̃ x / v) / v."""
    values = torch.logspace(-3, 8, 297).view(1, *SHAPE)
    one = torch.ones(1)
    spectrum = ImageSpectrum(random_problem(known=False)[0].spectrum.basis, torch.zeros(SHAPE), torch.ones(SHAPE))
    mixtures = Mixtures(torch.zeros(1, 1, dtype=torch.int64), torch.ones(1, 1), 1)
    problem = PhaseProblem(torch.ones(1, *SHAPE), mixtures, one, 0 * one, spectrum)
    gathered, _ = signed_sums(problem, values, one)
    np.testing.assert_allclose(gathered.flatten(), torch.tanh(values.flatten()), atol=2e-4)


def test_likelihood_is_that_of_both_signs() -> None:
    problem, images, _ = random_problem(known=True)
    _, _, mean, rows = by_numpy(problem, images)
    variance = problem.doubt(0.004).double().numpy()[:, None] * problem.spectrum.variance.numpy().ravel()
    logs = np.logaddexp(-((rows - mean) ** 2) / (2 * variance), -((rows + mean) ** 2) / (2 * variance))
    logs -= np.log(variance) / 2
    assert log_likelihood(problem, images) == pytest.approx(float(logs.mean()), rel=1e-4)


def test_a_step_with_right_signs_is_least_squares() -> None:
    """Without unknown images, and with sure signs, the answer stays where it is."""
    problem, images, _ = random_problem(known=False)
    none = torch.zeros(13)
    rows = problem.mixtures.mixed(images.flatten(1)).view_as(problem.magnitudes)
    exact = replace(problem, magnitudes=rows.abs(), unknown=none, mass=none)
    found, seen = em_step(exact, images, torch.full((13,), 1e-6), 0.0)
    assert float((found - images).abs().max()) < 1e-2
    assert float(seen.max()) < 1e-3


def mixed_photos(rows: int, count: int) -> tuple[PhaseProblem, torch.Tensor]:
    private, public = photos("channel")
    images = private.take(slice(0, count)).pixels()
    chance = np.random.default_rng(0)
    sources = np.stack([chance.permutation(count)[:2] for _ in range(rows)])
    weights = chance.uniform(0.2, 0.8, (rows, 2)).astype(np.float32)
    mixtures = Mixtures(torch.from_numpy(sources), torch.from_numpy(weights), count)
    magnitudes = mixtures.mixed(images.flatten(1)).view(-1, *images.shape[1:]).abs()
    none = torch.zeros(rows)
    return PhaseProblem(magnitudes, mixtures, none, none, ImageSpectrum.of(public)), images


def test_images_come_back_but_for_one_sign() -> None:
    problem, images = mixed_photos(300, 20)
    start = spectral_start(problem, seeded(0))
    alike = correlation(start, images)
    assert float(alike.abs().mean()) > 0.5
    found = annealed(problem, start, 20)
    assert float(correlation(found, images).abs().median()) > 0.95


def test_the_usual_spectrum_has_the_energy_that_is_asked_for() -> None:
    spectrum = ImageSpectrum.usual((3, 8, 8), 2.0)
    power = spectrum.basis.deviations.square()
    assert float(power.mean()) == pytest.approx(2.0, rel=1e-4)
    images = photos("channel")[0].pixels()[..., :8, :8].contiguous()
    assert torch.allclose(spectrum.without_noise(images, 0.0), images, atol=1e-4)
    assert float(spectrum.without_noise(images, 1e6).abs().max()) < 0.1
