"""Images solved for in smooth networks: what determines them, and what is left open."""

import numpy as np
import pytest
import torch
from torch import nn

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.seek.systems.known_inputs import KnownInputs
from hideseek.seek.systems.smooth_inversion import SmoothInversion, photographs
from hideseek.seek.systems.update_views import OneGradient
from hideseek.similarity import correlation
from hideseek.train.gradients import gradient, parameters_of

SHAPE = (3, 16, 16)


def smooth_network(channels: int, stride: int) -> nn.Module:
    """Give a chain of a convolution, a sigmoid, and a head."""
    with torch.random.fork_rng():
        torch.manual_seed(3)
        side = 16 // stride
        return nn.Sequential(
            nn.Conv2d(3, channels, 3, stride, 1), nn.Sigmoid(), nn.Flatten(), nn.Linear(channels * side**2, 4)
        )


def solved(network: nn.Module, images: torch.Tensor, conjugate: int = 20) -> torch.Tensor:
    """Solve for images of which the head's input and the gradient are known."""
    labels = torch.eye(4)[: len(images)]
    with torch.no_grad():
        values = network[:3](images)  # type: ignore[index]
    inputs = KnownInputs.of(network, "3", values, torch.ones(len(images), dtype=torch.bool), SHAPE)
    assert inputs is not None
    view = OneGradient(network, parameters_of(network))
    update = list(gradient(network, view.parameters, images, labels).values())
    return SmoothInversion(view, inputs, update, labels, SHAPE).images(conjugate)


@pytest.fixture
def images() -> torch.Tensor:
    faces = normalise(load("faces", size=16), "channel").take(torch.tensor([0, 50, 100]))
    return faces.pixels().expand(-1, 3, -1, -1).contiguous()


def test_images_come_back_where_inputs_determine_them(images: torch.Tensor) -> None:
    found = solved(smooth_network(12, 1), images, 40)  # 3,072 equations for 768 pixels
    assert float((found - images).norm() / images.norm()) < 0.05


def test_what_inputs_leave_open_stays_likely(images: torch.Tensor) -> None:
    found = solved(smooth_network(6, 2), images)  # 384 equations for 768 pixels
    assert float(correlation(found, images).min()) > 0.9


def test_what_is_not_known_is_not_found(images: torch.Tensor) -> None:
    network, other = smooth_network(12, 1), images.roll(1, 0)
    found = solved(network, other)
    assert float(correlation(found, images).max()) < 0.9


def test_waves_and_their_transpose_agree() -> None:
    waves, chance = photographs(SHAPE), seeded(1)
    spectra, some = chance.normals(2, *SHAPE), chance.normals(2, *SHAPE)
    left = float((waves.images(spectra) * some).sum())
    right = float((spectra * waves.transposed(some)).sum())
    assert np.isclose(left, right, rtol=1e-4)


def test_deviations_fall_as_those_of_photographs_to_a_power() -> None:
    deviations = photographs(SHAPE).basis.deviations.numpy()
    down, across = np.mgrid[:16, :16] / 16
    energy = 1 / (down**2 + across**2 + 1 / 256)
    expected = (energy / energy.mean()) ** 0.75
    ratio = deviations[0] / expected
    assert np.allclose(ratio, ratio[0, 0], rtol=1e-5)
