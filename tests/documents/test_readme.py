"""Every command of the README and of docs/ runs, in order, in one folder, and shows what is shown there.

The Python blocks of a page are one script.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from documents.code_blocks import Command, blocks, commands, shows
from documents.forked_commands import run_forked, words
from documents.your_images import write_images, write_named

ROOT = Path(__file__).parents[2]
FILES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ELSEWHERE = ("pip install", "make ")  # what sets the machine up: `.ci/run` does
SHORTER = {
    "--budget 30m": "--budget 10s",
    "--budget 10m": "--budget 1s",
    "--budget 1m": "--budget 1s",
    "budget=60": "budget=1",
}  # on small images; what must run, runs
SHOWN = "text"  # the language of blocks that nobody types here: on other machines, or tested by themselves
TESTED = {"federate.md": "tests/federate/test_processes.py", "bench.md": "tests/cli/test_cli_bench.py"}  # where
MADE = re.compile(r"(\.\./)?(attacks|mechanisms|defences)/")  # pages of the site alone: its build checks links to them
LONGEST = 1200  # seconds of a command, after which it hangs


def shell_commands(file: Path) -> Iterator[Command]:
    """Give the commands that a reader of a file would type."""
    for block in blocks(file.read_text("utf-8")):
        if block.language in ("sh", "console"):
            yield from commands(block)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a reader's images, and nothing else."""
    place = tmp_path_factory.mktemp("reader")
    write_images(place)
    write_named(place.parent / "named sets")
    return place


def environment(folder: Path) -> dict[str, str]:
    """Give a reader's environment: this hideseek first, named sets at hand, nothing downloaded."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "HIDESEEK_DATA": str(folder.parent / "named sets"), "COLUMNS": "120"}


def run(command: list[str], folder: Path) -> str:
    """Run a command in the folder and give what it printed."""
    if (arguments := words(command[-1])) is not None:
        done = run_forked(arguments, folder, environment(folder), LONGEST)
    else:
        done = subprocess.run(
            command, cwd=folder, env=environment(folder), capture_output=True, text=True, check=False, timeout=LONGEST
        )
    assert done.returncode == 0, f"{command[-1]}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


def test_every_command_of_the_documents_runs_and_shows_what_is_shown(folder: Path) -> None:
    ran = 0
    for file in FILES:
        _run_script(file, folder)
        for block in blocks(file.read_text("utf-8")):
            if block.language == "python":
                continue
            if block.language == SHOWN:
                assert file.name in TESTED
                continue
            assert block.language in ("sh", "console"), f"{file.name}:{block.line} is in {block.language!r}"
            for command in commands(block):
                if command.text.startswith(ELSEWHERE):
                    continue
                real = run(["bash", "-e", "-c", _shorter(command.text)], folder)
                ran += 1
                if command.shown is not None:
                    assert shows(command.shown, real), f"{file.name}:{command.line} shows otherwise:\n{real}"
    assert ran > 15


def _shorter(text: str) -> str:
    for long, short in SHORTER.items():
        text = text.replace(long, short)
    return text


def _run_script(file: Path, folder: Path) -> None:
    """Run a page's script as a reader would; an audit then again in the same folder, on fewer rows."""
    text = "\n\n\n".join(block.text for block in blocks(file.read_text("utf-8")) if block.language == "python")
    script, text = folder / "example.py", _shorter(text)
    for again in (text, text.replace("rounds=10", "rounds=1"))[: text.count("audit(") + bool(text)]:
        script.write_text(again, "utf-8")
        said = run([sys.executable, "-W", "error", script.name], folder)
        assert len(said.splitlines()) > 1  # it is not silent
    drawn = re.findall(rf"\]\({file.stem}/([\w-]+\.png)\)", file.read_text("utf-8"))
    assert not [name for name in drawn if not (folder / name).exists()]


def test_set_up_commands_name_what_there_is() -> None:
    told = [command.text for command in shell_commands(ROOT / "README.md") if command.text.startswith(ELSEWHERE)]
    makefile = (ROOT / "Makefile").read_text("utf-8")
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    assert len(told) == 6
    for command in told:
        if target := re.match(r"make (\w+)", command):
            assert f"\n{target[1]}:" in makefile
        for extra in ((match := re.search(r"\[(.*)]", command)) and match[1].split(",")) or []:
            assert f"\n{extra} = [" in project


@pytest.mark.parametrize(
    "file", [*FILES, ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"], ids=lambda file: file.name
)
def test_named_files_exist(file: Path) -> None:
    text = file.read_text("utf-8")
    links = {file.parent / link for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", text) if not MADE.match(link)}
    scripts = {ROOT / name for name in re.findall(r"\b((?:benchmarks|studies|examples|tests)/[\w/]+\.\w+)", text)}
    assert not {str(path) for path in links | scripts if not path.exists()}
