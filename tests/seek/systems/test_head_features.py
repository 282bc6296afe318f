"""The last features of a batch from the gradient of the head, against NumPy."""

import numpy as np
import pytest
import torch

from hideseek.seek.systems.head_features import head_features


@pytest.mark.parametrize("labels", [[3], [0, 4, 2], [1, 5, 3, 0, 2], [2, 2, 4]])
def test_features_and_errors_of_every_image(labels: list[int]) -> None:
    chance = np.random.default_rng(1)
    weight, bias = chance.normal(size=(6, 20)), chance.normal(size=6)
    features = chance.uniform(size=(len(labels), 20))
    truth = np.eye(6)[labels]
    logits = features @ weight.T + bias
    errors = np.exp(logits) / np.exp(logits).sum(1, keepdims=True) - truth
    by_weight, by_bias = errors.T @ features / len(labels), errors.mean(0)
    found = head_features(*(torch.tensor(each) for each in (weight, bias, by_weight, by_bias, truth)))
    assert found is not None
    order = list(range(len(labels)))
    if len(set(labels)) < len(labels):  # two images of a label have no order
        swapped = np.linalg.norm(found.features[0].numpy() - features[0]) > 1e-3
        order = [1, 0, 2] if swapped else order
    np.testing.assert_allclose(found.features.numpy(), features[order], atol=1e-5)
    np.testing.assert_allclose(found.errors.numpy(), errors[order], atol=1e-5)


def test_more_images_than_classes_and_noise_are_left() -> None:
    chance = np.random.default_rng(1)
    weight, bias, noise = (torch.tensor(chance.normal(size=size)) for size in ((4, 20), 4, (4, 20)))
    assert head_features(weight, bias, noise, bias, torch.eye(4)[[0, 1, 2, 3, 0]].double()) is None
    assert head_features(weight, bias, noise, bias, torch.eye(4)[[0, 1]].double()) is None
