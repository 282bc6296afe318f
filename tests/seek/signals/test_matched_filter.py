"""The best of many candidates for each row, and their weights, against their definitions."""

import numpy as np
import pytest
import torch

from hideseek.records import Samples
from hideseek.seek.signals.matched_filter import Candidates, inverse_energy, nearest, strongest, weigh
from releases import photos


def test_the_strongest_candidate_is_the_best_weighted_fit() -> None:
    generator = np.random.default_rng(0)
    rows, weights = generator.standard_normal((4, 6)), generator.random((4, 6)) + 0.1
    images = generator.standard_normal((9, 1, 2, 3)).astype(np.float32)
    gains = np.full((4, 9), -np.inf)
    for r, s in np.ndindex(4, 9):
        image = images[s].ravel().astype(np.float64)
        slope = (weights[r] * rows[r] * image).sum() / (weights[r] * image**2).sum()
        before, after = ((weights[r] * (rows[r] - f * image) ** 2).sum() for f in (0.0, slope))
        gains[r, s] = before - after if slope > 0 else 0
    candidates = Candidates(Samples(torch.from_numpy(images), torch.empty(9, 0)), lambda x: x)
    without = torch.from_numpy(gains.argmax(1))[:, None]
    best, places = strongest(torch.from_numpy(rows).float(), torch.from_numpy(weights).float(), candidates, 3, without)
    np.put_along_axis(gains, without.numpy(), -np.inf, axis=1)
    expected = np.sort(gains, 1)[:, ::-1][:, :3]
    np.testing.assert_allclose(best.numpy(), expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(np.take_along_axis(gains, places.numpy(), 1), expected, rtol=1e-4, atol=1e-6)


def test_blocks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    _, public = photos("channel")
    queries = public.pixels(slice(0, 30)).flatten(1)
    whole = nearest(queries, Candidates(public, lambda x: x), 5)
    monkeypatch.setattr("hideseek.seek.signals.matched_filter.CANDIDATES", 37)
    monkeypatch.setattr("hideseek.seek.signals.matched_filter.QUERIES", 7)
    monkeypatch.setattr("hideseek.seek.signals.matched_filter.KEPT", 0)
    parts = nearest(queries, Candidates(public, lambda x: x), 5)
    torch.testing.assert_close(whole[0], parts[0], rtol=1e-5, atol=1e-3)
    assert torch.equal(whole[1], parts[1])


def test_weights_are_those_of_weighted_least_squares() -> None:
    generator = np.random.default_rng(1)
    rows, images, weights = generator.random((2, 8)), generator.random((2, 3, 8)), generator.random((2, 8))
    fitted, rest = weigh(*(torch.from_numpy(a).float() for a in (rows, images, weights)))
    for r in range(2):
        root = np.sqrt(weights[r])
        expected = np.linalg.lstsq((images[r] * root).T, rows[r] * root, rcond=None)[0]
        np.testing.assert_allclose(fitted[r].numpy(), expected, rtol=1e-2, atol=1e-3)
        np.testing.assert_allclose(rest[r].numpy(), rows[r] - fitted[r].numpy() @ images[r], atol=1e-5)


def test_places_weigh_one_over_their_local_energy() -> None:
    residual = torch.ones(1, 1, 9, 9)
    residual[..., 5:] = 10.0
    weights = inverse_energy(residual)[0, 0]
    assert weights[4, 1] / weights[4, 8] == pytest.approx((100 + 0.02 * 45) / (1 + 0.02 * 45), rel=0.1)
