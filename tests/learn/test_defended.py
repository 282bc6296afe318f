"""Learning by defended gradients: every step goes through the defences, and every epoch is encoded anew."""

from dataclasses import dataclass, replace

import pytest
import torch

import toys
from hideseek.chance import Randomness, seeded
from hideseek.errors import BadInput
from hideseek.hide import InstaHide, Laplace
from hideseek.hide.updates import GradientNoise, GradientPruning, ShareUpdates
from hideseek.learn import Defended, Plain, Source, learn
from hideseek.records.defence import Defence
from hideseek.train.training import SGD, Training
from hideseek.train.worker import Worker

HERE = Worker(torch.device("cpu"))
IMAGES = toys.images(20)
TRAINING = Training(2, 5, SGD(0.1, momentum=0.0, decay=0.0))


@dataclass(frozen=True)
class Halved(Defence):
    """Halve every gradient."""

    def apply(self, update: dict[str, torch.Tensor], chance: Randomness) -> dict[str, torch.Tensor]:
        return {name: tensor / 2 for name, tensor in update.items()}


def weights(source: Source, training: Training = TRAINING) -> torch.Tensor:  # type: ignore[type-arg]
    network = learn(source, "linear", training, chance=seeded(1)).trained.network
    return torch.cat([parameter.detach().flatten() for parameter in network.parameters()])


def test_no_defence_is_plain_training() -> None:
    assert torch.allclose(weights(Defended(IMAGES, ShareUpdates("linear"))), weights(Plain(IMAGES)), atol=1e-6)


def test_every_gradient_is_defended() -> None:
    halved = weights(Defended(IMAGES, ShareUpdates("linear", defences=(Halved(), Halved()))))
    quarter = weights(Plain(IMAGES), replace(TRAINING, optimiser=SGD(0.025, momentum=0.0, decay=0.0)))
    assert torch.allclose(halved, quarter, atol=1e-6)
    pruned = weights(Defended(IMAGES, ShareUpdates("linear", defences=(GradientPruning(0.9),))))
    assert not torch.allclose(pruned, weights(Plain(IMAGES)), atol=1e-3)


def test_noise_is_that_of_the_defence() -> None:
    client = ShareUpdates("linear", defences=(GradientNoise(clip=1e-6, noise=1e6),))
    moved = weights(Defended(IMAGES, client)) - weights(Plain(IMAGES), replace(TRAINING, optimiser=SGD(1e-9)))
    deviation = 0.1 * 8**0.5  # eight steps of N(0, 1), at a rate of 0.1
    assert abs(float(moved.std()) / deviation - 1) < 5 / (2 * len(moved)) ** 0.5  # five standard errors


def test_images_are_encoded_anew() -> None:
    source = Defended(IMAGES, ShareUpdates("linear", encoding=InstaHide(k=2)))
    epochs = source.batches(TRAINING, seeded(1), 1, HERE)
    first, second = (torch.cat([batch[0] for batch in epochs.epoch(number, 0)]) for number in (0, 1))
    assert epochs.steps == 4
    assert not torch.equal(first, second)
    assert source.scheme == InstaHide(k=2)
    estimated = Defended(IMAGES, ShareUpdates("linear", encoding=Laplace())).with_estimates(seeded(1), 1)
    assert estimated.scheme == Laplace().with_estimates(IMAGES, None, seeded(1))
    assert source.identity() != replace(source, client=ShareUpdates("linear")).identity()


def test_several_processes_are_refused() -> None:
    with pytest.raises(BadInput, match="in one process"):
        Defended(IMAGES, ShareUpdates("linear")).batches(TRAINING, seeded(1), 1, replace(HERE, world=2))
