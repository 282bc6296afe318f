"""Inputs of a dense ReLU layer from its gradient, made by a few lines of NumPy."""

import numpy as np
import pytest
import torch
from torch import Tensor

from hideseek.chance import seeded
from hideseek.seek.systems.layer_images import RANK, layer_images
from hideseek.seek.systems.mixed_inputs import mixed_inputs
from hideseek.seek.systems.peeling import peel
from hideseek.seek.systems.sparse_directions import factors, sparse_directions


def layer_gradient(images: int, neurons: int, offset: float = 0.0, seed: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    """Give A = Σ_i δ_i x̃_i', W̃ and x̃, with δ_ij = 0 wherever (W̃ x̃_i)_j ≤ 0."""
    draw = np.random.default_rng(seed)
    inputs = np.concatenate([draw.normal(size=(images, 60)) + offset, np.ones((images, 1))], 1)
    layer = draw.uniform(-1, 1, (neurons, 61)) / 60**0.5
    errors = draw.normal(size=(images, neurons)) * (inputs @ layer.T > 0)
    found = torch.from_numpy((errors.T @ inputs).astype(np.float32)), torch.from_numpy(layer)
    return *found, torch.from_numpy(inputs)


def distances(found: Tensor, truth: Tensor) -> Tensor:
    """Give how far each found input is from the nearest true one."""
    return torch.cdist(found.double(), truth).min(1).values


def test_every_input_is_found_and_certified() -> None:
    matrix, layer, truth = layer_gradient(12, 300)
    found = layer_images(matrix, layer, 8, seeded(1))
    assert (found.rank, len(found.inputs), bool(found.sure.all())) == (12, 12, True)
    assert float(distances(found.inputs, truth).max()) < 1e-4
    assert float(distances(truth, found.inputs.double()).max()) < 1e-4


def test_neurons_of_one_image_are_peeled_off() -> None:
    matrix, layer, truth = layer_gradient(12, 300, offset=2.0)
    rest, inputs, errors = peel(factors(matrix.double(), layer, RANK))
    assert rest.rank + len(inputs) == 12
    assert len(inputs) > 6
    assert float(distances(inputs, truth).max()) < 1e-3
    silent = inputs @ layer.T < 0
    assert float((errors.abs() * silent).max()) < 1e-4 * float(errors.abs().max())


def test_directions_are_orthogonal_to_all_images_but_one() -> None:
    matrix, layer, truth = layer_gradient(10, 200)
    parts = factors(matrix.double(), layer, RANK)
    found = sparse_directions(parts, seeded(1), 8)
    products = (found @ parts.right @ truth.T).abs()
    assert len(found) == 10
    assert sorted(products.argmax(1).tolist()) == list(range(10))
    assert float((products.sort(1).values[:, -2] / products.amax(1)).max()) < 1e-4


@pytest.mark.parametrize("noise", [1e-3, 1.0])
def test_noise_certifies_nothing(noise: float) -> None:
    matrix, layer, _ = layer_gradient(8, 200)
    noisy = matrix + noise * matrix.std() * seeded(2).normals(*matrix.shape)
    assert not bool(layer_images(noisy, layer, 4, seeded(1)).sure.any())


def test_a_smooth_activation_certifies_nothing() -> None:
    _, layer, truth = layer_gradient(4, 200)
    smooth = (torch.from_numpy(np.random.default_rng(3).normal(size=(200, 4))) @ truth).float()
    found = layer_images(smooth, layer, 4, seeded(1))
    assert found.rank == 4
    assert not bool(found.sure.any())


def test_mixtures_are_ratios_of_rows() -> None:
    matrix, _, _ = layer_gradient(3, 50)
    for guess in mixed_inputs(matrix.double(), 3):
        ratios = (matrix / matrix[:, -1:]).nan_to_num(1e9)
        assert float((ratios - guess).abs().amax(1).min()) < 1e-3
        assert guess[-1] == pytest.approx(1.0)
