"""`hideseek bench`: what the command line says of entries and leaderboards."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from hideseek.bench import BENCHMARKS, PROTOCOLS, QUICK
from hideseek.cli import main

SMALL = replace(QUICK["rows"], private=8, tested=40, learnt=64, public=30, own=30, attacks=("linear-inversion",))


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let --quick be quicker."""
    monkeypatch.setitem(QUICK, "rows", SMALL)
    monkeypatch.setitem(PROTOCOLS, SMALL.name, SMALL)
    monkeypatch.delenv("HIDESEEK_DATA", raising=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder for entries, that tests share."""
    return tmp_path_factory.mktemp("entries")


def test_an_entry_is_measured_once_and_checked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "rows", "mixup,none", "--quick", "--out", str(folder)]) == 0
    said = capsys.readouterr().out
    assert "mixup: " in said
    assert "broken by linear-inversion" in said
    assert "leave out --quick" in said
    assert main(["bench", "rows", "mixup", "--quick", "--out", str(folder)]) == 0
    assert "mixup is measured already." in capsys.readouterr().out
    assert main(["bench", "check", str(folder)]) == 0
    assert capsys.readouterr().out == "mixup: whole\nnone: whole\n"


def test_no_board_of_quick_entries(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "board.md"
    assert main(["bench", "board", str(folder), "--out", str(out)]) == 1
    assert "none that was measured by --quick" in capsys.readouterr().err
    assert not out.exists()


def test_a_board_is_written(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(BENCHMARKS, "rows", SMALL)
    out = tmp_path / "board.md"
    assert main(["bench", "board", str(folder), "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"The leaderboard of 2 entries is in {out}.\n"
    text = out.read_text("utf-8")
    assert text.startswith("# ")
    assert "`mixup`" in text
    (linked,) = re.findall(r"\[picture\]\((.+?)\)", text)
    assert (tmp_path / linked).resolve() == (folder / "mixup" / "found.png").resolve()
    (folder / "mixup" / "found.png").rename(tmp_path / "found.png")
    try:
        assert main(["bench", "board", str(folder), "--out", str(out)]) == 1
        assert "mixup may not stand on a leaderboard: it is broken, and has no found.png" in capsys.readouterr().err
        assert main(["bench", "check", str(folder)]) == 1
        assert "1 of 2 entries lack evidence" in capsys.readouterr().err
    finally:
        (tmp_path / "found.png").rename(folder / "mixup" / "found.png")
    assert out.read_text("utf-8") == text


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("race",), "verb of bench"),
        (("rows", "magic", "--quick", "--out", "{out}"), "magic"),
        (("rows", "mixup:k=99", "--quick", "--out", "{out}"), "99"),
        (("updates", "magic", "--quick", "--out", "{out}"), "magic"),
        (("rows", "mixup", "--quick", "--out", "/proc/none"), "/proc/none"),
        (("check", "{out}"), "not a folder"),
        (("check", "."), "no entry in"),
        (("board", "{out}", "--out", "{out}.md"), "not a folder"),
        (("rows", "mixup"), "--out"),
    ],
)
def test_bad_input(
    command: tuple[str, ...],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["bench", *(part.format(out=tmp_path / "out") for part in command)]) != 0
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1


def test_help_names_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--help"]) == 0
    said = capsys.readouterr().out
    assert all(f"\n  {name} " in said for name in ("rows", "updates", "check", "board"))
    for name in ("rows", "updates", "check", "board"):
        with pytest.raises(SystemExit) as ended:
            main(["bench", name, "--help"])
        assert ended.value.code == 0
        assert "Try:" in capsys.readouterr().out
