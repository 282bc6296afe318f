"""Taking mixtures apart."""

import numpy as np
import torch

from hideseek.seek.systems.unmixing import unmix


def test_unmixing_solves_for_images_and_weights() -> None:
    generator = np.random.default_rng(0)
    images = generator.standard_normal((6, 40)).astype(np.float32)
    weights = np.zeros((60, 6), np.float32)
    for row in weights:
        chosen = generator.choice(6, 2, replace=False)
        row[chosen] = generator.dirichlet((2, 2))
    rows = torch.from_numpy(weights @ images)
    rough = torch.from_numpy(images + 0.4 * generator.standard_normal(images.shape).astype(np.float32))
    solved, left = unmix(rows, rows, rough, k=2, steps=15)
    np.testing.assert_allclose(solved.numpy(), images, atol=0.02)
    assert left < 1e-4
