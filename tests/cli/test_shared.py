"""How exactly rows and labels are shared, as audits and trainings are told."""

import pytest

from hideseek.cli import main
from hideseek.cli.learn import _method
from hideseek.cli.shared import Shared, apart
from hideseek.hide import Coarse, InstaHide, Mixup


def test_options_round_a_scheme_that_says_nothing_itself() -> None:
    assert Shared().of(Mixup()) == Mixup()
    assert Shared("drawn", "int8").of(Mixup()) == Coarse(Mixup(), "drawn", "int8")
    own = Coarse(Mixup(), "rounded")
    assert Shared("drawn", "int8").of(own) == own
    assert apart(own) == (Mixup(), Shared("rounded"))
    assert apart(Mixup()) == (Mixup(), Shared())


def test_a_training_is_told_in_the_name_of_its_scheme() -> None:
    assert _method("instahide-inside:k=3:labels=drawn:rows=int8") == (InstaHide(k=3), Shared("drawn", "int8"))
    assert _method("mixup") == (Mixup(), Shared())


@pytest.mark.parametrize(
    ("scheme", "words"),
    [
        ("mixup:labels=blurred", "labels = 'blurred'"),
        ("mixup:rows", "write mixup:rows=VALUE"),
        ("vanilla:labels=drawn", "no parameters in its name"),
        ("mixop:labels=drawn", "did you mean mixup"),
    ],
)
def test_what_cannot_be_is_one_sentence(scheme: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", "--scheme", scheme, "--data", "faces", "--out", "nowhere"]) == 1
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
