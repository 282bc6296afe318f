"""Processes that use one ledger at once, or are killed while they release: forked from one that has imported all.

python ledger_processes.py together|killed FOLDER prints what came of it as JSON.
"""

import io
import json
import os
import posix
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from sqlite3 import Connection, Cursor
from types import FrameType
from typing import Self
from unittest.mock import patch

import numpy as np
import torch

from hideseek.cli import main
from hideseek.hide.files.release_files import release_digest
from hideseek.hide.privacy.ledger import Ledger
from hideseek.hide.privacy.ledger_budget import Budget
from hideseek.hide.privacy.ledger_entries import Leaving
from hideseek.hide.privacy.ledger_errors import OverBudget
from hideseek.records import Spent

IMAGES, RELEASES, ALLOWED = 5, 20, 30
POINTS = {"anywhere": 40, "file operations": 100, "any moment": 60}  # 200 in all
FILES = (io.IOBase, Connection, Cursor)


def together(folder: Path) -> dict[str, object]:
    """Let two processes begin the same ledger, and release the same images as often as its budget allows."""
    path, (wait, go) = folder / "ledger.db", os.pipe()

    def release(number: int) -> None:
        os.close(go)
        os.read(wait, 1)  # until both are there
        ledger = Ledger.begin(path, Budget(releases=ALLOWED))
        images = [bytes([image]) * 16 for image in range(IMAGES)]
        done = 0
        for each in range(RELEASES):
            try:
                ledger.finish(ledger.add(Leaving("hide", {}, Spent(), release=f"{number}-{each}"), images))
                done += 1
            except OverBudget:
                pass
        (folder / f"done-{number}").write_text(str(done))

    children = [_forked(lambda number=number: release(number)) for number in range(2)]  # type: ignore[misc]
    os.close(go)
    codes = [os.waitpid(child, 0)[1] for child in children]
    contents = Ledger.open(path).read()
    return {
        "codes": codes,
        "done": sum(int((folder / f"done-{number}").read_text()) for number in range(2)),
        "entries": len(contents.entries),
        "finished": sum(entry.finished for entry in contents.entries),
    }


def killed(folder: Path) -> dict[str, object]:
    """Kill hiding with a ledger at many points, and look after each at what is there."""
    torch.set_num_threads(1)  # no threads, which a fork would not have
    rng = random.Random(7)  # noqa: S311 (no secret)
    pixels = np.random.default_rng(7).integers(0, 256, (6, 8, 8), np.uint8)
    np.savez(folder / "tiny.npz", x=pixels, y=np.arange(6) % 2)
    ledger = Ledger.begin(folder / "ledger.db", Budget())
    hide(folder, "warm")  # compiles
    with Calls() as every:
        hide(folder, "counted")
    with Calls(of_files=True) as of_files:
        hide(folder, "counted-files")
    lasts = _after_entry(lambda: hide(folder, "timed"))
    number = 0
    found: dict[str, int] = {"killed": 0, "finished": 0, "unfinished": 0, "unfinished and there": 0, "no release": 0}
    kinds = [kind for kind, count in POINTS.items() for _ in range(count)]
    while found["killed"] < len(kinds):  # some have ended before they are killed
        kind, number = kinds[found["killed"]], number + 1
        name = f"out-{number}"
        if kind == "any moment":
            status = _killed_after(rng.uniform(0, lasts), folder, name)
        else:
            calls = (of_files if kind == "file operations" else every).count
            point = Calls(rng.randrange(calls), of_files=kind == "file operations")
            status = os.waitpid(_forked(lambda name=name, point=point: _hide_until(folder, name, point)), 0)[1]  # type: ignore[misc]
        found["killed"] += os.WIFSIGNALED(status)
        _look(ledger, folder / name, found)
    after = hide(folder, "after")
    contents = ledger.read()
    return {**found, "runs": number, "code after": after, "entries": len(contents.entries)}


def _killed_after(seconds: float, folder: Path, name: str) -> int:
    """Kill a process some time after it begins to write to the ledger, wherever it is then, in SQLite perhaps."""
    begun, tell = os.pipe()

    def work() -> None:
        with _told(lambda: os.write(tell, b"!")):
            hide(folder, name)

    child = _forked(work)
    os.read(begun, 1)
    time.sleep(seconds)  # a point by chance, which nothing waits for
    os.kill(child, signal.SIGKILL)
    os.close(begun)
    os.close(tell)
    return os.waitpid(child, 0)[1]


def _after_entry(work: Callable[[], object]) -> float:
    """Tell how long work takes from when it begins to write to the ledger."""
    began: list[float] = []
    with _told(lambda: began.append(time.monotonic())):
        work()
    return time.monotonic() - began[0]


@contextmanager
def _told(tell: Callable[[], object]) -> Iterator[None]:
    add = Ledger.add

    def told(self: Ledger, leaving: Leaving, images: Sequence[bytes]) -> int:
        tell()
        return add(self, leaving, images)

    with patch.object(Ledger, "add", told):
        yield


def _look(ledger: Ledger, out: Path, found: dict[str, int]) -> None:
    """Hold what is there against the ledger, whose seals must hold."""
    entries = [entry for entry in ledger.read().entries if entry.leaving.where == str(out)]
    assert len(entries) <= 1
    whole = (out / "release.json").exists()
    assert out.exists() == whole, "a release appears whole or not at all"
    if whole:
        (entry,) = entries
        assert entry.leaving.release == release_digest(out)
        found["finished" if entry.finished else "unfinished and there"] += 1
    elif entries:
        assert not entries[0].finished, "what is marked as finished is there"
        found["unfinished"] += 1
    else:
        found["no release"] += 1


def hide(folder: Path, name: str) -> int:
    """Hide the images into a folder, with the ledger, as the command does."""
    arguments = ["hide", "mixup", "--data", f"npz:{folder / 'tiny.npz'}", "--ledger", str(folder / "ledger.db")]
    return main([*arguments, "--least", "2", "--out", str(folder / name)])


def _hide_until(folder: Path, name: str, point: "Calls") -> None:
    with point:
        hide(folder, name)


class Calls:
    """Counts all that is called, in C too, or operations on files alone, begun and ended; at one point `kill -9`."""

    def __init__(self, last: int | None = None, *, of_files: bool = False) -> None:
        self.count, self.last, self.of_files = 0, last, of_files

    def __enter__(self) -> Self:
        sys.setprofile(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _called(self, frame: FrameType, event: str, what: object) -> None:
        if self.of_files:
            owner = getattr(what, "__self__", None)
            if not event.startswith("c_") or not (owner is posix or isinstance(owner, FILES)):
                return
        self.count += 1
        if self.last is not None and self.count > self.last:
            os.kill(os.getpid(), signal.SIGKILL)


def _forked(work: Callable[[], None]) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    except BaseException:  # noqa: BLE001 (the process ends here, whatever it was)
        traceback.print_exc()
    finally:
        os._exit(code)


if __name__ == "__main__":
    output = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what the commands say
    result = {"together": together, "killed": killed}[sys.argv[1]](Path(sys.argv[2]))
    os.write(output, json.dumps(result).encode())
