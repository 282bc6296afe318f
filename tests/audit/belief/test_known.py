"""What is known without running anything, and what parameters come to."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from hideseek.audit.known import bound, effective, known
from hideseek.chance import seeded
from hideseek.hide import ENCODERS, Augmented, InstaHide, Laplace, Mixup, SingularizedMixup
from hideseek.records import MixingEncoder, Samples
from toys import images


def told(scheme: MixingEncoder, rounds: int = 1, *, labelled: bool = True, seeded: bool = False) -> str:
    return " ".join(each.sentence for each in known(scheme, rounds, labelled=labelled, seeded=seeded))


@pytest.mark.parametrize("name", ENCODERS)
def test_something_is_known_of_every_scheme_and_cited(name: str) -> None:
    said = known(ENCODERS[name], 5, labelled=True, seeded=False)
    assert said
    assert all(each.citation and each.sentence.endswith(".") for each in said)


def test_it_depends_on_the_configuration() -> None:
    assert "equations" in told(Mixup(), 10)
    assert "equations" not in told(Mixup(), 1)
    assert "subtracted" in told(Mixup(k=4, k_private=1))
    assert "Broken in 2020" in told(InstaHide())
    assert "in 40 rows" in told(InstaHide(k=4), 10)
    assert "larger k is no defence" in told(InstaHide(k=6))
    assert "larger k is no defence" not in told(InstaHide(k=4))
    assert "line graph" in told(InstaHide(k=6, k_private=2))
    assert "cryptographic generator" in told(InstaHide())
    assert "no finite (ε, δ)" in told(SingularizedMixup())
    assert "compare and fuse" in told(Augmented(InstaHide()))
    assert "labels show" in told(Mixup())
    assert "labels show" not in told(Mixup(), labelled=False)
    assert "seed" in told(Mixup(), seeded=True)


def unit(count: int) -> Samples:
    return images(count, stored=False, height=8, width=8)


def test_the_signal_to_noise_ratio_that_a_radius_keeps() -> None:
    """Theorem 4.2: α² / ((1 − α)² (1 + r² / V)), with V the summed variance of the pixels."""
    private = unit(60)
    variance = np.var(private.images.flatten(1).double().numpy(), axis=0, ddof=1).sum()
    for radius in (1.0, 40.0):
        scheme = SingularizedMixup(alpha=0.7, tau=1e-2, radius=radius)
        release, secret = scheme.hide(private, None, seeded(0))
        facts = effective(release, secret, seeded(1))
        wanted = 0.7**2 / (0.3**2 * (1 + radius**2 / variance))
        assert facts[0].name == "tau"
        assert facts[0].stated == 0.01
        assert facts[0].effective == pytest.approx(wanted, rel=1e-5)
        assert f"({10 * math.log10(wanted):.1f} dB)" in bound(scheme, facts)
    release, secret = SingularizedMixup(tau=1e-2).hide(private, None, seeded(0))
    facts = effective(release, secret, seeded(1))
    assert facts[0].effective == pytest.approx(0.01, rel=0.05)  # the radius follows from tau
    assert bound(Mixup(), facts) == ""


def test_the_size_of_noise_and_the_number_of_images() -> None:
    private = unit(50)
    size = float(private.images.abs().mean())
    release, secret = Laplace(alpha=0.5, scale=2.0).hide(private, None, seeded(0))
    (noise,) = effective(release, secret, seeded(1))
    assert noise.stated == 0.5
    assert noise.effective == pytest.approx(2.0 / size, rel=1e-5)
    release, secret = Mixup(k=4).hide(private, None, seeded(0))
    secret = replace(secret, weights=torch.tensor([[0.5, 0.5, 0.0, 0.0]]).expand(50, 4))
    (together,) = effective(release, secret, seeded(1))
    assert together.stated == 4
    assert together.effective == pytest.approx(2)


def test_noise_of_one_length_confirms_a_guessed_pair() -> None:
    """‖x̃ − w₁x − w₂x′‖ = w₂r for the pair that a row was made of, to rounding, and for no other, at a tiny τ too."""
    private = unit(20)
    release, secret = SingularizedMixup(tau=1e-4).hide(private, None, seeded(3))
    scheme = release.scheme
    assert isinstance(scheme, SingularizedMixup)
    assert scheme.radius is not None
    pixels, rows = private.images.flatten(1).double(), release.encoded.images.flatten(1).double()
    for row in range(20):
        first, second = secret.weights[row].double().tolist()
        lengths = torch.cdist(rows[row] - first * pixels, second * pixels)
        misses = (lengths / (second * scheme.radius) - 1).abs()
        misses[torch.arange(20), torch.arange(20)] = 1.0  # nobody meets himself
        assert divmod(int(misses.argmin()), 20) == tuple(secret.sources[row].tolist())
        assert float(misses.min()) < 2e-7  # the rounding of float32
