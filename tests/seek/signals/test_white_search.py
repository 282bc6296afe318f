"""Searching by white products: every place of larger images, and whiteness itself."""

import numpy as np
import torch

from hideseek.records import Samples
from hideseek.seek.signals.white_search import WhiteSearch
from hideseek.seek.signals.whitening import Whitening, cosines, squares
from releases import photos


def test_every_place_is_tried_as_a_loop_would() -> None:
    generator = np.random.default_rng(0)
    rows = torch.from_numpy(generator.standard_normal((6, 2, 5, 4)).astype(np.float32))
    images = torch.from_numpy(generator.standard_normal((7, 2, 8, 9)).astype(np.float32))
    compare = WhiteSearch.like(Samples(rows, torch.empty(6, 0)), squares)
    public = Samples(images, torch.empty(7, 0))
    scores, places = compare.search(rows, public, 7)
    large = WhiteSearch.like(public, squares)
    maps, queries = large.white(squares(images) - large.mean), compare(rows).view_as(rows)
    for row in range(6):
        expected = np.full(7, -np.inf)
        for s, top, left in np.ndindex(7, 4, 6):
            patch = maps[s, :, top : top + 5, left : left + 4]
            expected[s] = max(expected[s], float((patch * queries[row]).sum() / patch.norm()))
        np.testing.assert_array_equal(places[row].numpy(), np.argsort(-expected))
        np.testing.assert_allclose(scores[row].numpy(), np.sort(expected)[::-1], atol=1e-4)


def test_white_images_are_white() -> None:
    _, public = photos("channel")
    white = Whitening.of(public)
    spectrum = white.spectrum(white(public.pixels()))
    # white() returns to places but keeps the principal colours, so the spectrum is taken without turning them again
    frequencies = white.rows @ white(public.pixels()) @ white.columns.T
    assert spectrum.shape == frequencies.shape
    torch.testing.assert_close(frequencies.square().mean(0), torch.ones(3, 32, 32), rtol=1e-3, atol=1e-3)


def test_cosines_are_the_transform_of_scipy() -> None:
    from scipy.fft import dct

    values = np.random.default_rng(0).standard_normal(9)
    np.testing.assert_allclose(cosines(9).numpy() @ values, dct(values, norm="ortho"), atol=1e-6)
