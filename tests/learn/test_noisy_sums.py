"""Noisy sums: against NumPy, with the noise that μ asks for, and no image that changes more than it may."""

import numpy as np
import pytest
import torch

import toys
from hideseek.chance import seeded
from hideseek.data import normalise
from hideseek.errors import BadInput
from hideseek.learn import NoisySums, accuracy, predict
from hideseek.learn.noisy_sums import CENTRE, COUNT, _sums
from hideseek.records import Samples

TRAIN, TEST = (normalise(toys.patterns(count, seed=seed), "image") for count, seed in ((300, 0), (90, 9)))


def vectors(samples: Samples) -> tuple[np.ndarray, np.ndarray]:
    return samples.pixels().flatten(1).double().numpy(), samples.labels.double().numpy()


def without_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hideseek.learn.noisy_sums.gaussian_noise", lambda chance, *shape: torch.zeros(*shape))


def layer(learner: NoisySums, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    state = learner.learn(TRAIN, seeded(seed)).network.state_dict()
    return state["head.weight"].double().numpy(), state["head.bias"].double().numpy()


def reference(method: str, deviation: float) -> tuple[np.ndarray, np.ndarray]:
    """The docstring's equations, in NumPy, on sums without noise."""
    images, labels = vectors(TRAIN)
    centre = images.mean(0)
    reach = np.sqrt(1 - centre @ centre)
    moved = images - centre
    clipped = moved * np.minimum(1, reach / np.linalg.norm(moved, axis=1, keepdims=True)) / reach
    counts = labels.sum(0)
    means = reach * (labels.T @ clipped) / counts[:, None]
    noise = sum((reach * deviation / count) ** 2 * images.shape[1] for count in counts)
    share = max(0.0, 1 - noise / (means**2).sum())
    weights = means
    if method == "least-squares":
        inner = clipped.T @ clipped + 2 * deviation * np.sqrt(images.shape[1]) * np.eye(images.shape[1])
        weights = np.linalg.solve(inner * reach**2 / counts.sum(), means.T).T
    return weights, -share * (weights * means).sum(1) / 2 - weights @ centre


@pytest.mark.parametrize(("method", "length"), [("means", 1 + COUNT**2), ("least-squares", 2 + COUNT**2)])
def test_the_model_is_numpy_s(method: str, length: float, monkeypatch: pytest.MonkeyPatch) -> None:
    without_noise(monkeypatch)
    monkeypatch.setattr("hideseek.learn.noisy_sums.CHUNK", 70)
    learner = NoisySums(50.0, method)  # type: ignore[arg-type]
    weight, bias = layer(learner)
    expected = reference(method, np.sqrt(length / (1 - CENTRE)) / 50.0)
    np.testing.assert_allclose(weight, expected[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(bias, expected[1], rtol=1e-3, atol=1e-5)


def test_no_image_changes_more_than_it_may() -> None:
    """Adding any image, the worst ones too, moves sums and counts together by √(1 + COUNT²) at most, Σvvᵀ by 1."""
    centre = TRAIN.pixels().flatten(1).double().mean(0)
    reach = float((1 - centre.square().sum()).sqrt())
    whole = _sums(TRAIN, centre, reach, squares=True)
    for left_out in range(20):
        kept = torch.arange(len(TRAIN)) != left_out
        rest = _sums(TRAIN.take(kept.nonzero()[:, 0]), centre, reach, squares=True)
        sums, counts, products = (one - other for one, other in zip(whole, rest, strict=True))  # type: ignore[operator]
        assert float((sums.square().sum() + (COUNT * counts).square().sum()).sqrt()) <= (1 + COUNT**2) ** 0.5 + 1e-9
        assert float(torch.triu(products).norm()) <= 1 + 1e-9


def test_the_noise_is_as_large_as_mu_asks_for() -> None:
    """Weights of 200 runs scatter by the noise of sums, C √(1 + COUNT²) / √0.9 μ n_c, and by that of the centre."""
    mu = 20.0
    images, labels = vectors(TRAIN)
    weights = np.stack([layer(NoisySums(mu), seed)[0] for seed in range(200)])
    reach = np.sqrt(1 - (images.mean(0) ** 2).sum())
    sums = reach * np.sqrt((1 + COUNT**2) / (1 - CENTRE)) / mu / labels.sum(0)
    centre = np.sqrt((1 + COUNT**2) / CENTRE) / mu / len(images)
    np.testing.assert_allclose(weights.std(0).mean(1), np.hypot(sums, centre), rtol=0.04)


def test_it_learns_where_it_may_and_nothing_where_it_may_not() -> None:
    for method in ("means", "least-squares"):
        much, little = (
            accuracy(predict(NoisySums(mu, method).learn(TRAIN, seeded(1)), TEST), TEST.labels) for mu in (100.0, 1e-3)
        )
        assert much > 0.9
        assert little < 0.6  # of three classes


def test_noise_is_drawn_anew_and_repeats_with_its_seed() -> None:
    one, again, other = (layer(NoisySums(1.0), seed)[0] for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, again)
    assert not np.allclose(one, other)


def test_bad_input() -> None:
    with pytest.raises(BadInput, match="μ must be positive"):
        NoisySums(0.0)
    with pytest.raises(BadInput, match="normalise each image by itself"):
        NoisySums(1.0).learn(toys.patterns(30), seeded(0))
    single = TRAIN.take(TRAIN.labels[:, 0].nonzero()[:, 0])
    with pytest.raises(BadInput, match="one class"):
        NoisySums(1.0).learn(single, seeded(0))
