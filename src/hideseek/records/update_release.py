"""Updates of a model: the release of federated learning."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self

from jaxtyping import Float, Int
from torch import Tensor

from hideseek.records.release import Contents, Release
from hideseek.records.samples import Normalisation
from hideseek.records.shared_model import NetworkSize, network_size
from hideseek.records.task import Task

if TYPE_CHECKING:
    from hideseek.chance import Randomness
    from hideseek.records.shared_model import SharedModel, State
    from hideseek.records.update_encoder import UpdateEncoder


@dataclass(frozen=True)
class UpdateRelease(Release):
    """What clients sent: for each update, what a few images changed in every parameter of a model.

    An item is an update: the gradient of the mean loss of a batch, or w_before − w_after, where weights are sent after
    local steps. Rounds follow each other, and in each every private image is in one update. Withheld from all but
    stronger attackers: `labels` of the rows of every update, in their order; `statistics`, the mean and variance
    of each batch-norm layer's inputs; `sources` and `weights`, where rows are mixtures: which images, and how much;
    `round_of`, the round of each update, for a server that keeps all of them; `crafted`, updates of the same rows for a
    model that the server chose.
    """

    withheld: ClassVar[tuple[str, ...]] = (
        *Release.withheld,
        "round_of",
        "labels",
        "statistics",
        "sources",
        "weights",
        "crafted",
    )

    updates: tuple[State, ...]
    models: tuple[SharedModel, ...]
    """What the server sent: one model for all updates, or one for each."""
    scheme: UpdateEncoder
    shape: tuple[int, int, int]
    classes: int
    normalisation: Normalisation
    sizes: tuple[int, ...] | None
    """The images, or rows, of each update; None: not known."""
    buffers: tuple[State, ...] | None = None
    """Running statistics after the local steps, where weights are sent."""
    round_of: Int[Tensor, " updates"] | None = None
    labels: tuple[Float[Tensor, "rows classes"], ...] | None = None
    statistics: tuple[dict[str, tuple[Tensor, Tensor]], ...] | None = None
    sources: tuple[Int[Tensor, "rows k"], ...] | None = None
    weights: tuple[Float[Tensor, "rows k"], ...] | None = None
    crafted: UpdateRelease | None = None

    @property
    def encoder(self) -> UpdateEncoder:
        """Give the scheme."""
        return self.scheme

    def model(self, item: int) -> SharedModel:
        """Give the model that an update is of."""
        return self.models[item if len(self.models) > 1 else 0]

    def size(self) -> Task:
        """Count updates, images and pixels."""
        together = self.scheme.work.images if self.sizes is None else max(self.sizes)
        images = len(self.updates) * together if self.sizes is None else sum(self.sizes)
        rounds = 1 if self.round_of is None else int(self.round_of.max()) + 1
        return Task(
            items=len(self.updates),
            images=max(1, images // rounds),
            pixels=math.prod(self.shape),
            own=0 if self.own is None else len(self.own),
            images_per_item=together,
            channels=self.shape[0],
            network=self.network_size.multiplications,
            parameters=self.network_size.parameters,
            batch_statistics=self.network_size.batch_norm and self.scheme.mode == "train",
        )

    @cached_property
    def network_size(self) -> NetworkSize:
        """Count what the model takes for one image."""
        return network_size(self.models[0].build(), self.shape)

    def contents(self) -> Contents:
        """Say how many updates there are, and what is beside them."""
        own = 0 if self.own is None else len(self.own)
        return Contents("update", len(self.updates), self.labels is not None, own=own, model=self.models[0].name)

    def as_noise(self, chance: Randomness) -> Self:
        """Give the same release with Gaussian noise of the same scale in place of every tensor.

        Statistics of batch norm tell of images too, with those who have them: these are noise as well.
        """
        noise = tuple({name: noisy(tensor, chance) for name, tensor in update.items()} for update in self.updates)
        statistics = self.statistics and tuple(
            {name: (noisy(mean, chance), noisy(variance, chance).abs()) for name, (mean, variance) in each.items()}
            for each in self.statistics
        )
        unchanged = self.buffers and tuple(
            {name: self.model(item).state[name] for name in each} for item, each in enumerate(self.buffers)
        )
        crafted = None if self.crafted is None else self.crafted.as_noise(chance)
        return replace(self, updates=noise, buffers=unchanged, statistics=statistics, crafted=crafted)


def noisy(tensor: Tensor, chance: Randomness) -> Tensor:
    """Give Gaussian noise as large as a tensor, by its root mean square."""
    return chance.normals(max(1, tensor.numel()))[: tensor.numel()].view(tensor.shape) * tensor.square().mean().sqrt()
