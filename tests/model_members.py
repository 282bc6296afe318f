"""Models that know their images by heart, or nothing of them, within milliseconds: ridge regression."""

from dataclasses import replace

import torch
from torch import nn

from hideseek.audit.trained_model import TrainedBy
from hideseek.chance import Randomness, seeded
from hideseek.models import build
from hideseek.records import Samples
from hideseek.records.model_release import ModelRelease
from hideseek.records.model_secret import ModelSecret
from hideseek.train.trained import Trained

CLASSES, SIDE = 5, 12


def noise_images(count: int, seed: int) -> Samples:
    """Noise with labels that follow from nothing: whoever answers them rightly has seen them."""
    chance = seeded(seed)
    labels = torch.eye(CLASSES)[(chance.uniforms(count) * CLASSES).long()]
    return Samples(chance.normals(count, 1, SIDE, SIDE), labels)


def ridge(penalty: float, samples: Samples, chance: Randomness) -> Trained:
    """Solve for a linear model: W = Yᵀ X (Xᵀ X + penalty)⁻¹, times 8."""
    images = samples.pixels().flatten(1)
    inner = images.T @ images + penalty * torch.eye(images.shape[1])
    network = build("linear", samples.shape, samples.labels.shape[1])
    head = network.head
    assert isinstance(head, nn.Linear)
    with torch.no_grad():
        head.weight.copy_(8 * torch.linalg.solve(inner, images.T @ samples.labels).T)
        head.bias.zero_()
    return Trained(network.eval(), "linear", samples.shape, tuple(map(str, range(samples.labels.shape[1]))))


def by_heart(samples: Samples, chance: Randomness) -> Trained:
    return ridge(1.0, samples, chance)


def of_nothing(samples: Samples, chance: Randomness) -> Trained:
    """Learn from other noise, so that the samples have no part in it."""
    labels = torch.eye(CLASSES)[(chance.uniforms(len(samples)) * CLASSES).long()]
    return ridge(1.0, Samples(chance.normals(len(samples), 1, SIDE, SIDE), labels), chance)


def model_release(count: int, knows: bool) -> tuple[ModelRelease, ModelSecret]:
    """A model, as one sees it who has candidates with labels."""
    private, others = noise_images(count, 1), noise_images(count, 2)
    release, secret = TrainedBy("ridge", by_heart if knows else of_nothing).hide(private, None, seeded(3))
    secret = replace(secret, others=others, other_labels=others.labels)
    return secret.reveal(release, ("candidates", "labels")), secret
