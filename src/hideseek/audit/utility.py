"""What hiding costs: how well a model does that learnt from what was hidden, beside one that learnt from images."""

from dataclasses import dataclass, replace
from typing import Any

from scipy.stats import binomtest

from hideseek.audit.planning.clock import Clock
from hideseek.audit.question import Learnable, Learning
from hideseek.chance import Randomness
from hideseek.learn import Defended, Plain, Reencoded, Source, largest_class, learn, predict, suited
from hideseek.records import Samples
from hideseek.records.result import Accuracy, Range
from hideseek.records.update_encoder import UpdateEncoder
from hideseek.train.speed import training_speed
from hideseek.train.trained import Trained
from hideseek.train.training import Training, automatic


@dataclass(frozen=True)
class TrainingPlan:
    """How long everything is trained, vanilla and hidden alike: the same number of steps."""

    training: Training
    rounds: int
    """Encodings of every image that are learnt from, each as often as the others."""


def training_plan(images: int, rounds: int, epochs: float, *, descends: bool = False) -> TrainingPlan:
    """Choose a training of about so many epochs that is a whole number of passes over the rounds.

    `descends`: gradients are shared, so that everybody takes plain steps down them.

    >>> one = training_plan(160, 10, 25)
    >>> one.training.epochs, one.rounds
    (20, 10)
    >>> training_plan(160, 100, 7.2).rounds
    7
    """
    usual = automatic(images, descends=descends)
    wanted = max(1, min(int(epochs), usual.epochs))
    used = min(rounds, wanted)
    return TrainingPlan(replace(usual, epochs=used * max(1, round(wanted / used))), used)


def network_for(learning: Learning, scheme: Learnable | None) -> str:
    """Name the network that is trained: the one that was asked for, or one that suits images and scheme."""
    encoding = scheme.encoding if isinstance(scheme, UpdateEncoder) else scheme
    return learning.model or suited(learning.train, encoding)


def epoch_seconds(learning: Learning, scheme: Learnable | None) -> float:
    """Expect what an epoch takes, from a few steps on random images."""
    train = learning.train
    speed = training_speed(
        network_for(learning, scheme), train.shape, train.labels.shape[1], automatic(len(train)).batch
    )
    return len(train) / speed


def measure(
    learning: Learning, scheme: Learnable | None, how: TrainingPlan, chance: Randomness, clock: Clock
) -> Accuracy:
    """Train on the images, or on what a scheme shares of them, and test on new images, asked plainly.

    Where updates are shared, every step of the training is defended, and images are encoded anew for every epoch.
    """
    started = clock.now()
    train, training = learning.train, how.training
    model = network_for(learning, scheme)
    steps = training.epochs * max(1, len(train) // training.batch)
    if scheme is None:
        source: Source[Any] = Plain(train)
    elif isinstance(scheme, UpdateEncoder):
        source = Defended(train, scheme)
    elif how.rounds == training.epochs:  # then every epoch has encodings of its own, and none need be kept
        source = Reencoded(train, scheme, learning.public)
    else:
        source = Plain.of(scheme.hide(train, learning.public, chance, how.rounds)[0])
        training = replace(training, epochs=training.epochs // how.rounds)
    learnt = learn(source, model, training, chance=chance)
    right = share_right(learnt.trained, learning.test)
    took = clock.now() - started
    baseline = largest_class(learning.test.labels)
    return Accuracy(right, model, how.training.epochs, steps, took, baseline)


def share_right(trained: Trained, test: Samples) -> Range:
    """Give the share of images that a model classifies rightly, with Wilson's interval of 95 %."""
    right = int((predict(trained, test).argmax(1) == test.labels.argmax(1)).sum())
    limits = binomtest(right, len(test)).proportion_ci(method="wilson")
    return Range(right / len(test), float(limits.low), float(limits.high), len(test))
