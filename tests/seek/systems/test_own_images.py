"""What own images tell of others: principal axes, filters and regressions against a few lines of NumPy."""

import numpy as np
import pytest
import torch

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide.updates import GradientNoise, GradientPruning, Quantised, ShareUpdates, Sign
from hideseek.records import Samples
from hideseek.records.defence import Defence
from hideseek.seek.systems.kernel_ridge import fit, fit_best
from hideseek.seek.systems.own_images import OwnImages, principal_axes
from hideseek.seek.systems.own_updates import own_updates
from hideseek.seek.systems.sharpened import RIDGE, sharpened


@pytest.fixture(scope="module")
def faces() -> Samples:
    return normalise(load("faces", size=8), "channel").take(slice(0, 100))


@pytest.mark.parametrize("count", [10, 100])  # fewer than pixels, and more
def test_axes_have_the_covariance_of_images(count: int) -> None:
    images = seeded(1).normals(count, 12).double() * torch.arange(1, 13)
    basis = principal_axes(images, 0.0, (3, 2, 2))
    assert np.allclose(basis.axes.T @ basis.axes, np.cov(images.numpy().T, bias=True))
    assert np.allclose(basis.mean, images.mean(0))
    places = seeded(2).normals(2, len(basis.axes))
    wanted = images.numpy().mean(0) + places.numpy() @ basis.axes.numpy()
    assert np.allclose(basis.images(places).flatten(1), wanted, atol=1e-4)


@pytest.mark.parametrize("scaled", [False, True])
def test_noise_weighs_the_prior_by_its_variance(scaled: bool) -> None:
    """The weight makes distance + weight · ½‖z‖² the negative log posterior, but for a factor and a constant."""
    truth, deviation = seeded(3).normals(4000).numpy().astype(float), 0.5
    sent = truth + deviation * seeded(4).normals(4000).numpy()
    weight = OwnImages(weight=0.0).weight_under(deviation, torch.from_numpy(sent), scaled=scaled)

    def distance(g: np.ndarray) -> float:
        if scaled:
            return float(1 - g @ sent / np.linalg.norm(g) / np.linalg.norm(sent))
        return float(((g - sent) ** 2).sum() / (sent**2).sum())

    other = truth + 0.3 * seeded(5).normals(4000).numpy()
    other *= np.linalg.norm(truth) / np.linalg.norm(other)  # clipping gives both the same norm
    by_likelihood = (((other - sent) ** 2).sum() - ((truth - sent) ** 2).sum()) / 2 / deviation**2
    assert (distance(other) - distance(truth)) / weight == pytest.approx(by_likelihood, rel=0.05)
    assert OwnImages(weight=0.25).weight_under(0.0, torch.from_numpy(sent), scaled=scaled) == 0.25


def test_errors_of_rows_left_out_are_those_of_fits_without_them() -> None:
    features, targets = seeded(1).normals(12, 3), seeded(2).normals(12, 2)
    found = fit(features, targets, width=1.0, penalty=0.1)
    apart = ((features[:, None] - features[None]) ** 2).sum(2).numpy().astype(float)
    kernel, centred = np.exp(-apart / found.ridge.scale), (targets - targets.mean(0)).numpy()
    for left in range(12):
        others = np.arange(12) != left
        guess = kernel[left, others] @ np.linalg.solve(
            kernel[np.ix_(others, others)] + 0.1 * np.eye(11), centred[others]
        )
        assert np.allclose(found.errors[left], centred[left] - guess, atol=1e-5)
    assert np.allclose(found.ridge(features) - targets.double().mean(0),
                       kernel @ np.linalg.solve(kernel + 0.1 * np.eye(12), centred), atol=1e-5)  # fmt: skip


def test_settings_are_chosen_by_rows_left_out() -> None:
    features = seeded(1).normals(200, 2)
    smooth, noise = features[:, :1].sin(), seeded(2).normals(200, 1)
    assert float(fit_best(features, smooth, 200).errors.square().mean()) < 0.01 * float(smooth.var())
    assert float(fit_best(features, noise, 200).errors.square().mean()) > 0.9 * float(noise.var())


def test_means_of_squares_tell_the_rest(faces: Samples) -> None:
    images, own = faces.pixels(slice(0, 20)), faces.take(slice(20, 100))
    whole = own.pixels().numpy()
    small = whole.reshape(80, -1, 4, 2, 4, 2).mean((3, 5)).reshape(80, -1)
    seen = images.numpy().reshape(20, -1, 4, 2, 4, 2).mean((3, 5)).reshape(20, -1)
    s, x = small - small.mean(0), whole.reshape(80, -1) - whole.reshape(80, -1).mean(0)
    products = s.T @ s + RIDGE * np.mean((s**2).sum(0)) * np.eye(s.shape[1])
    wanted = (seen - small.mean(0)) @ np.linalg.solve(products, s.T @ x) + whole.reshape(80, -1).mean(0)
    found = sharpened(images, own, 2)
    assert np.allclose(found.flatten(1), wanted, atol=2e-3)
    blurred = torch.nn.functional.interpolate(torch.nn.functional.avg_pool2d(images, 2), scale_factor=2)
    assert float((found - images).square().mean()) < float((blurred - images).square().mean())


@pytest.mark.parametrize("scheme", [ShareUpdates("lenet"), ShareUpdates("lenet", sends="weights")])
def test_own_updates_are_those_that_the_scheme_sends(scheme: ShareUpdates, faces: Samples) -> None:
    own = faces.take(slice(0, 3))
    model = scheme.with_estimates(own, None, seeded(1)).start
    assert model is not None
    made = list(own_updates(scheme, model, own, seeded(2)))
    for number, found in enumerate(made):
        wanted, _ = scheme.update(model, own.take(slice(number, number + 1)), seeded(9))
        for name, tensor in wanted.items():  # differences of weights are rounded to 2⁻²⁴ of them
            assert torch.allclose(found[name], tensor, rtol=1e-4, atol=1e-6 if scheme.sends == "gradient" else 1e-7)


@pytest.mark.parametrize("defence", [GradientPruning(0.9), Sign(), Quantised(4), GradientNoise()])
def test_own_updates_are_defended_one_by_one(defence: Defence, faces: Samples) -> None:
    own, scheme = faces.take(slice(0, 2)), ShareUpdates("lenet")
    model = scheme.with_estimates(own, None, seeded(1)).start
    assert model is not None
    chance = seeded(2)
    plain = own_updates(scheme, model, own, seeded(3))
    defended = own_updates(ShareUpdates("lenet", defences=(defence,)), model, own, seeded(2))
    for found, update in zip(defended, plain, strict=True):
        wanted = defence.apply(update, chance)
        assert all(torch.equal(found[name], wanted[name]) for name in wanted)


def test_several_local_steps_are_left_to_the_scheme(faces: Samples) -> None:
    scheme, own = ShareUpdates("lenet", local_epochs=2, sends="weights"), faces.take(slice(0, 2))
    model = scheme.with_estimates(own, None, seeded(1)).start
    assert model is not None
    made = list(own_updates(scheme, model, own, seeded(2)))
    chance = seeded(2)
    for number, found in enumerate(made):
        wanted = scheme.update(model, own.take(slice(number, number + 1)), chance)[0]
        assert all(torch.equal(found[name], wanted[name]) for name in wanted)
