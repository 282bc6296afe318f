"""The derivative of the objective: by one more pass as by double backward, with every term, in every mode."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from hideseek.chance import seeded
from hideseek.models import build
from hideseek.seek.systems.batch_norm_aims import derived, misfit
from hideseek.seek.systems.gradient_distance import Cosine
from hideseek.seek.systems.matching_objective import Objective
from hideseek.seek.systems.matching_prior import Prior
from hideseek.seek.systems.update_labels import counted_labels, estimated_size
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


def test_statistics_of_a_batch_follow_from_running_ones() -> None:
    network = build("small-resnet", SHAPE, 4).train()
    images = seeded(1).normals(4, *SHAPE)
    before = {name: each.clone() for name, each in network.state_dict().items()}
    seen = batch_statistics(network, images)
    network(images)
    found = derived(network, before, network.state_dict(), steps=1, size=4)
    assert set(found) == set(seen)
    first = next(iter(seen))  # 8×8 places of 4 images: variances of samples are hardly larger
    assert torch.allclose(found[first][0], seen[first][0], atol=1e-4)
    assert torch.allclose(found[first][1], seen[first][1], rtol=0.02)
    assert float(misfit(seen, seen)) == 0.0


@pytest.mark.parametrize("classes", [[3], [0, 2], [1, 1, 3], [0, 1, 2, 2]])
def test_labels_and_the_size_of_a_batch(classes: list[int]) -> None:
    with torch_seed(1):
        network = build("lenet", SHAPE, 10)
        torch.nn.init.normal_(network.head.weight, std=1e-2)  # type: ignore[arg-type,union-attr] # knows nothing yet
    labels = torch.eye(10)[torch.tensor(classes)]
    update = gradient(network, parameters_of(network), seeded(1).normals(len(classes), *SHAPE), labels)
    assert counted_labels(network, update, len(classes), 10).equal(labels)
    assert estimated_size(network, update, 10) == len(classes)
