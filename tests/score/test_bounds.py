"""The theorems against what happens on Gaussian images, for which they are proved."""

import numpy as np
import pytest
import torch

from hideseek.score import bounds


def test_theorem_b3_holds_on_gaussian_images() -> None:
    n, d, k, delta = 60, 2000, 4, 0.01
    generator = np.random.default_rng(0)
    images = generator.normal(0, d**-0.5, (n, d))
    mixture = images[:k].sum(0)
    products = images @ mixture
    assert products[k:].max() <= bounds.largest_without(k, n, d, delta)
    assert products[:k].min() >= bounds.least_with(k, n, d, delta)


def test_theorem_b1_holds_on_gaussian_images() -> None:
    n, d, delta = 90, 4000, 0.01
    one, two, three = np.random.default_rng(1).normal(0, d**-0.5, (3, n // 3, d))
    sharing = (three + one) @ (three + two).T
    disjoint = (three + one) @ (two + np.roll(two, 1, 0)).T
    assert disjoint.max() <= bounds.largest_disjoint(n, d, delta)
    assert np.diag(sharing).min() >= bounds.least_sharing(n, d, delta)


def test_the_printed_bound_of_the_norm_fails_half_the_time() -> None:
    """Theorem B.3, part 2 as printed needs ‖x‖² ≥ (d + c₂ √log(n/δ)) σ² of every image; here even with c₂ = 0."""
    norms = (np.random.default_rng(2).normal(0, 1000**-0.5, (2000, 1000)) ** 2).sum(1)
    assert 0.4 < (norms < 1).mean() < 0.6
    assert (norms > bounds.least_with(1, 2000, 1000, 0.01)).all()


def test_the_naive_search_is_the_smaller_of_two() -> None:
    assert bounds.naive_search(10_000, 6, 3072) == pytest.approx(16)
    assert bounds.naive_search(10_000, 1000, 10) == pytest.approx(10 * np.log10(2))


def test_theorem_4_1_is_the_error_of_inverting() -> None:
    """r² T_i is what plain inversion errs on average: 3000 draws, within 5 % (the deviation is under 1 %)."""
    n, d, radius = 6, 50, 3.0
    generator = np.random.default_rng(3)
    second = generator.uniform(0.35, 0.65, n)
    mixing = np.diag(1 - second) + np.diag(second) @ np.roll(np.eye(n), 1, 0)
    noise = generator.normal(size=(3000, n, d))
    noise *= radius / np.linalg.norm(noise, axis=2, keepdims=True)
    errors = (np.einsum("ij,sjd->sid", np.linalg.inv(mixing), noise * second[:, None]) ** 2).sum(2).mean(0)
    expected = bounds.recovery_error(torch.from_numpy(mixing), torch.from_numpy(second), radius).numpy()
    np.testing.assert_allclose(errors, expected, rtol=0.05)
