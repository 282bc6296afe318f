"""What Ray starts and writes for a simulation, and that nothing of it stays.

Its library keeps a dozen descriptors until this process ends, however many parties there were: event queues, a few
sockets, and three logs, which are deleted.
"""

import gc
import logging
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import psutil

from hideseek.files.leftovers import ours

SHORT = Path("/tmp")  # noqa: S108 (Ray's sockets lie in it, and their paths must be short)
PREFIX = "hideseek-ray-"
PATIENCE = 1.0  # seconds for processes to end by themselves: parties wrote down all there is before they answered
TRIES = 8  # to start Ray, which gives up after 30 seconds
KILLED = 30.0  # seconds until those are gone that were killed


@contextmanager
def own_temporary_folder() -> Iterator[Path]:
    """Give a folder that only its owner can enter, and remove it at the end with all that is in it.

    What runs left that were killed is removed too.
    """
    place = SHORT if SHORT.is_dir() else Path(tempfile.gettempdir())
    for old in place.glob(f"{PREFIX}*"):
        owner = old.name.removeprefix(PREFIX).partition("-")[0]
        if owner.isdecimal() and not psutil.pid_exists(int(owner)) and ours(old.lstat()):
            shutil.rmtree(old, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=place))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def without_leftovers(folder: Path) -> Iterator[Callable[[], None]]:
    """Give a function to call before processes are told to end; those that it saw are gone at the end, or are killed.

    So are others that write into the folder: where Ray did not get as far as to start, nobody else ends them.

    Ray gives its workers a low priority, with which they starve beside any other work; here they are the work. Its
    ports are open to the network, so that whoever connects must know a token of this process.
    """
    before = dict(os.environ)
    os.environ.update({"RAY_worker_niceness": "0", "RAY_ENABLE_AUTO_CONNECT": "0"})
    if _token():
        os.environ.update({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": _token()})
    own = psutil.Process()
    earlier = set(own.children(recursive=True))
    seen: set[psutil.Process] = set()
    try:
        yield lambda: seen.update(own.children(recursive=True))
    finally:
        _, left = psutil.wait_procs((seen | _naming(folder)) - earlier, PATIENCE)
        for process in left:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(left, KILLED)
        _note_ended({each.pid for each in seen})
        keep_handlers()
        os.environ.clear()
        os.environ.update(before)


def start_ray(folder: Path, processes: int) -> None:
    """Start Ray with its files in the folder; it gives itself 30 seconds, in which a busy machine may not do it."""
    import ray

    os.environ["PYTHONPATH"] = os.pathsep.join(each for each in sys.path if each)  # for the processes of parties
    for attempt in range(1, TRIES + 1):
        try:
            ray.init(
                num_cpus=processes, logging_level=logging.CRITICAL, log_to_driver=False, include_dashboard=False,
                _temp_dir=str(folder / str(attempt)),
            )  # fmt: skip
        except Exception:  # of no type of its own where Ray does not start; the last one is raised again
            ray.shutdown()
            for process in _naming(folder):
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            if attempt == TRIES:
                raise
        else:
            return


def _note_ended(numbers: set[int]) -> None:
    """Let what Ray holds of its processes see that they ended; it would warn at its own end that nobody waited."""
    for each in gc.get_objects():
        if issubclass(type(each), subprocess.Popen) and each.pid in numbers:
            each.poll()


@cache
def _token() -> str:
    """Give the token of this process; none where Ray was loaded before, since it reads it when it is."""
    return "" if "ray" in sys.modules else secrets.token_hex(32)


def _naming(folder: Path) -> set[psutil.Process]:
    """Give the processes of this user that were started with the folder in their arguments."""
    found = set()
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.pid != os.getpid() and any(str(folder) in each for each in process.cmdline()):
                found.add(process)
    return found


def keep_handlers() -> None:
    """Give a request to end back to whom it was promised: Ray takes it from Python when it starts, and when it ends."""
    if threading.current_thread() is threading.main_thread() and (handler := signal.getsignal(signal.SIGTERM)):
        signal.signal(signal.SIGTERM, handler)
