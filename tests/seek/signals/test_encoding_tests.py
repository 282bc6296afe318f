"""Statistics of encodings and their tests: what the paper's can find, and the sound one."""

import numpy as np
import pytest
import torch

from hideseek.chance import seeded
from hideseek.seek.signals.encoding_tests import one_against_the_rest, single_against_many, statistics


def test_statistics_against_numpy() -> None:
    encoded = np.random.default_rng(0).standard_normal((5, 3, 7, 6)).astype(np.float32)
    got = statistics(torch.from_numpy(encoded), torch.tensor([0, 100])).numpy()
    for row, image in zip(got, encoded.astype(np.float64), strict=True):
        variation = sum(abs(image[c, i + 1, j] - image[c, i, j]) for c in range(3) for i in range(6) for j in range(6))
        variation += sum(abs(image[c, i, j + 1] - image[c, i, j]) for c in range(3) for i in range(7) for j in range(5))
        expected = [image.mean(), image.std(), variation, image[0, 0, 0], image[2, 2, 4]]
        np.testing.assert_allclose(row, expected, rtol=1e-6)


def drawn(images: int, each: int, apart: float, kinds: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Normal values of `images` means, `apart` from each other."""
    ids = np.repeat(np.arange(images), each)
    noise = np.random.default_rng(0).standard_normal((images * each, kinds))
    return noise + apart * ids[:, None], ids


def test_single_encodings_average_to_one_half_however_much_images_differ() -> None:
    """The paper's test: 1,000 p-values against all have mean 0.5 to 0.009 if each is uniform; within four."""
    for apart in (0.0, 0.2, 1000.0):
        values, ids = drawn(10, 100, apart, kinds=1)
        against_all, _ = single_against_many(values, ids, 100, seeded(0))
        assert abs(against_all.mean() - 0.5) < 0.037
    values, ids = drawn(10, 400, 1000.0)  # no two images have a value between the same bounds
    assert (one_against_the_rest(values, ids) < 1e-10).all()


def test_images_that_differ_by_a_little_are_found_by_the_whole_test_alone() -> None:
    """Two kinds of images, one deviation apart: all averages of single p-values are above 0.3, all whole ones tiny."""
    values, ids = drawn(10, 400, 0.0, kinds=1)
    values += (ids % 2)[:, None]
    against_all, against_others = single_against_many(values, ids, 50, seeded(0))
    assert against_all.min() > 0.3
    assert against_others.min() > 0.3
    assert (one_against_the_rest(values, ids) < 1e-6).all()


def test_an_image_far_from_all_others_has_low_single_averages_too() -> None:
    """What the paper's test can find: an image beyond all others. The least p-value of one among n is 2/(n + 1)."""
    values, ids = drawn(5, 50, 0.0)
    values[ids == 0] += 100
    _, against_others = single_against_many(values, ids, 10, seeded(0))
    assert against_others[0] == pytest.approx(2 / 201)


def test_the_whole_test_keeps_its_level() -> None:
    """210 p-values of images that do not differ: 10.5 under 5 %, deviation 3.2; within four."""
    values, ids = drawn(30, 60, 0.0, kinds=7)
    assert int((one_against_the_rest(values, ids) < 0.05).sum()) < 24
