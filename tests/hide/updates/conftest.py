"""Images to share updates of."""

import pytest
import torch

from hideseek.chance import seeded
from hideseek.records import Samples


@pytest.fixture
def images() -> Samples:
    """Give ten images of three classes."""
    pixels = seeded(1).normals(10, 1, 8, 8)
    return Samples(pixels, torch.eye(3)[torch.arange(10) % 3])
