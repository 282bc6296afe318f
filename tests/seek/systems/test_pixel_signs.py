import numpy as np
import pytest
import torch

from hideseek.seek.systems.pixel_signs import aligned


def field(height: int, width: int, noise: float) -> tuple[torch.Tensor, torch.Tensor]:
    """A smooth field of vectors, with noise, whose signs were flipped at random."""
    chance = np.random.default_rng(0)
    down, across = np.mgrid[:height, :width] / max(height, width)
    waves = [np.cos(a * down + b * across + c) for a, b, c in chance.uniform(-4, 4, (20, 3))]
    smooth = np.stack(waves) + noise * chance.standard_normal((20, height, width))
    flips = chance.choice([-1.0, 1.0], (height, width))
    return torch.from_numpy(smooth).float(), torch.from_numpy(smooth * flips).float()


@pytest.mark.parametrize("shape", [(12, 9), (1, 20), (5, 1), (2, 2)])
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_signs_are_those_of_a_smooth_field_but_for_one(shape: tuple[int, int], noise: float) -> None:
    smooth, flipped = field(*shape, noise)
    found = aligned(flipped)
    assert torch.equal(found, smooth) or torch.equal(found, -smooth)


def test_nothing_but_signs_changes() -> None:
    noise = torch.from_numpy(np.random.default_rng(0).standard_normal((6, 5, 4), dtype=np.float32))
    assert torch.equal(aligned(noise).abs(), noise.abs())
