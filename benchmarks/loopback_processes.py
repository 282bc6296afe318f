"""A SuperLink and a SuperNode of Flower's on loopback, for a benchmark: started, watched, and stopped again."""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

PROJECT = Path(__file__).parent / "loopback"
EXECUTOR = "hideseek.federate.flower.executor"
ROLES = ("flower-superlink", "flower-supernode", "flwr-serverapp", "flwr-clientapp", EXECUTOR)
WAIT = 3000.0


def free_port() -> int:
    """Give a port that nobody listens on."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


@dataclass
class Loopback:
    """Processes that run, and the most memory that each kind of them had."""

    folder: Path
    port: int
    environment: Mapping[str, str]
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    peaks: dict[str, float] = field(default_factory=dict)

    def start(self, name: str, *words: str) -> None:
        """Start a program of Flower's, in a session of its own, with its words in a file."""
        program = [sys.executable, "-m", name] if "." in name else [str(Path(sys.executable).parent / name)]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                [*program, *words],
                env=dict(self.environment), cwd=self.folder, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def wait_for_link(self) -> None:
        """Wait until the SuperLink listens."""
        until = time.monotonic() + WAIT
        while time.monotonic() < until:
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.1)
        raise RuntimeError("the SuperLink does not listen")

    def run(self, plan: Mapping[str, Any]) -> dict[str, Any]:
        """Run the project once, and give what its server wrote."""
        result, about = self.folder / "result.json", self.folder / "plan.json"
        result.unlink(missing_ok=True)
        about.write_text(
            json.dumps(
                {**plan, "result": str(result), "processes": {name: each.pid for name, each in self.running.items()}}
            )
        )
        command = [str(Path(sys.executable).parent / "flwr"), "run", str(self.folder / "project"), "loopback"]
        said = subprocess.run(
            [*command, "--run-config", f'plan="{about}"'],
            env=dict(self.environment), cwd=self.folder, capture_output=True, text=True, check=False, timeout=WAIT,
        )  # fmt: skip
        if said.returncode:
            raise RuntimeError(said.stdout + said.stderr)
        until = time.monotonic() + WAIT
        while not result.exists():
            if time.monotonic() > until or any(each.poll() is not None for each in self.running.values()):
                raise RuntimeError((self.folder / "flower-superlink.log").read_text()[-4000:])
            time.sleep(0.2)
        time.sleep(0.2)
        return json.loads(result.read_text())  # type: ignore[no-any-return]

    def processes(self) -> list[psutil.Process]:
        """Give all processes that were started, and theirs."""
        found = []
        for each in self.running.values():
            try:
                parent = psutil.Process(each.pid)
                found += [parent, *parent.children(recursive=True)]
            except psutil.NoSuchProcess:
                continue
        return found

    def watch(self, done: threading.Event) -> None:
        """Note the most memory of every kind of process, in MB."""
        while not done.wait(0.1):
            for each in self.processes():
                try:
                    role = next((role for role in ROLES if any(role in word for word in each.cmdline())), "")
                    if role:
                        self.peaks[role] = max(self.peaks.get(role, 0.0), each.memory_info().rss / 1e6)
                except (psutil.NoSuchProcess, psutil.ZombieProcess):
                    continue

    def stop(self) -> None:
        """End all of them, and wait for it."""
        whole = self.processes()
        for each in whole:
            try:
                each.terminate()
            except psutil.NoSuchProcess:
                continue
        _, left = psutil.wait_procs(whole, timeout=10)
        for each in left:
            each.kill()
        psutil.wait_procs(left, timeout=10)


@contextmanager
def loopback(folder: Path, party: Mapping[str, str], preloaded: bool) -> Iterator[Loopback]:
    """Start a SuperLink and one SuperNode, without TLS, and stop them at the end."""
    port, runtime = free_port(), free_port()
    home = folder / "home"
    home.mkdir()
    (home / "config.toml").write_text(f'[superlink.loopback]\naddress = "127.0.0.1:{port}"\ninsecure = true\n')
    shutil.copytree(PROJECT, folder / "project", ignore=shutil.ignore_patterns("__pycache__"))
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "FLWR_HOME": str(home),
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.1",
        "OMP_NUM_THREADS": "1",
    }
    held, done = Loopback(folder, port, environment), threading.Event()
    watcher = threading.Thread(target=held.watch, args=(done,))
    try:
        held.start("flower-superlink", "--insecure", "--port", str(port), "--disable-runtime-dependency-installation")
        about = " ".join(f"{name}={json.dumps(value)}" for name, value in party.items())
        words = ["--insecure", "--superlink", f"127.0.0.1:{port}", "--port", str(runtime), "--node-config"]
        held.start("flower-supernode", *words, about, "--isolation", "process" if preloaded else "subprocess")
        if preloaded:
            words = ["--insecure", "--runtime-api-address", f"127.0.0.1:{runtime}", "--parent-pid", str(os.getpid())]
            held.start(EXECUTOR, *words)
        watcher.start()
        held.wait_for_link()
        yield held
    finally:
        done.set()
        if watcher.is_alive():
            watcher.join()
        held.stop()
