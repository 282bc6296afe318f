"""Accuracies that can be compared."""

import numpy as np
import pytest

from clocks import VirtualClock
from hideseek.audit.question import Learning
from hideseek.audit.utility import TrainingPlan, measure, training_plan
from hideseek.chance import seeded
from hideseek.hide import InstaHide, Mixup
from hideseek.train.training import automatic
from toys import patterns


@pytest.mark.parametrize("rounds", [1, 3, 10, 50])
@pytest.mark.parametrize("epochs", [1.0, 4.5, 12.0, 500.0])
def test_everybody_takes_the_same_number_of_steps(rounds: int, epochs: float) -> None:
    how = training_plan(160, rounds, epochs)
    most = automatic(160).epochs
    assert how.training.epochs % how.rounds == 0
    assert 1 <= how.rounds <= rounds
    assert how.training.epochs <= max(min(epochs, most) * 1.5, 1)


def test_patterns_are_learnt_plainly_and_hidden() -> None:
    """Three classes; 33 % by guessing. Wilson's interval by its formula."""
    learning = Learning(patterns(90), patterns(60, seed=7))
    how = training_plan(90, 5, 10)
    for scheme in (None, Mixup(), InstaHide(k=2)):
        found = measure(learning, scheme, how, seeded(0), VirtualClock())
        assert found.accuracy.mean > 0.6
        assert found.epochs == 10
        assert found.largest_class == pytest.approx(1 / 3)
        assert found.exceeds_largest_class
        p, n, z = found.accuracy.mean, 60, 1.959964
        middle, half = p + z * z / (2 * n), z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        wanted = [(middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)]
        assert [found.accuracy.low, found.accuracy.high] == pytest.approx(wanted, abs=1e-5)
    anew = measure(
        learning, Mixup(), TrainingPlan(how.training, how.training.epochs), seeded(0), VirtualClock()
    )  # every epoch its own
    assert anew.accuracy.mean > 0.6
