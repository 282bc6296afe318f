"""What the parameters of a scheme come to in a release, and what is proved of it."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from hideseek.chance import seeded
from hideseek.hide import Augmented, Laplace, Mixup, SingularizedMixup
from hideseek.records import Effective, Samples
from toys import images


def unit(count: int) -> Samples:
    return images(count, stored=False, height=8, width=8)


def test_the_signal_to_noise_ratio_that_a_radius_keeps() -> None:
    """Theorem 4.2: α² / ((1 − α)² (1 + r² / V)), with V the summed variance of the pixels."""
    private = unit(60)
    variance = np.var(private.images.flatten(1).double().numpy(), axis=0, ddof=1).sum()
    for radius in (1.0, 40.0):
        scheme = SingularizedMixup(alpha=0.7, tau=1e-2, radius=radius)
        release, secret = scheme.hide(private, None, seeded(0))
        ratio, together = release.scheme.effective(release, secret, seeded(1))
        wanted = 0.7**2 / (0.3**2 * (1 + radius**2 / variance))
        assert (ratio.name, ratio.stated, together.name) == ("tau", 0.01, "k")
        assert ratio.effective == pytest.approx(wanted, rel=1e-5)
        proved = release.scheme.bound((ratio, together))
        assert proved is not None
        assert (proved.theorem, proved.value) == ("Theorem 4.2", ratio.effective)


def test_a_radius_that_follows_from_tau_keeps_tau() -> None:
    release, secret = SingularizedMixup(tau=1e-2).hide(unit(60), None, seeded(0))
    ratio, _ = release.scheme.effective(release, secret, seeded(1))
    assert ratio.effective == pytest.approx(0.01, rel=0.05)


def test_the_size_of_noise_in_sizes_of_a_pixel() -> None:
    private = unit(50)
    release, secret = Laplace(alpha=0.5, scale=2.0).hide(private, None, seeded(0))
    (noise,) = release.scheme.effective(release, secret, seeded(1))
    assert (noise.name, noise.stated) == ("alpha", 0.5)
    assert noise.effective == pytest.approx(2.0 / float(private.images.abs().mean()), rel=1e-5)


def test_the_number_of_equally_weighted_images() -> None:
    release, secret = Mixup(k=4).hide(unit(50), None, seeded(0))
    halves = replace(secret, weights=torch.tensor([[0.5, 0.5, 0.0, 0.0]]).expand(50, 4))
    (together,) = release.scheme.effective(release, halves, seeded(1))
    assert (together.name, together.stated) == ("k", 4)
    assert together.effective == pytest.approx(2)


def test_moved_images_change_no_effective_value() -> None:
    release, secret = Augmented(Laplace(alpha=0.5, scale=2.0)).hide(unit(50), None, seeded(0))
    (noise,) = release.scheme.effective(release, secret, seeded(1))
    assert noise.effective == pytest.approx(2.0 / float(secret.private.images.abs().mean()), rel=1e-5)


def test_nothing_is_proved_of_schemes_without_a_theorem() -> None:
    facts = (Effective("tau", 0.01, 0.01, ""),)
    assert Mixup().bound(facts) is None
    assert Laplace().bound(facts) is None
    assert SingularizedMixup().bound(()) is None
    assert Augmented(SingularizedMixup()).bound(facts) is not None
