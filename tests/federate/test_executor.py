"""Client processes that are forked: each ends with its message, whatever happens in it."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("flwr.app")
from flwr.supercore.constant import TaskType
from flwr.supercore.exit.exit_handler import registered_exit_handlers
from flwr.supercore.superexec.executor import ExecutionSpec, LaunchResultStatus, SubprocessExecutor

from hideseek.federate.flower import executor
from hideseek.federate.flower.node import start_apps

LONGEST = 300.0  # seconds that a process may take to end on a busy machine


def spec(kind: TaskType = TaskType.CLIENT_APP, install: bool = False) -> ExecutionSpec:
    return ExecutionSpec(kind, "127.0.0.1:1", "token", True, None, install, os.getpid(), True, 1)


def kept_forks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Give the list to which the numbers of forked processes will be added."""
    forked, fork = list[int](), os.fork

    def kept() -> int:
        forked.append(fork())
        return forked[-1]

    monkeypatch.setattr(os, "fork", kept)
    return forked


def launched(monkeypatch: pytest.MonkeyPatch, run: Callable[..., None]) -> int:
    """Launch a client that does this, and give how its process ended."""
    monkeypatch.setattr(executor, "run_clientapp", run)
    forked = kept_forks(monkeypatch)
    assert executor.ForkingExecutor().launch(spec()).status == LaunchResultStatus.ACCEPTED
    _, status = os.waitpid(forked[0], 0)
    return os.waitstatus_to_exitcode(status)


def test_a_message_is_answered_in_a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    handler: Any = object()
    monkeypatch.setattr("flwr.supercore.exit.exit_handler.registered_exit_handlers", registered_exit_handlers)
    registered_exit_handlers.append(handler)

    def run(address: str, token: str, insecure: bool, *_: object, **__: object) -> None:
        said = f"{address} {token} {insecure} {os.getpid()} {len(registered_exit_handlers)}"
        (tmp_path / "said").write_text(said)
        raise SystemExit(0)

    try:
        assert launched(monkeypatch, run) == 0
        *given, process, handlers = (tmp_path / "said").read_text().split()
        assert given == ["127.0.0.1:1", "token", "True"]
        assert int(process) != os.getpid()
        assert handlers == "0"  # the parent's connection is not closed by its children
        assert handler in registered_exit_handlers
    finally:
        registered_exit_handlers.remove(handler)


def test_a_client_that_fails_does_not_go_on_as_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object, **__: object) -> None:
        raise ValueError("a mistake")

    assert launched(monkeypatch, run) == 1


@pytest.mark.parametrize("given", [spec(TaskType.SERVER_APP), spec(install=True)])
def test_other_programs_are_started_as_flower_starts_them(
    given: ExecutionSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    monkeypatch.setattr(SubprocessExecutor, "launch", lambda self, spec: seen.append(spec))
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("it was forked"))
    executor.ForkingExecutor().launch(given)
    assert seen == [given]


def test_processes_that_have_ended_are_let_go_and_others_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object, **__: object) -> None:
        raise SystemExit(0)

    monkeypatch.setattr(executor, "run_clientapp", run)
    other = subprocess.Popen([sys.executable, "-c", ""])
    held = executor.ForkingExecutor()
    held.launch(spec())
    (child,) = held.forked
    until = time.monotonic() + LONGEST
    while held.forked:
        assert time.monotonic() < until
        held.reconcile()
        time.sleep(0.01)
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
    held.reconcile()
    assert other.wait(LONGEST) == 0  # nobody else has waited for it


def test_a_node_forks_what_starts_its_apps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its arguments, and that it never goes on as the node, not after an error either."""

    def main() -> None:
        (tmp_path / "said").write_text(" ".join([str(os.getpid()), *sys.argv]))
        raise ValueError("a mistake")

    monkeypatch.setattr(executor, "main", main)
    forked = kept_forks(monkeypatch)
    start_apps(1234)
    assert os.waitstatus_to_exitcode(os.waitpid(forked[0], 0)[1]) == 1
    child, *arguments = (tmp_path / "said").read_text().split()
    assert int(child) == forked[0] != os.getpid()
    assert arguments == [
        "flower-superexec", "--insecure", "--runtime-api-address", "127.0.0.1:1234", "--parent-pid", str(os.getpid())
    ]  # fmt: skip
