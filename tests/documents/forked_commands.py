"""Commands of hideseek, each in a process of its own, forked from one that has imported it: imports take seconds."""

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

FORKED = get_context("forkserver")
FORKED.set_forkserver_preload(["hideseek.audit", "hideseek.cli.arguments", "hideseek.report"])
SHELL = frozenset("|&;<>()$`*?[]~%!\n")


def words(command: str) -> list[str] | None:
    """Give the arguments of a command that is hideseek's alone; None where a shell has to read it.

    >>> words("hideseek hide mixup --data 'my images'  # so"), words("hideseek --version | cat"), words("ls")
    (['hide', 'mixup', '--data', 'my images'], None, None)
    """
    plain = command.replace("\\\n", " ")
    if not plain.startswith("hideseek ") or not SHELL.isdisjoint(plain):
        return None
    return shlex.split(plain, comments=True)[1:]


def run_forked(
    arguments: list[str], folder: Path, environment: Mapping[str, str], longest: float
) -> subprocess.CompletedProcess[str]:
    """Run hideseek with these arguments as a program would, and give what it printed."""
    with TemporaryDirectory() as place:
        out, err = Path(place, "out"), Path(place, "err")
        process = FORKED.Process(target=_run, args=(arguments, folder, dict(environment), out, err))
        process.start()
        process.join(longest)
        if process.exitcode is None:
            process.kill()
            process.join()
        said = [path.read_text("utf-8") if path.exists() else "" for path in (out, err)]
    return subprocess.CompletedProcess(arguments, -1 if process.exitcode is None else process.exitcode, *said)


def _run(arguments: list[str], folder: Path, environment: dict[str, str], out: Path, err: Path) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    sys.argv = ["hideseek", *arguments]
    from hideseek.audit.planning.clock import ProcessClock
    from hideseek.cli import main

    ProcessClock.wall = ProcessClock.now  # type: ignore[method-assign] # no audit ends sooner on a busy machine
    sys.exit(main(arguments))
