"""The derivative of the objective: by one more pass as by double backward, with every term, in every mode."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from hideseek.chance import seeded
from hideseek.models import build
from hideseek.seek.systems import matching_objective
from hideseek.seek.systems.gradient_distance import Cosine
from hideseek.seek.systems.matching_objective import Objective
from hideseek.seek.systems.matching_prior import Prior
from hideseek.seek.systems.update_labels import counted_labels
from hideseek.seek.systems.update_views import OneGradient
from hideseek.train.batch_statistics import batch_statistics
from hideseek.train.gradients import gradient, parameters_of
from hideseek.train.worker import torch_seed

SHAPE = (3, 16, 16)
LABELS = torch.eye(4)[torch.tensor([0, 2])]


def objective(name: str, mode: str = "eval") -> tuple[Objective, Tensor]:
    with torch_seed(1):
        network = build(name, SHAPE, 4).train(mode == "train")
    images, other = seeded(1).normals(2, *SHAPE), seeded(2).normals(2, *SHAPE)
    view = OneGradient(network, parameters_of(network))
    wanted = [each.detach() for each in view.tensors(images, LABELS)]
    aims = batch_statistics(network, images)
    return Objective(view, Cosine(0.5).to(wanted), Prior(1e-2, 1e-3), aims=aims, aims_weight=1e-2), other


@pytest.mark.parametrize("mode", ["eval", "train"])
@pytest.mark.parametrize("name", ["lenet", "convnet", "small-resnet", "tanh-convnet"])
def test_one_more_pass_is_as_good_as_double_backward(name: str, mode: str) -> None:
    exact, images = objective(name, mode)
    quick = replace(exact, difference=True)
    one, other = (each(images.clone().requires_grad_(), None, LABELS) for each in (exact, quick))
    assert one.value == pytest.approx(other.value, rel=1e-4)
    first, second = one.derivatives[0].flatten(), other.derivatives[0].flatten()
    assert float(torch.cosine_similarity(first, second, dim=0)) > 0.99
    assert float(second.norm() / first.norm()) == pytest.approx(1.0, abs=0.05)


def test_the_right_images_leave_the_prior_alone() -> None:
    found, _ = objective("small-resnet")
    images = seeded(1).normals(2, *SHAPE)
    here = replace(found, prior=Prior())(images.requires_grad_(), None, LABELS)
    assert here.value == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize("name", ["small-resnet", "resnet20"])
def test_one_more_pass_holds_in_train_mode_where_statistics_move_with_the_weights(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, images = objective(name, "train")
    network, labels = found.view.network.double(), LABELS.double()
    view = OneGradient(network, parameters_of(network))
    wanted = [each.detach() for each in view.tensors(seeded(1).normals(2, *SHAPE).double(), labels)]
    exact = replace(found, view=view, comparison=Cosine(0.5).to(wanted), aims={})
    derivative = exact(images.double().requires_grad_(), None, labels).derivatives[0]
    apart = []
    for step in (1e-4, 1e-5):  # the first is the attack's, where float32 allows no smaller one
        monkeypatch.setattr(matching_objective, "STEP", step)
        quick = replace(exact, difference=True)(images.double().requires_grad_(), None, labels).derivatives[0]
        apart.append(float((quick - derivative).norm() / derivative.norm()))
    assert apart[1] < 1e-3
    assert apart[0] / apart[1] == pytest.approx(10, rel=0.05)  # nothing is left but the length of the step


@pytest.mark.parametrize("classes", [[3], [0, 2], [1, 1, 3], [0, 1, 2, 2]])
def test_labels_of_a_batch(classes: list[int]) -> None:
    with torch_seed(1):
        network = build("lenet", SHAPE, 10)
        torch.nn.init.normal_(network.head.weight, std=1e-2)  # type: ignore[arg-type,union-attr] # knows nothing yet
    labels = torch.eye(10)[torch.tensor(classes)]
    update = gradient(network, parameters_of(network), seeded(1).normals(len(classes), *SHAPE), labels)
    assert counted_labels(network, update, len(classes), 10).equal(labels)
