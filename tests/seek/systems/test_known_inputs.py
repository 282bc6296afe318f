"""Known inputs of a layer as an aim: their misfit, and its derivative in the objective."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from hideseek.chance import seeded
from hideseek.models import build
from hideseek.seek.systems.gradient_distance import Cosine
from hideseek.seek.systems.known_inputs import KnownInputs
from hideseek.seek.systems.matching_objective import Objective
from hideseek.seek.systems.matching_prior import Prior
from hideseek.seek.systems.update_views import OneGradient
from hideseek.train.gradients import parameters_of
from hideseek.train.worker import torch_seed

SHAPE = (3, 16, 16)
LABELS = torch.eye(4)[torch.tensor([0, 2])]


def test_the_misfit_is_that_of_the_certain_images() -> None:
    with torch_seed(1):
        network = build("lenet", SHAPE, 4)
    images = seeded(1).normals(2, *SHAPE)
    values, grey, other = (
        network.features[:4](each).detach()  # type: ignore[index,operator]
        for each in (images, torch.zeros(2, *SHAPE), seeded(2).normals(2, *SHAPE))
    )
    known = KnownInputs.of(network, "features.4", values, torch.tensor([False, True]), SHAPE)
    assert known is not None
    apart = np.linalg.norm((other - values)[1].numpy()) / np.linalg.norm((grey - values)[1].numpy())
    assert float(known.misfit(other)) == pytest.approx(float(apart) / 2**3, rel=1e-4)  # two layers before it
    assert float(known.misfit(values)) == 0.0
    assert KnownInputs.of(network, "features.4", values, torch.tensor([False, False]), SHAPE) is None


@pytest.mark.parametrize("difference", [True, False])
def test_the_derivative_is_that_of_the_sum(difference: bool) -> None:
    with torch_seed(1):
        network = build("lenet", SHAPE, 4)
    images, other = seeded(1).normals(2, *SHAPE), seeded(2).normals(2, *SHAPE)
    view = OneGradient(network, parameters_of(network))
    comparison = Cosine().to([each.detach() for each in view.tensors(images, LABELS)])
    values = network.features[:4](images).detach()  # type: ignore[index,operator]
    known = KnownInputs.of(network, "features.4", values, torch.tensor([True, True]), SHAPE)
    assert known is not None
    bare = Objective(view, comparison, Prior(), difference=difference)
    both = replace(bare, inputs=known, inputs_weight=1e3)
    one, two = (each(other.clone().requires_grad_(), None, LABELS) for each in (bare, both))
    leaf = other.clone().requires_grad_()
    misfit = known.misfit(network.features[:4](leaf))  # type: ignore[index,operator]
    (slope,) = torch.autograd.grad(misfit, leaf)
    assert two.value - one.value == pytest.approx(1e3 * float(misfit.detach()), rel=1e-2)
    found = (two.derivatives[0] - one.derivatives[0]) / 1e3
    assert float((found - slope).norm() / slope.norm()) < 0.05
