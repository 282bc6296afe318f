"""Weights of known images, read from labels."""

import numpy as np
import torch

from hideseek.chance import seeded
from hideseek.hide import SingularizedMixup
from hideseek.seek.systems.weights_from_labels import read_weights
from toys import images


def test_weights_are_exact_where_classes_differ() -> None:
    release, secret = SingularizedMixup(radius=1.0).hide(images(60), None, seeded(0), 2)
    read = read_weights(release.encoded.labels, secret.sources, 60)
    classes = secret.private.labels.argmax(1)[secret.sources]
    differ = (classes[:, 0] != classes[:, 1]).numpy()
    assert 0.5 < differ.mean() < 1
    assert read.exact.all(1).tolist() == differ.tolist()
    np.testing.assert_allclose(read.weights[differ], secret.weights.numpy()[differ], atol=1e-6)
    np.testing.assert_allclose(read.weights[~differ], 0.5, atol=1e-6)


def test_a_class_that_one_image_must_have_no_other_has() -> None:
    """Rows 0 and 1 settle image 1; row 0 then settles image 0, and row 1 image 2. Images 3 and 4 stay open."""
    labels = torch.tensor([[0.4, 0.6, 0.0], [0.0, 0.7, 0.3], [0.2, 0.0, 0.8]])
    read = read_weights(labels, torch.tensor([[0, 1], [1, 2], [3, 4]]), 5)
    np.testing.assert_allclose(read.weights, [[0.4, 0.6], [0.7, 0.3], [0.5, 0.5]], atol=1e-6)
    assert read.exact.tolist() == [[True, True], [True, True], [False, False]]


def test_without_labels_nothing_is_exact() -> None:
    read = read_weights(torch.empty(3, 0), torch.tensor([[0, 1], [1, 2], [2, 0]]), 3)
    np.testing.assert_allclose(read.weights, 0.5)
    assert not read.exact.any()


def test_three_images_in_a_row() -> None:
    """Two of one class share its mass evenly."""
    labels = torch.tensor([[0.6, 0.4], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    sources = torch.tensor([[0, 1, 2], [0, 1, 3], [0, 1, 3], [2, 4, 5]])
    read = read_weights(labels, sources, 6)
    np.testing.assert_allclose(read.weights[0], [0.3, 0.3, 0.4], atol=1e-6)
    assert read.exact[0].tolist() == [False, False, True]
