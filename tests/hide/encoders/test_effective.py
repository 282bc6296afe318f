"""What the parameters of a scheme come to in a release, and what is proved of it."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from hideseek.chance import seeded
from hideseek.data import DATASETS, load, normalise
from hideseek.hide import Augmented, InstaHide, Laplace, Mixup, RecipeEncoder, SingularizedMixup
from hideseek.hide.mixing.signal import signal_and_rest
from hideseek.records import Effective, EncodedRelease, Samples
from hideseek.records.mixing_secret import MixingSecret
from hideseek.records.moving import moved
from toys import images

Array = NDArray[np.float64]


def unit(count: int) -> Samples:
    return images(count, stored=False, height=8, width=8)


def pieces(scheme: RecipeEncoder, private: Samples) -> tuple[EncodedRelease, MixingSecret, Array, Array]:
    """Hide images; give what each row has of the image that it was made for, and the rest, in plain NumPy."""
    release, secret = scheme.hide(private, None, seeded(0))
    pixels, rows = (each.pixels().flatten(1).double().numpy() for each in (private, release.encoded))
    signal = secret.weights[:, :1].double().numpy() * pixels[secret.sources[:, 0].numpy()]
    return release, secret, signal, rows - signal


def test_the_signal_to_noise_ratio_is_measured_in_the_rows() -> None:
    """E‖w₁x‖² / E‖x̃ − w₁x‖² beside the bound of Theorem 4.2, α² / ((1 − α)² (1 + r² / V)), V the summed variance."""
    private = unit(60)
    variance = np.var(private.images.flatten(1).double().numpy(), axis=0, ddof=1).sum()
    for radius in (1.0, 40.0):
        release, secret, signal, rest = pieces(SingularizedMixup(alpha=0.7, tau=1e-2, radius=radius), private)
        ratio, most, together = release.scheme.effective(release, secret, seeded(1))
        assert [each.name for each in (ratio, most, together)] == ["tau", "tau by Theorem 4.2", "k"]
        assert (ratio.stated, most.stated) == (0.01, 0.01)
        assert ratio.effective == pytest.approx((signal**2).sum() / (rest**2).sum(), rel=1e-5)
        assert most.effective == pytest.approx(0.7**2 / (0.3**2 * (1 + radius**2 / variance)), rel=1e-5)
        (proved,) = release.scheme.bounds((ratio, most, together))
        assert (proved.theorem, proved.value) == ("Theorem 4.2", most.effective)


def test_a_radius_that_follows_from_tau_keeps_under_tau() -> None:
    """The bound is τ, at the largest weight; with w ~ U[0,1]² and E[X] = 0 the rows have about 0.29 of it."""
    centred = unit(400)
    centred = replace(centred, images=centred.images - centred.images.mean(0))
    release, secret = SingularizedMixup(tau=1e-2).hide(centred, None, seeded(0))
    ratio, most, _ = release.scheme.effective(release, secret, seeded(1))
    assert most.effective == pytest.approx(0.01, rel=0.05)
    assert ratio.effective == pytest.approx(0.0029, rel=0.1)


@pytest.mark.parametrize(("name", "wanted"), [("faces", 0.0029), ("cifar10", 0.0029), ("mnist", 0.0041)])
def test_the_ratio_on_images(name: str, wanted: float) -> None:
    if name != "faces" and DATASETS[name].path is None:
        pytest.skip(f"{name} is not here: set HIDESEEK_DATA to the folder that holds {name}.npz")
    private = normalise(load(name).take(slice(0, 2000)), "channel")
    release, secret = SingularizedMixup(tau=1e-2).hide(private, None, seeded(0))
    assert release.scheme.effective(release, secret, seeded(1))[0].effective == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize("scheme", [InstaHide(k=2), Augmented(Mixup(k=3))], ids=["masked", "moved"])
def test_signal_and_rest_of_other_rows(scheme: RecipeEncoder) -> None:
    """Under a mask the rest is the other image, and where images were moved the other moved ones."""
    private = unit(30)
    release, secret = scheme.hide(private, None, seeded(0))
    wanted = torch.zeros_like(private.images)
    for column in range(1, secret.weights.shape[1]):
        others = private.images[secret.sources[:, column]]
        if secret.transforms is not None:
            others = moved(others, secret.transforms[:, column])
        wanted += secret.weights[:, column, None, None, None] * others
    ((_, rest),) = signal_and_rest(release, secret)
    torch.testing.assert_close(rest.view_as(wanted), wanted, atol=1e-5, rtol=0)


@pytest.mark.parametrize("scale", [2.0, None])
def test_the_size_of_noise_in_sizes_of_a_pixel(scale: float | None) -> None:
    private = unit(50)
    release, secret, _, rest = pieces(Laplace(alpha=0.5, scale=scale), private)
    (noise,) = release.scheme.effective(release, secret, seeded(1))
    assert (noise.name, noise.stated) == ("alpha", 0.5)
    assert noise.effective == pytest.approx(np.abs(rest).mean() / float(private.images.abs().mean()), rel=1e-5)


def test_noise_that_is_not_there_is_not_stated() -> None:
    """The value is measured: rows without their noise have an α of zero, whatever the scheme says."""
    private = unit(50)
    release, secret = Laplace(alpha=0.5).hide(private, None, seeded(0))
    clean = replace(release.encoded, images=0.5 * private.images[secret.sources[:, 0]])
    (noise,) = release.scheme.effective(replace(release, encoded=clean), secret, seeded(1))
    assert noise.effective == pytest.approx(0.0, abs=1e-6)


def test_the_number_of_equally_weighted_images() -> None:
    release, secret = Mixup(k=4).hide(unit(50), None, seeded(0))
    halves = replace(secret, weights=torch.tensor([[0.5, 0.5, 0.0, 0.0]]).expand(50, 4))
    (together,) = release.scheme.effective(release, halves, seeded(1))
    assert (together.name, together.stated) == ("k", 4)
    assert together.effective == pytest.approx(2)


def test_moved_images_change_no_effective_value() -> None:
    release, secret = Augmented(Laplace(alpha=0.5, scale=2.0)).hide(unit(50), None, seeded(0))
    (noise,) = release.scheme.effective(release, secret, seeded(1))
    size = float(secret.private.images.abs().mean())
    assert noise.effective == pytest.approx(2.0 / size, rel=0.1)  # 3,200 draws, by 1.8 % off


def test_nothing_is_proved_of_schemes_without_a_theorem() -> None:
    facts = (Effective("tau by Theorem 4.2", 0.01, 0.01, ""),)
    assert Mixup().bounds(facts) == ()
    assert Laplace().bounds(facts) == ()
    assert SingularizedMixup().bounds(()) == ()
    assert len(Augmented(SingularizedMixup()).bounds(facts)) == 1
