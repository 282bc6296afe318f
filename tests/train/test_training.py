import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from hideseek.errors import BadInput
from hideseek.train.muon import orthogonal
from hideseek.train.recipes import RECIPES
from hideseek.train.schedules import Constant, Cosine, Steps
from hideseek.train.training import SGD, AdamW, Muon, Training, automatic


def test_instahide_schedule_is_that_of_its_table_3() -> None:
    """×0.1 at the 100th and 150th of 200 epochs (CIFAR-10); ×0.1 at the 15th of 30 (MNIST)."""
    cifar, mnist = RECIPES["instahide-cifar10"], RECIPES["instahide-mnist"]
    rates = [cifar.rate(epoch / 200) for epoch in (0, 99, 100, 149, 150, 199)]
    assert rates == pytest.approx([0.1, 0.1, 0.01, 0.01, 0.001, 0.001])
    assert [mnist.rate(epoch / 30) for epoch in (0, 14, 15, 29)] == pytest.approx([0.1, 0.1, 0.01, 0.01])
    assert (cifar.epochs, cifar.batch, mnist.epochs, mnist.batch) == (200, 128, 30, 128)
    assert cifar.optimiser == SGD(0.1, 0.9, 1e-4)


def test_gradient_inversion_schedule_is_that_of_its_appendix() -> None:
    training = RECIPES["gradient-inversion"]
    rates = [training.rate(epoch / 200) for epoch in (0, 50, 100, 150)]
    assert rates == pytest.approx([0.1, 0.01, 0.001, 0.0001])


def test_cosine_against_torch() -> None:
    optimiser = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    theirs = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, 20)
    for epoch in range(20):
        assert Cosine().factor(epoch / 20) == pytest.approx(theirs.get_last_lr()[0], abs=1e-9)
        optimiser.step()
        theirs.step()


def test_a_warm_start_rises_to_the_rate() -> None:
    schedule = Cosine(warm=0.25)
    assert [schedule.factor(share) for share in (0, 0.125, 0.25)] == pytest.approx([0, 0.5, 1])
    assert Steps((0.5,), 0.2).factor(0.5) == 0.2
    assert Constant().factor(0.9) == 1


@pytest.mark.parametrize("optimiser", [SGD(0.1, 0.9, 0.01), AdamW(0.1, 0.01)])
def test_optimisers_take_the_step_of_the_textbook(optimiser: SGD | AdamW) -> None:
    """Two steps on the gradient 1, from the weight 2."""
    weight = torch.nn.Parameter(torch.tensor(2.0))
    built = optimiser.build([weight])
    value, speed, first, second = 2.0, 0.0, 0.0, 0.0
    for step in (1, 2):
        weight.grad = torch.tensor(1.0)
        built.step()
        if isinstance(optimiser, SGD):
            speed = 0.9 * speed + 1 + 0.01 * value
            value -= 0.1 * speed
        else:
            first, second = 0.9 * first + 0.1, 0.999 * second + 0.001
            value -= 0.1 * 0.01 * value
            value -= 0.1 * (first / (1 - 0.9**step)) / (math.sqrt(second / (1 - 0.999**step)) + 1e-8)
        assert weight.item() == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("wrong", [{"epochs": 0}, {"batch": 0}, {"optimiser": SGD(rate=0)}])
def test_impossible_trainings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(BadInput):
        Training(**{"epochs": 1, **wrong})  # type: ignore[arg-type]


def _through_svd(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """What five steps of the quintic make of a matrix, by its singular values."""
    left, values, right = np.linalg.svd(matrix.astype(np.float64), full_matrices=False)
    values = values / np.sqrt((values**2).sum())
    for _ in range(5):
        values = 3.4445 * values - 4.7750 * values**3 + 2.0315 * values**5
    made: NDArray[np.float64] = (left * values) @ right
    return made


@pytest.mark.parametrize("shape", [(8, 27), (27, 8), (16, 16)])
def test_muon_makes_every_direction_equally_long(shape: tuple[int, int]) -> None:
    """Against NumPy's singular values: wide, tall and square matrices, and columns of very different lengths."""
    generator = torch.Generator().manual_seed(1)
    matrix = torch.randn(*shape, generator=generator) * torch.logspace(0, -4, shape[1])
    for each in (matrix, torch.randn(*shape, generator=generator)):
        np.testing.assert_allclose(orthogonal(each).numpy(), _through_svd(each.numpy()), atol=2e-3)
    values = np.linalg.svd(orthogonal(torch.randn(8, 27, generator=generator)).numpy())[1]
    assert 0.6 < values.min() <= values.max() < 1.25
    assert not orthogonal(torch.zeros(*shape)).any()


def test_muon_takes_the_step_of_its_definition() -> None:
    """Two steps on a kernel of 4×1×1×2 (taller than wide, so √2 longer), and on a bias by SGD at twice the rate."""
    generator = np.random.default_rng(2)
    kernel, bias = torch.nn.Parameter(torch.ones(4, 1, 1, 2)), torch.nn.Parameter(torch.tensor([2.0]))
    built = Muon(0.1, 0.5, 0.01, SGD(0.2, 0.9, 0.03)).build([bias, kernel])
    weights, speed, value, fall = np.ones((4, 2)), np.zeros((4, 2)), 2.0, 0.0
    for factor in (1.0, 0.5):  # as schedules change both rates
        slope = generator.normal(size=(4, 2))
        kernel.grad = torch.tensor(slope, dtype=torch.float32).view(4, 1, 1, 2)
        bias.grad = torch.tensor([1.0])
        for group in built.param_groups:
            group["lr"] = 0.1 * factor * group["ratio"]
        built.step()
        speed = 0.5 * speed + slope
        weights = weights * (1 - 0.1 * factor * 0.01) - 0.1 * factor * 2**0.5 * _through_svd(slope + 0.5 * speed)
        fall = 0.9 * fall + 1 + 0.03 * value
        value -= 0.2 * factor * fall
    np.testing.assert_allclose(kernel.detach().numpy()[:, 0, 0], weights, atol=1e-4)
    assert bias.item() == pytest.approx(value, rel=1e-5)


def test_without_convolutions_muon_is_sgd() -> None:
    weights = [torch.nn.Parameter(torch.ones(3, 2)) for _ in range(2)]
    plain = SGD(0.2, 0.9, 0.01)
    optimisers = Muon(0.3, others=plain).build(weights[:1]), plain.build(weights[1:])
    for weight, built in zip(weights, optimisers, strict=True):
        for _ in range(3):
            weight.grad = torch.arange(6.0).view(3, 2)
            built.step()
    torch.testing.assert_close(*weights)


def test_muon_is_for_large_batches_of_gradients_that_nobody_shares() -> None:
    assert isinstance(automatic(50_000).optimiser, Muon)
    assert automatic(50_000, descends=True) == replace(automatic(50_000), optimiser=SGD(0.1, 0.9, 5e-4))
    assert automatic(160) == automatic(160, descends=True) == Training(50, 8, SGD(0.1 / 16, 0.9, 5e-4), Cosine(0.2))
