"""What reaches a terminal: no control character of anybody else's, in any verb, and readable in any encoding."""

import ast
import io
import json
import os
import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import hideseek.cli
from hideseek.cli import COMMANDS, main, terminal
from hideseek.escapes import SHOWN_AS_ESCAPES, escaped
from hideseek.records.result import Result
from hideseek.report.result_files import write_result
from report.results import sample

HOSTILE = "n\x1b[2J\x07\r\n\x7f\x9b\u202e\u2066\u200b\ufeff\u2028\u2029[red]x"
ESCAPED = r"n\x1b[2J\x07\r\n\x7f\x9b\u202e\u2066\u200b\ufeff\u2028\u2029[red]x"
BYTES = "\udcff"  # a byte in the name of a file that is no character
FILES = sorted(Path(hideseek.cli.__path__[0]).glob("*.py"))


def harmless(text: str) -> bool:
    return all(each == "\n" or unicodedata.category(each) not in SHOWN_AS_ESCAPES for each in text)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hostile folder with images in hostile classes, a release, a model, evidence and an audit, all badly named."""
    folder = tmp_path_factory.mktemp("place") / HOSTILE
    for label, level in ((f"a{HOSTILE}", 40), (f"b{HOSTILE}", 200)):
        (folder / "images" / label).mkdir(parents=True)
        for number in range(6):
            pixels = np.random.default_rng(number).integers(level - 40, level + 40, (16, 16), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / "images" / label / f"{number}{HOSTILE}.png")
    images = f"folder:{folder / 'images'}"
    hide = ["hide", "mixup", "--data", images, "--out", str(folder / "hidden"), "--rounds", "2", "--seed", "1"]
    assert main([*hide, "--keep-secret", str(folder / "secret")]) == 0
    learn = ["learn", "--release", str(folder / "hidden"), "--out", str(folder / "trained"), "--test", images]
    assert main([*learn, "--model", "lenet", "--epochs", "1"]) == 0
    seek = ["seek", "mixup-pairs", "--release", str(folder / "hidden"), "--out", str(folder / "found" / HOSTILE)]
    assert main([*seek, "--steps", "0"]) == 0
    evidence = folder / "found" / HOSTILE / "evidence.json"
    evidence.write_text(json.dumps({**json.loads(evidence.read_text()), "attack": HOSTILE}))
    (folder / "found" / "failed").mkdir()
    failed = {"attack": HOSTILE + "\ud800", "error": HOSTILE}
    (folder / "found" / "failed" / "failed.json").write_text(json.dumps(failed))
    for name in ("audit", "other"):
        write_result(hostile_result(folder / name), folder / name)
    return folder


def hostile_result(folder: Path) -> Result:
    folder.mkdir(exist_ok=True)
    whole = sample(folder)
    attacks = tuple(replace(each, attack=f"{each.attack}{HOSTILE}") for each in whole.schemes[0].attacks)
    scheme = replace(whole.schemes[0], name=HOSTILE, attacks=attacks)
    private = replace(whole.private, address=f"{folder.name}{HOSTILE}")
    return replace(whole, private=private, schemes=(scheme, *whole.schemes[1:]), flags=())


COMMAND: dict[str, Callable[[Path], list[str]]] = {
    "hide": lambda place: ["mixup", "--data", f"folder:{place / 'images'}", "--out", str(place / "again")],
    "learn": lambda place: ["--release", str(place / "hidden"), "--out", str(place / "l"), "--epochs", "1"],
    "predict folder": lambda place: [str(place / "trained"), str(place / "images")],
    "predict": lambda place: [str(place / "trained"), *map(str, (place / "images").rglob("*.png"))],
    "score": lambda place: [str(place / "found"), "--secret", str(place / "secret"), "--metrics", "snr"],
    "seek": lambda place: ["demask,mixup-pairs", "--release", str(place / "hidden"), "--out", str(place / "several")],
    "show": lambda place: [str(place / "hidden")],
    "report": lambda place: [str(place / "audit")],
    "compare": lambda place: [str(place / "audit"), str(place / "other")],
}


@pytest.mark.parametrize("verb", COMMAND)
def test_what_is_done_is_said_without_control_characters(
    verb: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([verb.split(maxsplit=1)[0], *COMMAND[verb](place)]) == 0
    captured = capsys.readouterr()
    assert ESCAPED in captured.out.replace("\n", "").replace(" ", "") or verb == "compare"  # whose columns are narrow
    assert harmless(captured.out + captured.err)


@pytest.mark.parametrize("verb", COMMANDS)
def test_what_is_wrong_is_said_without_control_characters(
    verb: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever a verb is given that it does not know, it repeats in its message, escaped."""
    nowhere = str(place / f"nowhere{BYTES}")
    wrong = {
        "audit": ["mixup", "--data", f"folder:{nowhere}", "--out", str(place / "a")],
        "hide": ["mixup", "--data", f"folder:{nowhere}", "--out", str(place / "h")],
        "learn": ["--data", f"npz:{nowhere}", "--out", str(place / "w")],
        "seek": ["mixup-pairs", "--release", nowhere, "--out", str(place / "s")],
        "score": [nowhere, "--secret", nowhere],
        "compare": [nowhere, nowhere],
        "predict": [nowhere, nowhere],
        "demo": ["--out", str(place)],
        "data": [HOSTILE],
    }
    assert main([verb, *wrong.get(verb, [nowhere])]) in (1, 2)
    captured = capsys.readouterr()
    assert ESCAPED in captured.err
    assert captured.err.count("\n") == 1
    assert harmless(captured.out + captured.err)
    assert main([HOSTILE]) == 2
    assert harmless(capsys.readouterr().err)


