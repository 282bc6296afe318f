"""Every measure against an independent implementation."""

import numpy as np
import pytest
import torch
from scipy.stats import pearsonr
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from hideseek.errors import BadInput
from hideseek.similarity import absolute_correlation, correlation, l2, psnr, snr, ssim


@pytest.fixture(params=[(1, 28, 28), (3, 32, 20)])
def pairs(request: pytest.FixtureRequest) -> tuple[torch.Tensor, torch.Tensor]:
    """Smooth images and guesses of different quality."""
    generator = np.random.default_rng(0)
    rough = generator.random((6, *request.param), dtype=np.float32)
    truth = (rough + np.roll(rough, 1, 2) + np.roll(rough, 1, 3)) / 3
    levels = np.linspace(0.02, 1.5, 6, dtype=np.float32)[:, None, None, None]
    guess = truth + levels * generator.standard_normal(truth.shape, dtype=np.float32)
    return torch.from_numpy(truth), torch.from_numpy(guess)


def test_distances_against_numpy(pairs: tuple[torch.Tensor, torch.Tensor]) -> None:
    x, y = (images.double().numpy() for images in pairs)
    axes = (1, 2, 3)
    np.testing.assert_allclose(l2(*pairs).numpy(), np.sqrt(((x - y) ** 2).sum(axes)), rtol=1e-5)
    np.testing.assert_allclose(
        snr(*pairs).numpy(), 10 * np.log10((x**2).sum(axes) / ((x - y) ** 2).sum(axes)), rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("data_range", [1.0, 2.0, 255.0])
def test_psnr_against_scikit_image(pairs: tuple[torch.Tensor, torch.Tensor], data_range: float) -> None:
    expected = [peak_signal_noise_ratio(x, y, data_range=data_range) for x, y in zip(*map(_arrays, pairs), strict=True)]
    np.testing.assert_allclose(psnr(*pairs, data_range).numpy(), expected, rtol=1e-4)


@pytest.mark.parametrize("data_range", [1.0, 4.0])
@pytest.mark.parametrize("window", ["uniform", "gaussian"])
def test_ssim_against_scikit_image(pairs: tuple[torch.Tensor, torch.Tensor], window: str, data_range: float) -> None:
    how = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False} if window == "gaussian" else {}
    expected = [
        structural_similarity(x, y, channel_axis=0, data_range=data_range, **how)
        for x, y in zip(*map(_arrays, pairs), strict=True)
    ]
    scores = ssim(*pairs, data_range, window)  # type: ignore[arg-type]
    np.testing.assert_allclose(scores.numpy(), expected, atol=2e-5)


def test_correlations_against_scipy(pairs: tuple[torch.Tensor, torch.Tensor]) -> None:
    x, y = (images.flatten(1).double().numpy() for images in pairs)
    expected = [pearsonr(a, b).statistic for a, b in zip(x, y, strict=True)]
    np.testing.assert_allclose(correlation(*pairs).numpy(), expected, atol=1e-5)
    absolute = [pearsonr(np.abs(a), np.abs(b)).statistic for a, b in zip(x, y, strict=True)]
    np.testing.assert_allclose(absolute_correlation(*pairs).numpy(), absolute, atol=1e-5)


def test_perfect_and_hopeless_guesses(pairs: tuple[torch.Tensor, torch.Tensor]) -> None:
    truth, _ = pairs
    assert torch.isinf(snr(truth, truth)).all()
    assert torch.isinf(psnr(truth, truth, 1.0)).all()
    torch.testing.assert_close(ssim(truth, truth, 1.0), torch.ones(6))
    centred = truth - truth.mean((1, 2, 3), keepdim=True)
    torch.testing.assert_close(absolute_correlation(centred, -centred), torch.ones(6))
    assert (correlation(truth, torch.zeros_like(truth)) == 0).all()


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(BadInput, match="cannot be compared"):
        l2(torch.zeros(2, 1, 8, 8), torch.zeros(3, 1, 8, 8))
    with pytest.raises(BadInput, match="at least 11×11"):
        ssim(torch.zeros(2, 1, 8, 8), torch.zeros(2, 1, 8, 8), 1.0, "gaussian")


def _arrays(images: torch.Tensor) -> np.ndarray:
    return images.numpy().astype(np.float64)
