"""Processes that are started together and stopped together, with all that they started in turn."""

import os
import secrets
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

from hideseek.errors import BadInput

MARK = "HIDESEEK_TRIAL"
GENTLE = 8.0  # seconds that processes have to end by themselves


@dataclass
class Processes:
    """Processes of one trial; when the block ends, none of them is left, nor any that they started.

    Flower starts processes that leave their group, and that outlive their parent: all are known by a mark in their
    environment, which is passed on.
    """

    environment: Mapping[str, str]
    mark: str = field(default_factory=lambda: secrets.token_hex(16))
    started: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    logs: dict[str, Path] = field(default_factory=dict)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        before = _ignored()
        try:
            self.stop()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def start(self, name: str, command: Sequence[str], log: Path, more: Mapping[str, str] | None = None) -> None:
        """Start a process whose output goes to a file."""
        given = {**os.environ, **self.environment, **(more or {}), MARK: self.mark}
        with log.open("ab") as output:
            self.started[name] = subprocess.Popen(  # noqa: S603 (our own command lines)
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=given, start_new_session=True
            )
        self.logs[name] = log

    def check(self) -> None:
        """Refuse to go on where one of them has ended."""
        for name, process in self.started.items():
            if process.poll() is not None:
                lines = [*filter(str.strip, self.logs[name].read_text("utf-8", "replace").splitlines())]
                said = f", which ends: {lines[-1].strip()}" if lines else "."
                raise BadInput(f"{name} ended with the code {process.returncode}: see {self.logs[name]}{said}")

    def kill(self, name: str) -> None:
        """Kill a process at once, and all that it started: as a machine that loses its power."""
        process = self.started.pop(name)
        below = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        for each in below:
            _signal(each, signal.SIGKILL)
        process.wait()

    def alive(self) -> list[psutil.Process]:
        """Give all processes that have our mark."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get(MARK) == self.mark and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except (psutil.Error, OSError):  # gone, or somebody else's
                continue
        return found

    def stop(self) -> None:
        """Ask all to end, and end those that do not; one that is started meanwhile is asked too."""
        for number, wait in ((signal.SIGTERM, GENTLE), (signal.SIGKILL, GENTLE)):
            until, asked = time.monotonic() + wait, set[int]()
            while (alive := self.alive()) and time.monotonic() < until:
                for process in alive:
                    if process.pid not in asked:
                        _signal(process, number)
                asked = {process.pid for process in alive}
                for child in self.started.values():
                    child.poll()
                time.sleep(0.1)
        for child in self.started.values():
            child.wait()
        self.started.clear()


def _signal(process: psutil.Process, number: int) -> None:
    with suppress(psutil.NoSuchProcess):
        process.send_signal(number)


def _ignored() -> dict[int, Any]:
    """Ignore further requests to end while processes are stopped: a second Ctrl-C would leave some behind."""
    try:
        return {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not in the main thread
        return {}
