"""Which metrics there is time for, and what judging is expected to take."""

from dataclasses import replace

import pytest

from hideseek.audit.planning.judging import JUDGING, SHARE, judging_seconds, unjudged
from hideseek.audit.question import Question
from hideseek.hide import Mixup
from hideseek.score import perceptual
from hideseek.score.metrics import METRICS
from toys import images
from trial_attacks import Counted, Minor

UNIT = 2e-11


@pytest.fixture(autouse=True)
def weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """All weights of LPIPS are on this machine."""
    monkeypatch.setattr(perceptual, "_is_here", lambda backbone: True)


def asked(budget: float, count: int = 40) -> Question:
    return Question(images(count, 3, 32, 32), {"mixup": Mixup()}, budget=budget)


def seconds(name: str, attacks: int) -> float:
    counted = METRICS[name].work
    assert counted is not None
    return attacks * UNIT * counted(40, (3, 32, 32))


def test_the_costliest_metrics_are_left_out_first_where_the_budget_is_small() -> None:
    attacks = [Counted()] * 5
    vgg, alex = seconds("lpips-vgg", 5), seconds("lpips-alex", 5)
    assert vgg > 10 * alex > 0
    assert unjudged(attacks, asked(1.01 * (vgg + alex) / SHARE), UNIT) == ()
    assert unjudged(attacks, asked(0.99 * (vgg + alex) / SHARE), UNIT) == ("lpips-vgg",)
    assert unjudged(attacks, asked(0.99 * alex / SHARE), UNIT) == ("lpips-vgg", "lpips-alex")


def test_attacks_that_show_no_images_have_none_to_look_at() -> None:
    question = asked(1.01 * (seconds("lpips-vgg", 1) + seconds("lpips-alex", 1)) / SHARE)
    assert unjudged([Counted(), *[Minor()] * 9], question, UNIT) == ()
    assert unjudged([Counted(), Counted()], question, UNIT) == ("lpips-vgg",)
    once, each = JUDGING
    plain = once + each * question.private.images.numel() * UNIT
    assert judging_seconds(Minor(), question, UNIT, ()) == plain
    both = seconds("lpips-vgg", 1) + seconds("lpips-alex", 1)
    assert judging_seconds(Counted(), question, UNIT, ()) == pytest.approx(plain + both)
    assert judging_seconds(Counted(), question, UNIT, ("lpips-vgg", "lpips-alex")) == plain


def test_more_guesses_are_counted_as_the_most_that_are_compared() -> None:
    """VGG looks at fifty guesses at most, unless it is named; an attack that is shortened may make no more."""
    counted = METRICS["lpips-vgg"].work
    assert counted is not None
    assert counted(40, (3, 32, 32)) < counted(50, (3, 32, 32)) == counted(5000, (3, 32, 32))


def test_numbers_without_neighbours_are_not_looked_at() -> None:
    flat = replace(asked(1.0), private=images(40, 30, 1, 1))
    assert unjudged([Counted()] * 100, flat, UNIT) == ()
