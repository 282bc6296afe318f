"""The ways to learn from private images that can be compared: a new one is a class and a line of WAYS."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.hide import GaussianMixup, InstaHide, SingularizedMixup
from hideseek.hide.privacy.calibration import Account, Proof
from hideseek.hide.privacy.gaussian import gaussian_mu
from hideseek.learn import NoisySums, Plain, Private, PrivateSGD, Reencoded, class_means, learn, suited
from hideseek.records import MixingEncoder, Samples
from hideseek.train.schedules import Cosine
from hideseek.train.trained import Trained
from hideseek.train.training import SGD, Training, automatic

LINEAR = "linear"
TRIED = (1, 4, 16, 64, 256)  # images in a row


@dataclass(frozen=True)
class Privacy:
    """What a way may spend: (ε, δ) differential privacy, where one image is added or removed."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < math.inf or not 0 < self.delta < 1:
            raise BadInput("ε must be positive and finite, and δ between 0 and 1.")

    @property
    def mu(self) -> float:
        """Give μ of the Gaussian mechanism that is just (ε, δ) differentially private."""
        return gaussian_mu(self.epsilon, self.delta)


class Way(ABC):
    """A frozen dataclass: one way to learn from images, and what can be proved of what leaves."""

    leaves: ClassVar[str]
    """What others get to see."""
    proved: ClassVar[bool] = True
    """Whether it keeps to an ε."""

    @abstractmethod
    def learn(self, train: Samples, privacy: Privacy, chance: Randomness) -> Trained:
        """Learn from images of length 1; one without a proof does not look at ε."""


@dataclass(frozen=True)
class Sums(Way):
    """Sums of the classes under Gaussian noise (`NoisySums`)."""

    leaves: ClassVar[str] = "a linear model"
    method: Literal["means", "least-squares"] = "means"

    def learn(self, train: Samples, privacy: Privacy, chance: Randomness) -> Trained:
        """Sum, add noise, solve."""
        return NoisySums(privacy.mu, self.method).learn(train, chance)


@dataclass(frozen=True)
class DpSgd(Way):
    """A linear model by DP-SGD: few steps of large batches, which suit a model that is convex."""

    leaves: ClassVar[str] = "a linear model"
    steps: int = 60
    share: float = 0.1
    """Of the images that a batch has."""
    rate: float = 4.0

    def learn(self, train: Samples, privacy: Privacy, chance: Randomness) -> Trained:
        """Train with clipped gradients under noise."""
        batch = max(1, round(self.share * len(train)))
        epochs = max(1, round(self.steps * batch / len(train)))
        training = Training(epochs, batch, SGD(self.rate, 0.9, 0.0), Cosine())
        return learn(
            Private(train, PrivateSGD(privacy.epsilon, privacy.delta)), LINEAR, training, chance=chance
        ).trained


@dataclass(frozen=True)
class Rows(Way):
    """Rows of `gaussian-mixup` that anybody may learn from: class means in closed form."""

    leaves: ClassVar[str] = "encodings"
    proof: Proof = "known-mix"
    m: int | None = 4
    """Images in a row; None: as many as tell most (`telling`), which needs the number of images alone."""

    def learn(self, train: Samples, privacy: Privacy, chance: Randomness) -> Trained:
        """Hide, and learn from the rows."""
        m = telling(self.proof, len(train), privacy) if self.m is None else min(self.m, len(train))
        scheme = GaussianMixup(m, privacy.epsilon, privacy.delta, self.proof, clip=1.0)
        return class_means([scheme.hide(train, None, chance)[0]])


def telling(proof: Proof, images: int, privacy: Privacy) -> int:
    """Give the number of images in a row that leaves most signal: the largest m / z².

    What classes differ by varies from row to row by 1/m, and the noise on a row has a variance of (z/m)². Where the mix
    is known z² = m / μ², so that all m are alike; where it is secret, z falls with m, and stops falling near 1/2.
    """

    def signal(m: int) -> float:
        return m / Account(proof, m, images).multiplier(privacy.epsilon, privacy.delta) ** 2

    return max((m for m in TRIED if m <= images), key=signal)


@dataclass(frozen=True)
class Unproved(Way):
    """Encodings that promise no ε, hidden anew for every epoch, and a network."""

    leaves: ClassVar[str] = "encodings"
    proved: ClassVar[bool] = False
    scheme: MixingEncoder

    def learn(self, train: Samples, privacy: Privacy, chance: Randomness) -> Trained:
        """Train the network that suits such rows."""
        return learn(
            Reencoded(train, self.scheme), suited(train, self.scheme), automatic(len(train)), chance=chance
        ).trained


@dataclass(frozen=True)
class NotHidden(Way):
    """A network that learns from the images themselves: what nothing hidden is worth."""

    leaves: ClassVar[str] = "a network"
    proved: ClassVar[bool] = False

    def learn(self, train: Samples, privacy: Privacy, chance: Randomness) -> Trained:
        """Train plainly."""
        return learn(Plain(train), suited(train), automatic(len(train)), chance=chance).trained


WAYS: dict[str, Way] = {  # the simplest first
    "noisy-means": Sums(),
    "noisy-least-squares": Sums("least-squares"),
    "dp-sgd": DpSgd(),
    "gaussian-mixup": Rows(),
    "gaussian-mixup-poisson": Rows("poisson", m=None),
    "singularized-mixup": Unproved(SingularizedMixup()),
    "instahide-inside": Unproved(InstaHide(k=4)),
    "not-hidden": NotHidden(),
}
