"""Every way on the same images, at the same ε, as far as a budget of time goes."""

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean, stdev

from hideseek.chance import Randomness
from hideseek.choose.ways import Privacy, Way
from hideseek.errors import BadInput
from hideseek.learn import accuracy, largest_class, predict
from hideseek.records import Samples


@dataclass(frozen=True)
class Measured:
    """How well models did on new images, one accuracy for every repetition."""

    way: str
    leaves: str
    epsilon: float
    """∞ where nothing is proved."""
    accuracies: tuple[float, ...]
    seconds: float

    @property
    def mean(self) -> float:
        """Give the mean accuracy."""
        return fmean(self.accuracies)

    def error(self, tests: int) -> float:
        """Give the standard error of the mean: of so many test images, and of the noise that was drawn."""
        drawn = stdev(self.accuracies) ** 2 / len(self.accuracies) if len(self.accuracies) > 1 else 0.0
        return math.sqrt(self.mean * (1 - self.mean) / tests + drawn)


@dataclass(frozen=True)
class Choice:
    """What was measured of every way, and which of them to take."""

    images: int
    tests: int
    delta: float
    largest_class: float
    """The accuracy of always answering with the most frequent class."""
    measured: tuple[Measured, ...]
    untried: tuple[str, ...] = ()
    """Ways that there was no time for."""

    def at(self, epsilon: float) -> list[Measured]:
        """Give the ways that keep to an ε."""
        return [each for each in self.measured if each.epsilon == epsilon]

    def best(self, epsilon: float) -> Measured:
        """Give the simplest way at an ε that is within two standard errors of the most accurate one."""
        found = self.at(epsilon)
        most = max(found, key=lambda each: each.mean)
        return next(each for each in found if each.mean >= most.mean - 2 * most.error(self.tests))


def compare(
    train: Samples,
    test: Samples,
    privacies: Iterable[Privacy],
    ways: Mapping[str, Way],
    chance: Randomness,
    *,
    repeats: int = 3,
    budget: float = math.inf,
    clock: Callable[[], float] = time.monotonic,
    on_measured: Callable[[Measured], None] = lambda _: None,
) -> Choice:
    """Measure each way at each ε, the proved ones first; what the budget has no time for is named.

    Every proved way is measured once at least at the first ε, whatever it takes.
    """
    wanted = list(privacies)
    if not wanted:
        raise BadInput("name an ε to compare ways at.")
    if any(privacy.delta * len(train) >= 1 for privacy in wanted):
        raise BadInput(f"δ must be smaller than 1 / images, here {1 / len(train):.1g}.")
    ends = clock() + budget
    found: list[Measured] = []
    untried: list[str] = []
    for name, way in sorted(ways.items(), key=lambda item: not item[1].proved):
        for number, privacy in enumerate(wanted if way.proved else wanted[:1]):
            if clock() > ends and not (way.proved and number == 0):
                untried.append(f"{name} at ε = {privacy.epsilon:g}" if way.proved else name)
                continue
            started, right = clock(), list[float]()
            while not right or (len(right) < repeats and clock() + (clock() - started) / len(right) < ends):
                trained = way.learn(train, privacy, chance.spawn(1)[0])
                right.append(accuracy(predict(trained, test), test.labels))
            took = (clock() - started) / len(right)
            epsilon = privacy.epsilon if way.proved else math.inf
            found.append(Measured(name, way.leaves, epsilon, tuple(right), took))
            on_measured(found[-1])
    order = {name: place for place, name in enumerate(ways)}
    found.sort(key=lambda each: (each.epsilon, order[each.way]))
    return Choice(len(train), len(test), wanted[0].delta, largest_class(test.labels), tuple(found), tuple(untried))
