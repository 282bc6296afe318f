"""The theorems of Singularized Mixup, and what they do not protect."""

import pytest
import torch

from hideseek.chance import seeded
from hideseek.hide import SingularizedMixup
from hideseek.hide.encoders.singularized_mixup import noise_factor, signal_to_noise
from toys import images


def test_theorem_4_2_inverts_the_radius() -> None:
    for tau in (1.0, 1e-2, 1e-6):
        variance, distance = 3.0, 2.0
        radius = noise_factor(tau, 0.65, distance**2 / (2 * variance)) * distance
        assert signal_to_noise(0.65, radius, variance) == pytest.approx(tau)


def test_noise_of_one_length_confirms_a_guessed_pair() -> None:
    """‖x̃ − w₁x − w₂x′‖ = w₂r for the pair that a row was made of, to rounding, and for no other, at a tiny τ too."""
    private = images(20, stored=False, height=8, width=8)
    release, secret = SingularizedMixup(tau=1e-4).hide(private, None, seeded(3))
    scheme = release.scheme
    assert isinstance(scheme, SingularizedMixup)
    assert scheme.radius is not None
    pixels, rows = private.images.flatten(1).double(), release.encoded.images.flatten(1).double()
    for row in range(20):
        first, second = secret.weights[row].double().tolist()
        lengths = torch.cdist(rows[row] - first * pixels, second * pixels)
        misses = (lengths / (second * scheme.radius) - 1).abs()
        misses[torch.arange(20), torch.arange(20)] = 1.0  # no image is mixed with itself
        assert divmod(int(misses.argmin()), 20) == tuple(secret.sources[row].tolist())
        assert float(misses.min()) < 2e-7  # the rounding of float32
