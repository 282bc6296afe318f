"""A wrong command line: one sentence and exit 2, in every verb, in every encoding."""

from pathlib import Path

import pytest

from hideseek.cli import COMMANDS, main

FIRST = {"hide": ["mixup"], "audit": ["mixup"], "seek": ["mixup-pairs"]}  # what a verb needs before its options
SAID = [
    (["hide", "mixup"], "this command needs --data SET and --out DIR"),
    (["hide", "mixup", "--zz", "3"], "needs --data SET and --out DIR, and --zz 3 is not understood"),
    (["show", "a", "--cuont", "3"], "--cuont 3 is not understood: did you mean --count INT?"),
    (["show", "a", "b"], "b is not understood"),
    (["show", "a", "--count"], "--count needs a value"),
    (["show", "a", "--count", "1.5"], "--count must be a whole number, not '1.5'"),
    (["learn", "--out", "a", "--rate", "fast"], "--rate must be a number, not 'fast'"),
    (["learn", "--out", "a", "--epochs", "x"], "--epochs must be a whole number, not 'x'"),
    (["hide", "mixup", "--data", "a", "--out", "b", "--normalise", "x"], "must be channel, image or none, not 'x'"),
    (["compare", "a"], "needs SECOND"),
]


@pytest.mark.parametrize(("arguments", "said"), SAID, ids=lambda each: " ".join(each) if isinstance(each, list) else "")
def test_a_wrong_command_line_is_one_sentence(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
    assert captured.err.startswith("hideseek: ")
    assert captured.err.endswith(" --help).\n")
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize("verb", COMMANDS)
def test_no_verb_draws_a_box(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, *FIRST.get(verb, []), f"--none{'-such' * 50}\x1b[2J"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert f"--none{'-such' * 50}\\x1b[2J" in error or "needs" in error
    assert not set("\x1b│╭─") & set(error)


def test_values_reach_the_options_unchanged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only what is printed is escaped."""
    assert main(["show", str(tmp_path / "a\u202eb")]) == 1
    assert "a\\u202eb is not a complete release" in capsys.readouterr().err


def test_what_leaves_an_option_out_is_no_choice(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "mixup", "--data", "a", "--out", "b", "--fail-on", "x"]) == 1
    assert "--fail-on must be broken or leaks, not 'x'" in capsys.readouterr().err
