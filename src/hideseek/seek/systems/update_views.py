"""What images would have sent: an update, computed again so that it can be differentiated by them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from hideseek.records.update_encoder import LocalWork
from hideseek.train.gradients import gradient, local_steps

Images = Float[Tensor, "n c h w"]
Labels = Float[Tensor, "n classes"]


@dataclass(frozen=True)
class UpdateView(ABC):
    """A network in the client's mode, and the weights that it was sent."""

    network: nn.Module
    parameters: Mapping[str, Tensor]

    @abstractmethod
    def tensors(self, images: Images, labels: Labels) -> list[Tensor]:
        """Give what images would have sent, with its graph."""

    def learned(self) -> list[Tensor]:
        """Give what is learned besides the images."""
        return []


@dataclass(frozen=True)
class OneGradient(UpdateView):
    """The gradient of the mean loss."""

    def tensors(self, images: Images, labels: Labels) -> list[Tensor]:
        """Differentiate the loss."""
        return list(gradient(self.network, self.parameters, images, labels, differentiable=True).values())


@dataclass(frozen=True)
class SimulatedSteps(UpdateView):
    """w₀ − w₁ by taking the client's local steps, in the order of the images (Geiping et al. 2020, §6).

    Deviation: a client that sees its images several times may shuffle them; the order here is always the same.
    """

    work: LocalWork

    def tensors(self, images: Images, labels: Labels) -> list[Tensor]:
        """Step."""
        after = local_steps(
            self.network, self.parameters, images, labels, self.work.batch, self.work.epochs, self.work.rate,
            differentiable=True,
        )  # fmt: skip
        return [each - after[name] for name, each in self.parameters.items()]


@dataclass(frozen=True)
class SurrogateGradient(UpdateView):
    """The gradient at ŵ = (1 − α) w₀ + α w₁, in whose direction w₀ − w₁ mostly is (Zhu et al. 2023, SME).

    α is learned with the images, from ½. It stands for all local steps, however many, by one gradient.
    """

    moved: Mapping[str, Tensor]
    """w₁ − w₀."""
    share: Float[Tensor, ""]
    """α."""

    @classmethod
    def between(
        cls, network: nn.Module, parameters: Mapping[str, Tensor], update: Mapping[str, Tensor]
    ) -> "SurrogateGradient":
        """Begin in the middle of the two states."""
        some = next(iter(parameters.values()))
        share = torch.tensor(0.5, dtype=some.dtype, device=some.device, requires_grad=True)
        return cls(network, parameters, {name: -update[name] for name in parameters}, share)

    def tensors(self, images: Images, labels: Labels) -> list[Tensor]:
        """Differentiate the loss between the two states."""
        share = self.share.clamp(0.0, 1.0)
        at = {name: each + share * self.moved[name] for name, each in self.parameters.items()}
        return list(gradient(self.network, at, images, labels, differentiable=True).values())

    def learned(self) -> list[Tensor]:
        """Give α."""
        return [self.share]
