"""DP-SGD (Abadi et al. 2016) through Opacus: clipped gradients under noise, and the ε that they spend."""

import math
import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import nn

from hideseek.chance import Randomness
from hideseek.chance.gaussian_noise import gaussian_noise
from hideseek.errors import BadInput
from hideseek.learn.batches import full_batches
from hideseek.train.training import Training


@dataclass(frozen=True)
class PrivateSGD:
    """How much privacy DP-SGD shall give: a target (ε, δ), or the noise itself."""

    epsilon: float | None = 8.0
    """The ε that the whole training may spend; not used where the noise is given."""
    delta: float = 1e-5
    """The δ that goes with it; smaller than 1 / images."""
    noise: float | None = None
    """Noise multiplier: the deviation of the noise over the clipping norm."""
    clip: float = 1.0
    """The longest gradient that one image may have."""

    def __post_init__(self) -> None:
        values = [value for value in (self.epsilon, self.noise, self.clip) if value is not None]
        if not all(0 < value < math.inf for value in values) or not 0 < self.delta < 1:
            raise BadInput("epsilon, noise and clip must be positive and finite, and delta between 0 and 1.")
        if self.epsilon is None and self.noise is None:
            raise BadInput("DP-SGD needs a target epsilon or a noise multiplier: give one.")

    def multiplier(self, rows: int, training: Training) -> float:
        """Give the noise multiplier that the target asks for, or that was given."""
        if self.delta * rows >= 1:
            raise BadInput(
                f"delta must be smaller than 1 / images, here {1 / rows:.1g}: with {self.delta:g}, to publish"
                " some images as they are would count as private."
            )
        return _multiplier(self, full_batches(rows, training.batch) * training.epochs, training.batch / rows)

    def spent(self, rows: int, training: Training, steps: int) -> float:
        """Give the ε that so many steps have spent, by Rényi differential privacy."""
        accountant, noise = _opacus().accountants.RDPAccountant(), self.multiplier(rows, training)
        accountant.history = [(noise, training.batch / rows, steps)]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return float(accountant.get_epsilon(self.delta))
        except (ZeroDivisionError, OverflowError, ValueError):
            raise BadInput(f"noise of {noise:g} is too little for any ε to be counted: ask for more.") from None

    def prepared(
        self, network: nn.Module, rows: int, training: Training, noise: "NoiseSource"
    ) -> tuple[Any, torch.optim.Optimizer]:
        """Give a network that keeps every image's own gradient, and the optimiser that clips them and adds noise.

        The noise comes from our own stream. Torch's generator has 32 bits of seed on a processor, and the secure mode
        of Opacus needs a library that is no longer built.
        """
        opacus = _opacus()
        unfit = opacus.validators.ModuleValidator.validate(network, strict=False)
        if unfit:
            raise BadInput(
                "DP-SGD needs a network without BatchNorm, which mixes the images of a batch: choose tanh-convnet, or"
                " tanh-dense for features and tiny images."
            )

        class Noisy(opacus.optimizers.DPOptimizer):  # type: ignore[misc,name-defined]
            def add_noise(self) -> None:
                for parameter in self.params:
                    deviation = self.noise_multiplier * self.max_grad_norm
                    drawn = gaussian_noise(noise.stream, *parameter.summed_grad.shape).to(parameter.summed_grad)
                    parameter.grad = (parameter.summed_grad + deviation * drawn).view_as(parameter)

        each = opacus.GradSampleModule(network)
        optimiser = Noisy(
            training.optimiser.build(network.parameters()),
            noise_multiplier=self.multiplier(rows, training),
            max_grad_norm=self.clip,
            expected_batch_size=training.batch,
        )
        return each, optimiser


@cache
def _multiplier(privacy: PrivateSGD, steps: int, rate: float) -> float:
    """Find the noise that spends the target ε, once."""
    if privacy.noise is not None:
        return privacy.noise
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a bound that is not the tightest
            found = _opacus().accountants.utils.get_noise_multiplier(
                target_epsilon=privacy.epsilon,
                target_delta=privacy.delta,
                sample_rate=rate,
                steps=steps,
                accountant="rdp",
            )
    except ValueError:
        raise BadInput(f"no noise is enough for ε = {privacy.epsilon:g} in {steps} steps: allow more.") from None
    return float(found)


@dataclass
class NoiseSource:
    """The stream that the noise of the next step comes from."""

    stream: Randomness


def _opacus() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import opacus
            import opacus.accountants.utils
            import opacus.validators
    except ImportError:
        raise BadInput("DP-SGD needs Opacus, which is not installed: pip install 'hideseek[dp]'.") from None
    return opacus
