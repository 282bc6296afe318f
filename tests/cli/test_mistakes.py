"""The last resort: whatever happens, one sentence and a code; the traceback only where it is asked for."""

import errno
import resource
import subprocess
import sys
from collections.abc import Sequence

import pytest

from hideseek.cli import main
from hideseek.cli.mistakes import CODES, NO_MEMORY, explained
from hideseek.errors import BadInput

MEMORY = [
    MemoryError(),
    RuntimeError("[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried"),
    RuntimeError("can't start new thread"),
    ImportError("libtorch_cpu.so: failed to map segment from shared object"),
    OSError(errno.ENOMEM, "Cannot allocate memory"),
]


@pytest.mark.parametrize("error", MEMORY, ids=lambda error: type(error).__name__)
def test_too_little_memory_is_said_so(error: Exception) -> None:
    assert explained(error) == (NO_MEMORY, 1)


def test_whose_mistake_it_is() -> None:
    assert explained(BadInput("name it.")) == ("name it.", 1)
    assert explained(KeyboardInterrupt("stopped; go on.")) == ("stopped; go on.", 130)
    file = FileNotFoundError(errno.ENOENT, "No such file or directory", "a/b")
    assert explained(file) == ("a/b cannot be used: No such file or directory.", 1)
    assert explained(ImportError("No module named 'opacus'")).code == 1
    for bug in (ZeroDivisionError("division by zero"), RuntimeError("shapes\ndiffer"), AssertionError(), KeyError("k")):
        sentence, code = explained(bug)
        assert code == 3
        assert type(bug).__name__ in sentence
        assert "--debug" in sentence
        assert "\n" not in sentence


@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_error_of_ours_is_one_sentence_and_with_debug_a_traceback(
    place: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(arguments: Sequence[str]) -> None:
        assert list(arguments) == ["here"]
        raise ZeroDivisionError("by\x1bzero")

    monkeypatch.setattr("hideseek.cli.show.run", run)
    assert main(["show", "here"]) == 3
    error = capsys.readouterr().err
    assert error.startswith(
        r"hideseek: this is an error in hideseek, not in what you asked for (ZeroDivisionError: by\x1b"
    )
    assert error.count("\n") == 1
    line = ["show", "here"]
    line.insert(place, "--debug")
    assert main(line) == 3
    error = capsys.readouterr().err
    assert "Traceback" in error
    assert "\x1b" not in error


def test_the_overview_explains_the_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"{code:<4} {meaning}" in text for code, meaning in CODES.items())
    assert "--debug" in text


def test_a_process_that_may_use_little_memory_says_so() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "hideseek", "demo", "--help"],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (400_000 * 1024, 400_000 * 1024)),
    )
    assert ran.returncode == 1
    assert ran.stderr.startswith("hideseek: this process may use 391 MiB of memory")
    assert ran.stderr.count("\n") == 1


def test_an_output_that_is_full_or_closed() -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123 (a device)
        ran = subprocess.run([sys.executable, "-m", "hideseek"], stdout=full, stderr=subprocess.PIPE, check=False)
    assert ran.returncode == 1
    assert ran.stderr == b"hideseek: a file or the output cannot be used: No space left on device.\n"
    closed = subprocess.run(["sh", "-c", f"{sys.executable} -m hideseek >&-"], capture_output=True, check=False)
    assert (closed.returncode, closed.stderr) == (0, b"")
