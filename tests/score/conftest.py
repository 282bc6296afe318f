"""A release whose truth is known, small enough to judge in a moment."""

import numpy as np
import pytest
import torch

from hideseek.chance import seeded
from hideseek.data.normalise import normalise
from hideseek.hide import InstaHide
from hideseek.records import Samples
from hideseek.records.mixing_secret import MixingSecret

PUBLIC = 60


def smooth(count: int, channels: int = 3, side: int = 16, seed: int = 0, classes: int = 4) -> Samples:
    """Smooth random pictures as bytes: a coarse random pattern, enlarged."""
    generator = np.random.default_rng(seed)
    coarse = generator.integers(0, 256, (count, channels, side // 4, side // 4))
    pixels = np.kron(coarse, np.ones((1, 1, 4, 4))) * 0.8 + generator.integers(0, 51, (count, channels, side, side))
    labels = torch.eye(classes)[torch.arange(count) % classes]
    return Samples(torch.from_numpy(pixels.astype(np.uint8)), labels, torch.full((1, 1), 1 / 255))


def secret_of(private: Samples, rounds: int = 1, seed: int = 0) -> MixingSecret:
    """The truth behind an InstaHide release of two private and two public images a row."""
    public = smooth(PUBLIC, private.shape[0], private.shape[1], 9)
    _, secret = InstaHide(k=4, k_private=2).hide(private, public, seeded(seed), rounds)
    return secret


@pytest.fixture(scope="session", params=["channel", "image"])
def normalised(request: pytest.FixtureRequest) -> MixingSecret:
    """Twice twenty rows of images that are normalised in either way."""
    return secret_of(normalise(smooth(20), request.param), rounds=2)


@pytest.fixture(scope="session")
def often() -> MixingSecret:
    """Thirty times eight rows."""
    return secret_of(normalise(smooth(8), "channel"), rounds=30)


@pytest.fixture(scope="session")
def secret() -> MixingSecret:
    """Twice twenty-four rows."""
    return secret_of(normalise(smooth(24), "channel"), rounds=2)
