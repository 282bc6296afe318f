"""The command: its table, its JSON, its exit codes."""

import json
from pathlib import Path

import pytest

from federate.claims.projects import CENTRAL, LOCAL, flower
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
    assert ended.value.code == 4
    run_command([str(flower(tmp_path / "q"))])
    assert "does not hold" in capsys.readouterr().out


def test_a_finding_is_printed_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = flower(tmp_path / "p", rounds=3, client=LOCAL.format(arguments="1.0, 1e-4, 10, 1e-5"))
    assert run([str(root), "--json", str(tmp_path / "claims.json")]) == 4
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
    assert run([str(root), "--json", str(tmp_path / "claims.json")]) == 4
    assert json.loads((tmp_path / "claims.json").read_text())["settings"][0]["run_epsilon"] == "infinite"


def test_what_is_not_known_is_an_error_after_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = flower(tmp_path / "p", client=LOCAL.format(arguments="1.0, 1.0, secret(), 1e-5"))
    with pytest.raises(BadInput, match="1 setting could not be computed"):
        run([str(root)])
    assert "not known" in capsys.readouterr().out
    with pytest.raises(BadArguments):
        run([str(root), "--rounds", "many"])


def test_only_an_earlier_report_is_written_over(tmp_path: Path) -> None:
    root = flower(tmp_path / "p", client=LOCAL.format(arguments="1.0, 1.0, 0.5, 1e-5"))
    before = (root / "pyproject.toml").read_text()
    (tmp_path / "mine.json").write_text('{"project": 1}')
    (tmp_path / "link.json").symlink_to(tmp_path / "nowhere")
    for place in (root / "pyproject.toml", tmp_path / "mine.json", tmp_path / "link.json", root):
        with pytest.raises(BadInput, match="is no report of this command"):
            run([str(root), "--json", str(place)])
    assert (root / "pyproject.toml").read_text() == before
    for _ in range(2):
        assert run([str(root), "--json", str(tmp_path / "claims.json")]) == 0


def test_that_all_holds_is_said_only_where_something_is_stated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = "noise_multiplier=2.0, clipping_norm=1.0, num_sampled_clients=10"
    server = CENTRAL.format(wrapper="DifferentialPrivacyServerSideFixedClipping", arguments=arguments)
    assert run([str(flower(tmp_path / "p", server=server))]) == 0
    printed = capsys.readouterr().out
    assert "No ε is stated." in printed
    assert "that is stated holds" not in printed


def test_what_is_not_known_names_the_option_that_tells_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    client = "def train(engine, m):\n    engine.make_private(module=m, noise_multiplier=1.1)\n"
    batches = flower(tmp_path / "p", client=client)
    with pytest.raises(BadInput, match="--sample-rate Q and --local-steps N"):
        run([str(batches)])
    rounds = flower(tmp_path / "q", rounds=None, client=LOCAL.format(arguments="1.0, 1.0, 0.5, 1e-5"))
    with pytest.raises(BadInput, match="--rounds N"):
        run([str(rounds)])
    assert run([str(rounds), "--rounds", "1"]) == 0


def test_the_help_names_the_code_of_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run_command(["--help"])
    assert "4 if a real ε is above the stated one" in " ".join(capsys.readouterr().out.replace("│", " ").split())