@pytest.mark.parametrize("field", ["mechanism", "unknown field"])
def test_a_strange_release_is_refused_without_control_characters(
    field: str, place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(place / "hidden", tmp_path / "copy")
    path = tmp_path / "copy" / "release.json"
    about = json.loads(path.read_text())
    about["scheme"][HOSTILE if field == "unknown field" else field] = HOSTILE + "\ud800"
    path.write_text(json.dumps(about))
    assert main(["show", str(tmp_path / "copy")]) == 1
    error = capsys.readouterr().err
    assert harmless(error)
    assert error.count("\n") == 1


def test_a_page_turns_no_line_around(place: Path) -> None:
    assert main(["report", str(place / "audit")]) == 0
    page = (place / "audit" / "report.html").read_text()
    assert ESCAPED.partition(r"\n")[2] in page  # a page may break a line
    assert harmless(page)


def test_a_class_name_of_a_million_characters(place: Path, tmp_path: Path) -> None:
    shutil.copytree(place / "hidden", tmp_path / "copy")
    path = tmp_path / "copy" / "release.json"
    about = json.loads(path.read_text())
    about["classes"] = ["x" * 1_000_000, "y" * 1_000_000]
    path.write_text(json.dumps(about))
    assert main(["show", str(tmp_path / "copy")]) == 0


def test_endless_words_are_cut(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.say("x" * 1_000_000)
    terminal.table([terminal.Column("name")], [["y" * 1_000_000]])
    out = capsys.readouterr().out
    assert len(out) < 5000
    assert "(1,000,000 characters)" in out


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_nothing_goes_past_the_terminal(path: Path) -> None:
    """Only terminal.py prints and makes consoles; only arguments.py lets the parser print."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found.add(node.func.id)
        if isinstance(node, ast.Attribute):
            found.add(f"{ast.unparse(node)}")
        if isinstance(node, ast.ImportFrom | ast.Import):
            module = node.module or "" if isinstance(node, ast.ImportFrom) else node.names[0].name
            found.add(module.partition(".")[0])
    if path.stem != "terminal":
        assert not found & {"print", "rich", "sys.stderr", "Console"}
    if path.stem != "arguments":
        assert "tyro.cli" not in found
    if path.stem not in ("terminal", "__init__"):  # which flushes it
        assert "sys.stdout" not in found


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_outputs_of_few_characters_get_look_alikes(encoding: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for verb in ("score", "compare", "hide", "seek"):
        for arguments in ([verb, "--help"], [verb, *COMMAND[verb](place)]):
            out = io.TextIOWrapper(io.BytesIO(), encoding, write_through=True)
            monkeypatch.setattr(sys, "stdout", out)
            try:
                main(arguments)
            except SystemExit as ended:
                assert not ended.code  # noqa: PT017 (help may end the program)
            written = out.buffer.getvalue().decode(encoding)
            assert not set("│─╭↑…−") & set(written)
            assert not any(rf"\u{ord(each):04x}" in written for each in terminal.LOOK_ALIKES)


def test_a_real_terminal_in_another_locale(tmp_path: Path) -> None:
    """The whole program, whose output is what the locale says."""
    how = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ran = subprocess.run(
        [sys.executable, "-m", "hideseek", "score", "--help"], capture_output=True, env=how, check=True
    )
    assert ran.stdout.isascii()
    ran = subprocess.run([sys.executable, "-m", "hideseek", "sc\u2191re"], capture_output=True, env=how, check=False)
    assert ran.returncode == 2
    assert ran.stderr.isascii()


def test_escapes_leave_what_people_read() -> None:
    for text in ("kätzchen", "日本", "−3.1 dB × λ", "a b", r"C:\x"):
        assert escaped(text) == text
    every: Any = map(chr, range(sys.maxunicode + 1))
    assert all(harmless(escaped(each)) for each in every)
