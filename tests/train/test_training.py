import math

import pytest
import torch

from hideseek.errors import BadInput
from hideseek.train.recipes import RECIPES
from hideseek.train.schedules import Constant, Cosine, Steps
from hideseek.train.training import SGD, AdamW, Training


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
