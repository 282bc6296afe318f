"""Distances of gradients and total variation against a few lines of NumPy, and their derivatives against autograd."""

import numpy as np
import pytest
import torch
from torch import Tensor

from hideseek.chance import seeded
from hideseek.seek.systems.gradient_distance import Cosine, Distance, Squared
from hideseek.seek.systems.image_total_variation import total_variation


def tensors(seed: int) -> list[Tensor]:
    chance = seeded(seed)
    return [chance.normals(3, 2), 10 * chance.normals(4), 0.1 * chance.normals(2, 2, 2)]


def reference(distance: Distance, found: list[Tensor], target: list[Tensor], kept: list[Tensor]) -> float:
    weights = [float(np.sqrt((each.numpy() ** 2).mean())) ** -distance.balance for each in target]
    g, t = (
        np.concatenate([(w * each * on).numpy().ravel() for w, each, on in zip(weights, some, kept, strict=True)])
        for some in (found, target)
    )
    if isinstance(distance, Cosine):
        return float(1 - g @ t / np.linalg.norm(g) / np.linalg.norm(t))
    return float(((g - t) ** 2).sum() / (t**2).sum())


@pytest.mark.parametrize("pruned", [False, True])
@pytest.mark.parametrize("distance", [Cosine(), Squared(), Cosine(0.5), Squared(1.0)])
def test_a_distance_and_its_derivative(distance: Distance, pruned: bool) -> None:
    found, target = tensors(1), tensors(2)
    kept = [each.abs() > (0.5 * each.abs().max() if pruned else -1.0) for each in target]
    comparison = distance.to(target, kept if pruned else None)
    assert comparison(found).value == pytest.approx(reference(distance, found, target, kept), rel=1e-5)
    for number, slope in enumerate(comparison(found).derivatives):
        step = 1e-2 * tensors(3)[number]
        up, down = ([each + sign * step if at == number else each for at, each in enumerate(found)] for sign in (1, -1))
        difference = (comparison(up).value - comparison(down).value) / 2
        assert float((slope * step).sum()) == pytest.approx(float(difference), rel=0.02, abs=1e-6)


@pytest.mark.parametrize("inside", [0.0, 0.5])
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("distance", [Cosine(), Squared(), Cosine(0.5), Squared(1.0)])
def test_a_distance_to_intervals_and_its_derivative(distance: Distance, exact: bool, inside: float) -> None:
    found, target = tensors(1), tensors(2)
    widths = [0.3 * each.abs().mean() * ((each > 0) if exact else torch.ones_like(each)) for each in target]
    low, high = ([each + sign * width for each, width in zip(target, widths, strict=True)] for sign in (-1, 1))
    comparison = distance.to_allowed(target, low, high, inside)
    weights = [float(np.sqrt((each.numpy() ** 2).mean())) ** -distance.balance for each in target]
    g, t, least, most = (
        np.concatenate([w * each.numpy().ravel() for w, each in zip(weights, some, strict=True)])
        for some in (found, target, low, high)
    )
    points = least == most if exact else np.ones_like(g, dtype=bool)
    u = g * np.linalg.norm(t[points]) / np.linalg.norm(g[points]) if isinstance(distance, Cosine) else g
    wanted = ((u - np.clip(u, least, most)) ** 2).sum() + inside * ((u - t) ** 2).sum()
    wanted /= (t**2).sum() * (2 if isinstance(distance, Cosine) else 1)
    assert comparison(found).value == pytest.approx(wanted, rel=1e-4)
    for number, slope in enumerate(comparison(found).derivatives):
        step = 1e-2 * tensors(3)[number]
        up, down = ([each + sign * step if at == number else each for at, each in enumerate(found)] for sign in (1, -1))
        difference = (comparison(up).value - comparison(down).value) / 2
        assert float((slope * step).sum()) == pytest.approx(float(difference), rel=0.02, abs=1e-5)


def test_points_are_compared_as_ever_and_what_is_allowed_is_at_no_distance() -> None:
    found, target = tensors(1), tensors(2)
    for distance in (Cosine(0.5), Squared(0.5)):
        points, plain = distance.to_allowed(target, target, target)(found), distance.to(target)(found)
        assert float(points.value) == pytest.approx(float(plain.value), rel=1e-5)
        for one, other in zip(points.derivatives, plain.derivatives, strict=True):
            assert torch.allclose(one, other, rtol=1e-4, atol=1e-6)
        low, high = ([torch.where(each > 0, *ends) for each in found] for ends in ((0.0, -9e9), (9e9, 0.0)))
        assert float(distance.to_allowed(target, low, high)(found).value) == 0.0


def test_a_gradient_is_no_distance_from_itself() -> None:
    for distance in (Cosine(), Squared(), Cosine(1.0)):
        assert float(distance.to(tensors(1))(tensors(1)).value) == pytest.approx(0.0, abs=1e-6)
    assert float(Cosine().to(tensors(1))([3 * each for each in tensors(1)]).value) == pytest.approx(0.0, abs=1e-6)
    assert all(bool(each.isfinite().all()) for each in Cosine(0.5).to([torch.zeros(3)])([torch.zeros(3)]).derivatives)


@pytest.mark.parametrize("masked", [False, True])
def test_total_variation(masked: bool) -> None:
    images = seeded(1).normals(2, 3, 5, 4).requires_grad_()
    pixels = images.abs() if masked else images
    wanted = pixels.diff(dim=2).abs().mean() + pixels.diff(dim=3).abs().mean()
    value, slope = total_variation(images.detach(), masked=masked)
    plain = np.abs(images.detach().numpy()) if masked else images.detach().numpy()
    assert float(value) == pytest.approx(
        np.abs(np.diff(plain, axis=2)).mean() + np.abs(np.diff(plain, axis=3)).mean(), rel=1e-5
    )
    assert torch.allclose(slope, torch.autograd.grad(wanted, images)[0], atol=1e-7)


def test_an_image_of_one_pixel_varies_by_nothing() -> None:
    value, slope = total_variation(torch.ones(1, 3, 1, 1))
    assert float(value) == float(slope.abs().sum()) == 0.0
