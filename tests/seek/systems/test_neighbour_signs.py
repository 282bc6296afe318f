import numpy as np
import pytest
import torch

from hideseek.records import Samples
from hideseek.seek.systems.image_spectrum import ImageSpectrum
from hideseek.seek.systems.mixtures import Mixtures
from hideseek.seek.systems.neighbour_signs import NOISE, Predictor, expected_rows, with_neighbours
from hideseek.seek.systems.phase_retrieval import PhaseProblem
from hideseek.similarity import correlation
from releases import photos


def test_a_pixel_is_told_from_noisy_neighbours_as_well_as_it_says() -> None:
    pixels = photos("channel")[1].pixels()
    predictor = Predictor.of(ImageSpectrum.of(photos("channel")[1]))
    noise = np.random.default_rng(0).standard_normal(pixels.shape, dtype=np.float32)
    level = float(pixels.square().mean())
    noisy = pixels + torch.from_numpy(noise) * (NOISE * level) ** 0.5
    missed = float((predictor(noisy) - pixels).square().mean()) / level
    assert missed == pytest.approx(float(predictor.missed.mean()), rel=0.25)
    assert missed < 0.3
    assert float(predictor.filters[0, 0, 2, 2]) == 0  # never from itself


@pytest.mark.parametrize("shape", [(1, 1, 9), (3, 2, 4), (1, 3, 3)])
def test_small_images_have_fewer_neighbours(shape: tuple[int, int, int]) -> None:
    values = torch.from_numpy(np.random.default_rng(0).standard_normal((30, *shape), dtype=np.float32))
    predictor = Predictor.of(ImageSpectrum.of(Samples(values, torch.empty(30, 0))))
    assert predictor(values).shape == values.shape
    assert bool(predictor.filters.isfinite().all())


def test_neighbours_tell_signs_where_much_of_a_row_is_unknown() -> None:
    private, public = photos("channel")
    images, others = private.take(slice(0, 10)).pixels(), public.pixels()
    chance = np.random.default_rng(0)
    sources = torch.from_numpy(np.stack([chance.permutation(10)[:2] for _ in range(300)]))
    mixtures = Mixtures(sources, torch.full((300, 2), 0.3), 10)
    rows = mixtures.mixed(images.flatten(1)).view(-1, *images.shape[1:]) + 0.4 * others[:300]
    weight = torch.full((300,), 0.4)
    problem = PhaseProblem(rows.abs(), mixtures, weight.square(), weight, ImageSpectrum.of(public))
    mean = mixtures.mixed(images.flatten(1)).view_as(rows)
    signed, _ = expected_rows(problem, images, Predictor.of(problem.spectrum), slice(None))
    plain, better = (float((values * rows > 0).float().mean()) for values in (mean, signed))
    assert better > plain + 0.03
    assert float(correlation(with_neighbours(problem, images, 1), images).mean()) > 0.9
