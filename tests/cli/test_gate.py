"""The codes that a gate ends with, and the files that it writes; by `hideseek report`, which judges what is there."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hideseek.cli import main
from hideseek.records.result import Outcome, Result
from hideseek.report.result_files import write_result
from report.results import sample


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return sample(tmp_path_factory.mktemp("pictures"))


def audited(folder: Path, result: Result, *outcomes: Outcome) -> str:
    """Write an audit in which verdicts and attacks come to these outcomes alone."""
    schemes = []
    for scheme in result.schemes:
        attacks = tuple(each for each in scheme.attacks if each.outcome in outcomes)
        names = {each.attack for each in attacks}
        verdicts = tuple(
            replace(
                each,
                broke=tuple(name for name in each.broke if name in names),
                leaked=tuple(name for name in each.leaked if name in names),
                resisted=tuple(name for name in each.resisted if name in names),
            )
            for each in scheme.verdicts
        )
        if attacks:
            schemes.append(replace(scheme, attacks=attacks, verdicts=verdicts, advice=()))
    write_result(replace(result, schemes=tuple(schemes), flags=()), folder)
    return str(folder)


@pytest.mark.parametrize(
    ("outcomes", "fail_on", "code", "said"),
    [
        ((Outcome.BROKEN, Outcome.FAILED), "broken", 2, "the gate --fail-on broken does not pass: mixup is broken by"),
        ((Outcome.LEAKS,), "leaks", 2, "leaks by"),
        ((Outcome.LEAKS,), "broken", 0, ""),
        ((Outcome.RESISTED,), "leaks", 0, ""),
        ((Outcome.RESISTED, Outcome.FAILED), "leaks", 1, "cannot be judged: "),
        ((Outcome.RESISTED, Outcome.WITHHELD), "broken", 1, "did not pass its proofs on"),
        ((Outcome.RESISTED, Outcome.NOT_TRIED), "broken", 1, "was not tried on"),
        ((Outcome.NOT_APPLICABLE,), "broken", 1, "no attack was judged on"),
    ],
)
def test_the_code_of_a_gate(
    outcomes: tuple[Outcome, ...],
    fail_on: str,
    code: int,
    said: str,
    result: Result,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = audited(tmp_path, result, *outcomes)
    assert main(["report", folder, "--fail-on", fail_on]) == code
    told = capsys.readouterr()
    assert said in told.err
    assert told.err.count("\n") == (code != 0)
    assert ("passes" in told.out) == (code == 0)
    assert (tmp_path / "report.html").is_file()


def test_files_are_written_before_the_gate_ends(result: Result, tmp_path: Path) -> None:
    folder = audited(tmp_path, result, Outcome.BROKEN)
    sarif, junit = tmp_path / "new" / "a.sarif", tmp_path / "new" / "a.xml"
    line = ["report", folder, "--sarif", str(sarif), "--junit", str(junit)]
    assert main(line) == 0
    before = sarif.read_bytes(), junit.read_bytes()
    assert main([*line, "--fail-on", "broken"]) == 2  # which replaces what it wrote itself
    assert (sarif.read_bytes(), junit.read_bytes()) == before
    assert json.loads(before[0])["version"] == "2.1.0"


def test_what_is_there_is_not_lost(result: Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = audited(tmp_path, result, Outcome.BROKEN)
    notes, link = tmp_path / "notes.txt", tmp_path / "link"
    notes.write_text("mine")
    link.symlink_to(notes)
    for path, said in ((notes, "is no file of findings"), (tmp_path, "is no file of findings"), (link, "is a link")):
        for option in ("--sarif", "--junit"):
            assert main(["report", folder, option, str(path)]) == 1
            assert said in capsys.readouterr().err
    assert notes.read_text() == "mine"
    assert main(["report", folder, "--sarif", str(tmp_path / "a"), "--junit", str(tmp_path / "a")]) == 1
    assert "name two files" in capsys.readouterr().err


def test_two_is_a_finding_and_nothing_else_under_a_gate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "mixup", "--bogus"]) == 2
    for gate in (["--fail-on", "leaks"], ["--fail-on=leaks"], ["--fail-on"], ["--fail-on", "bad"]):
        assert main(["audit", "mixup", "--bogus", *gate]) == 1
        assert main(["audit", "updates", "--bogus", *gate]) == 1
        assert main(["audit", "--recorded", str(tmp_path), "--bogus", *gate]) == 1
        assert main(["report", "--bogus", *gate]) == 1
    capsys.readouterr()
    line = ["audit", "mixup", "--data", "faces", "--out", str(tmp_path / "a"), "--dry-run"]
    for option in (["--fail-on", "leaks"], ["--sarif", str(tmp_path / "a.sarif")]):
        assert main([*line, *option]) == 1
        assert f"--dry-run judges nothing: leave {option[0]} out" in capsys.readouterr().err
    assert not (tmp_path / "a").exists()
