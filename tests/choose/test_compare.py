"""Ways to learn, compared: within a budget, in order, and the simplest that nothing clearly beats."""

import math
from dataclasses import dataclass
from typing import ClassVar

import pytest

import toys
from hideseek.chance import Randomness, seeded
from hideseek.choose import WAYS, Choice, Measured, Privacy, Way, compare
from hideseek.choose.ways import telling
from hideseek.data import normalise
from hideseek.errors import BadInput
from hideseek.hide.privacy.calibration import Account
from hideseek.learn import NoisySums
from hideseek.records import Samples
from hideseek.train.trained import Trained

TRAIN, TEST = (normalise(toys.patterns(count, seed=seed), "image") for count, seed in ((300, 0), (90, 9)))
STRONG = Privacy(200.0, 1e-3)


class Timer:
    """A clock that a way moves by itself."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass(frozen=True)
class Slow(Way):
    """Takes ten seconds of a clock."""

    leaves: ClassVar[str] = "a linear model"
    timer: Timer

    def learn(self, train: Samples, privacy: Privacy, chance: Randomness) -> Trained:
        self.timer.now += 10
        return NoisySums(privacy.mu).learn(train, chance)


@dataclass(frozen=True)
class SlowAndUnproved(Slow):
    """The same without a promise."""

    proved: ClassVar[bool] = False


def test_ways_learn_where_they_may_spend_much() -> None:
    ways = {name: WAYS[name] for name in ("noisy-means", "dp-sgd")}
    choice = compare(TRAIN, TEST, [STRONG], ways, seeded(0), repeats=2)
    assert [each.way for each in choice.measured] == ["noisy-means", "dp-sgd"]
    assert all(each.mean > 0.9 for each in choice.measured)
    assert all(len(each.accuracies) == 2 for each in choice.measured)
    assert choice.best(200.0).way == "noisy-means"


def test_rows_whose_mix_is_secret_have_as_many_images_as_tell_most() -> None:
    """By the variance of the classes' shares in a row over that of the noise, of each m that is tried."""
    pytest.importorskip("dp_accounting")
    images, privacy = 160, Privacy(3.0, 1e-3)
    signal = {m: m / Account("poisson", m, images).multiplier(3.0, 1e-3) ** 2 for m in (1, 4, 16, 64)}
    assert telling("poisson", images, privacy) == max(signal, key=signal.__getitem__) == 4
    assert telling("poisson", 3, privacy) == 1
    assert max(signal.values()) > 1.5 * signal[64]


def test_a_budget_leaves_out_what_it_has_no_time_for_and_names_it() -> None:
    timer = Timer()
    ways = {"unproved": SlowAndUnproved(timer), "one": Slow(timer), "two": Slow(timer)}
    asked = [Privacy(epsilon, 1e-3) for epsilon in (3.0, 8.0)]
    choice = compare(TRAIN, TEST, asked, ways, seeded(0), repeats=5, budget=25.0, clock=timer)
    assert [(each.way, each.epsilon, len(each.accuracies)) for each in choice.measured] == [
        ("one", 3.0, 2),
        ("two", 3.0, 1),  # beyond the budget: every proved way is measured once at the first ε
        ("one", 8.0, 1),
    ]
    assert choice.untried == ("two at ε = 8", "unproved")
    assert all(each.seconds == 10 for each in choice.measured)


def measured(way: str, *accuracies: float, epsilon: float = 1.0) -> Measured:
    return Measured(way, "a model", epsilon, accuracies, 1.0)


def test_the_simplest_that_nothing_clearly_beats_is_chosen() -> None:
    def best(*found: Measured) -> str:
        return Choice(1000, 10_000, 1e-5, 0.1, found).best(1.0).way

    assert best(measured("simple", 0.800), measured("better", 0.805)) == "simple"  # ± 0.8 points of 10,000 images
    assert best(measured("simple", 0.80), measured("better", 0.82)) == "better"
    assert best(measured("simple", 0.80), measured("unsure", 0.75, 0.89)) == "simple"  # 0.82 ± 0.07
    assert best(measured("simple", 0.5), measured("no promise", 0.9, epsilon=math.inf)) == "simple"


def test_the_error_is_that_of_test_images_and_of_noise() -> None:
    one, two = measured("a", 0.8), measured("a", 0.7, 0.9)
    assert one.error(400) == pytest.approx(0.02)
    assert two.error(400) == pytest.approx(math.sqrt(0.8 * 0.2 / 400 + 0.02 / 2))


def test_bad_input() -> None:
    with pytest.raises(BadInput, match="ε must be positive"):
        Privacy(0.0, 1e-5)
    with pytest.raises(BadInput, match="δ must be smaller than 1 / images"):
        compare(TRAIN, TEST, [Privacy(1.0, 0.1)], WAYS, seeded(0))
    with pytest.raises(BadInput, match="name an ε"):
        compare(TRAIN, TEST, [], WAYS, seeded(0))
