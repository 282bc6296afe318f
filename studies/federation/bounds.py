"""30 parties and 50 rounds by Flower's simulation: memory, processes, files and ports, and what stays of them."""

import os
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from hideseek.data import load
from hideseek.federate.planned import Plan
from hideseek.federate.server import ServerSettings, read_metrics

EVERY = 1.0  # seconds between two looks


class Watch(threading.Thread):
    """Looks at this process and all that it started, until it is told to stop."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.own = psutil.Process()
        self.seen: set[psutil.Process] = set()
        self.memory: list[tuple[float, float]] = []
        """Megabytes of all processes, and of this one, where shared pages count once."""
        self.most = 0
        self.ports: set[int] = set()
        self.ended = threading.Event()

    def run(self) -> None:
        """Look, again and again."""
        while not self.ended.wait(EVERY):
            tree = [self.own, *self.own.children(recursive=True)]
            self.seen |= set(tree[1:])
            held = [_megabytes(each) for each in tree]
            self.memory.append((sum(held), held[0]))
            self.most = max(self.most, len(tree))
            self.ports |= listening(tree)


def _megabytes(process: psutil.Process) -> float:
    try:
        return float(process.memory_full_info().pss) / 1e6
    except psutil.Error:  # it has just ended
        return 0.0


def listening(processes: list[psutil.Process]) -> set[int]:
    """Give the ports that these processes listen on."""
    found = set()
    for each in processes:
        try:
            found |= {link.laddr.port for link in each.net_connections("inet") if link.status == psutil.CONN_LISTEN}
        except psutil.Error:
            continue
    return found


def measured(parties: int, rounds: int, images: int) -> dict[str, Any]:
    """Simulate, and tell what it took and what it left."""
    from hideseek.federate.flower.simulation import Simulated, simulate

    folder = Path(tempfile.mkdtemp(prefix="hideseek-study-"))
    digits = load("mnist?split=train").take(slice(0, images))
    np.savez(folder / "digits.npz", images=digits.images.numpy(), labels=digits.labels.argmax(1).numpy())
    address = f"npz:{folder / 'digits.npz'}"
    agreement, _ = Plan(address, model="tanh-dense", parties=parties, rounds=rounds).agreement()
    watch, temporary = Watch(), _temporary()
    before = watch.own.num_fds(), len(listening([watch.own])), threading.active_count()
    started = time.monotonic()
    watch.start()
    try:
        simulate(Simulated(address, parties), agreement, ServerSettings(folder / "out", timeout=600.0), None)
    finally:
        watch.ended.set()
        watch.join()
    seconds = time.monotonic() - started
    after = watch.own.num_fds(), len(listening([watch.own])), threading.active_count()
    metrics = read_metrics(folder / "out")
    quarter = len(watch.memory) // 4
    result = {
        "seconds": round(seconds, 1),
        "processors": os.cpu_count(),
        "rounds": metrics[-1]["round"],
        "updates": sum(len(each.get("parties", ())) for each in metrics),
        "megabytes in": round(metrics[-1]["bytes_in"] / 1e6, 1),
        "peak memory, all processes (MB)": round(max(whole for whole, _ in watch.memory)),
        "peak memory, server (MB)": round(max(own for _, own in watch.memory)),
        "second quarter, all (MB)": round(max(whole for whole, _ in watch.memory[quarter : 2 * quarter])),
        "last quarter, all (MB)": round(max(whole for whole, _ in watch.memory[3 * quarter :])),
        "most processes": watch.most,
        "ports meanwhile": len(watch.ports),
        "processes left": sum(each.is_running() and each.status() != psutil.STATUS_ZOMBIE for each in watch.seen),
        "ports left": after[1] - before[1],
        "open files before": before[0],
        "open files after": after[0],
        "threads before": before[2],
        "threads after": after[2],
        "folders left": len(_temporary() - temporary),
    }
    shutil.rmtree(folder)
    return result


def _temporary() -> set[Path]:
    return {path for pattern in ("hideseek-ray-*", "ray/session_2*") for path in Path("/tmp").glob(pattern)}  # noqa: S108
