"""The command: its table, its JSON, its exit codes."""

import json
from pathlib import Path

import pytest

from federate.claims.projects import LOCAL, flower
from hideseek.cli.arguments import parse
from hideseek.cli.federate_check import Check, check
from hideseek.cli.federate_check import run as run_command
from hideseek.cli.mistakes import BadArguments
from hideseek.errors import BadInput


def run(arguments: list[str]) -> int:
    """Give the code that the command ends with."""
    return check(parse(Check, "check", arguments))


def test_a_finding_ends_the_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = flower(tmp_path / "p", client=LOCAL.format(arguments="1.0, 1e-4, 10, 1e-5"))
    with pytest.raises(SystemExit) as ended:
        run_command([str(wrong)])
    assert ended.value.code == 2
    run_command([str(flower(tmp_path / "q"))])
    assert "does not hold" in capsys.readouterr().out


def test_a_finding_is_printed_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = flower(tmp_path / "p", rounds=3, client=LOCAL.format(arguments="1.0, 1e-4, 10, 1e-5"))
    assert run([str(root), "--json", str(tmp_path / "claims.json")]) == 2
    printed = capsys.readouterr().out
    for word in ("2.13e8", "6.39e8", "does not hold", "3 rounds", "Stated ε"):
        assert word in printed
    written = json.loads((tmp_path / "claims.json").read_text())
    assert written["kind"] == "Flower project"
    assert written["settings"][0]["stated_epsilon"] == 10


def test_what_holds_is_zero_and_nothing_is_said_plainly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([str(flower(tmp_path / "p", client=LOCAL.format(arguments="1.0, 1.0, 0.5, 1e-5")))]) == 0
    assert "Every ε that is stated holds" in capsys.readouterr().out
    assert run([str(flower(tmp_path / "q"))]) == 0
    assert "nothing is promised" in capsys.readouterr().out


def test_no_bound_is_a_word_in_json(tmp_path: Path) -> None:
    root = flower(tmp_path / "p", client=LOCAL.format(arguments="1.0, 0.0, 1.0, 1e-5"))
    assert run([str(root), "--json", str(tmp_path / "claims.json")]) == 2
    assert json.loads((tmp_path / "claims.json").read_text())["settings"][0]["run_epsilon"] == "infinite"


def test_what_is_not_known_is_an_error_after_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = flower(tmp_path / "p", client=LOCAL.format(arguments="1.0, 1.0, secret(), 1e-5"))
    with pytest.raises(BadInput, match="1 setting could not be computed"):
        run([str(root)])
    assert "not known" in capsys.readouterr().out
    with pytest.raises(BadArguments):
        run([str(root), "--rounds", "many"])
