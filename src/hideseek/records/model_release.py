"""A trained model: what is shared where images stay at home, and only what was learnt from them leaves."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self

from jaxtyping import Float
from torch import Tensor

from hideseek.records.encoder import Encoder
from hideseek.records.release import Contents, Release
from hideseek.records.samples import Normalisation
from hideseek.records.shared_model import NetworkSize, SharedModel, network_size
from hideseek.records.task import Task
from hideseek.records.update_release import noisy

if TYPE_CHECKING:
    from hideseek.chance import Randomness
    from hideseek.records.samples import Samples


class ModelEncoder(Encoder):
    """A way to learn from images, which everybody knows: an attacker trains models of his own by it."""

    @abstractmethod
    def learn(self, images: Samples, chance: Randomness) -> SharedModel:
        """Train a model on labelled images."""


@dataclass(frozen=True)
class ModelRelease(Release):
    """A model with its weights; `labels`, those of the candidates in their order, are of stronger attackers alone."""

    withheld: ClassVar[tuple[str, ...]] = (*Release.withheld, "labels")

    model: SharedModel
    scheme: ModelEncoder
    shape: tuple[int, int, int]
    classes: int
    normalisation: Normalisation
    images: int
    """How many it was trained on."""
    labels: Float[Tensor, "candidates classes"] | None = None

    @property
    def encoder(self) -> ModelEncoder:
        """Give the way it was trained."""
        return self.scheme

    @cached_property
    def network_size(self) -> NetworkSize:
        """Count what the model takes for one image."""
        return network_size(self.model.build(), self.shape)

    def size(self) -> Task:
        """Count images, pixels and the model."""
        return Task(
            items=1,
            images=self.images,
            pixels=math.prod(self.shape),
            images_per_item=self.images,
            channels=self.shape[0],
            network=self.network_size.multiplications,
            parameters=self.network_size.parameters,
        )

    def contents(self) -> Contents:
        """Say that it is one model."""
        return Contents("model", 1, self.labels is not None, model=self.model.name)

    def as_noise(self, chance: Randomness) -> Self:
        """Give a model of weights that are noise of the same scale."""
        state = {
            name: tensor if not tensor.is_floating_point() or "running" in name else noisy(tensor, chance)
            for name, tensor in self.model.state.items()
        }
        return replace(self, model=replace(self.model, state=state))
