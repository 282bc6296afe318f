"""The contract of those who share updates of a model instead of images."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from hideseek.records.allowed_update import AllowedUpdate
from hideseek.records.defence import Defence
from hideseek.records.encoder import Encoder
from hideseek.records.mixing_encoder import MixingEncoder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

    from hideseek.chance import Randomness
    from hideseek.records.samples import Samples
    from hideseek.records.shared_model import SharedModel

Sent = Literal["gradient", "weights"]
Mode = Literal["train", "eval"]
WorkPart = Literal["images", "steps", "rate"]


@dataclass(frozen=True)
class LocalWork:
    """What a client does with the images of one update."""

    batch: int = 1
    """Images of a step."""
    steps: int = 1
    """Steps until all images of the update were seen once."""
    epochs: int = 1
    """How often they are seen."""
    rate: float = 0.01
    """The learning rate of these steps: w ← w − rate · gradient."""
    unknown: tuple[WorkPart, ...] = ()
    """What of it an attacker does not know: he has these numbers as stand-ins, and may not rely on them."""

    @property
    def images(self) -> int:
        """Count the images of an update."""
        return self.batch * self.steps

    def for_images(self, count: int) -> LocalWork:
        """Give the work on so many images, where it was not told how many they are, but in how many steps."""
        return replace(self, batch=-(-count // self.steps)) if "images" in self.unknown else self

    @property
    def one_gradient(self) -> bool:
        """Tell whether the update is known to be one gradient, but for a factor."""
        return self.steps == self.epochs == 1 and "steps" not in self.unknown


class UpdateEncoder(Encoder):
    """A client of federated learning: it shares what a batch of images changes in a model, perhaps defended.

    All fields are public. An attacker who wants updates of his own images, to try things on, makes them by `update`.
    """

    model: str
    sends: Sent
    mode: Mode
    encoding: MixingEncoder | None
    """How images are encoded before gradients are taken; None: not at all."""
    defences: tuple[Defence, ...]
    """What is done to the update, in this order."""

    def allowed(self, update: Mapping[str, Tensor]) -> AllowedUpdate:
        """Tell what an update can have been before the defences, last one first, by what was sent."""
        allowed = replace(AllowedUpdate.exact(update), scaled=self.scaled)
        for defence in reversed(self.defences):
            allowed = defence.before(allowed)
        return allowed

    @property
    def scaled(self) -> bool:
        """Tell whether an update is times a number that is not known: the rate of steps, or how many there were."""
        return self.sends == "weights" and not {"rate", "steps"}.isdisjoint(self.work.unknown)

    @property
    @abstractmethod
    def work(self) -> LocalWork:
        """Tell what a client does between two messages."""

    @abstractmethod
    def update(
        self, model: SharedModel, rows: Samples, chance: Randomness
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Give what a client sends for some images, encoded or not: the update, and buffers that changed."""
