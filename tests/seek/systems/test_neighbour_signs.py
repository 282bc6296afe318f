import numpy as np
import pytest
import torch

from hideseek.records import Samples
from hideseek.seek.systems.image_spectrum import ImageSpectrum
from hideseek.seek.systems.neighbour_signs import NOISE, Predictor, soft_rows
from releases import photos, unknown_rows


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
    rows, mean, _, spectrum = unknown_rows()
    doubt = torch.full((len(rows), 1, 1, 1), 0.4**2 + 0.002)
    signed = soft_rows(rows.abs(), mean, doubt, spectrum.variance, Predictor.of(spectrum))
    plain, better = (float((values * rows > 0).float().mean()) for values in (mean, signed))
    assert better > plain + 0.03
