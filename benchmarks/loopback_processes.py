"""A SuperLink, a SuperNode of Flower's and a party's on loopback, for a benchmark: started, watched, stopped again."""

import json
import os
import shutil
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

from hideseek.federate.agreement import Agreement
from hideseek.federate.certificates import AUTHORITY, NODE_KEY, NODE_PUBLIC, write_certificates, write_node_key
from hideseek.federate.flower.control import Control, app_digest
from hideseek.federate.flower.environment import environment, free_port
from hideseek.federate.flower.superlink import HOME
from hideseek.federate.flower.trial import HIDESEEK, ONLINE, Trial, answers, wait_for
from hideseek.federate.policy import template
from hideseek.federate.settings_files import write_node

PROJECT = Path(__file__).parent / "loopback"
EXECUTOR = "hideseek.federate.flower.executor"
LINK, PLAIN, OURS = "superlink", "plain node", "node"
WAIT = 3000.0


@dataclass
class Loopback:
    """Processes that run, and the most memory that each kind of them had."""

    folder: Path
    trial: Trial
    environment: Mapping[str, str]
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    nodes: dict[str, int] = field(default_factory=dict)
    """The numbers that Flower gave to the nodes."""
    peaks: dict[str, float] = field(default_factory=dict)

    def start(self, name: str, command: list[str]) -> None:
        """Start a program, in a session of its own, with its words in a file."""
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                command, env=dict(self.environment), cwd=self.folder, stdout=log, stderr=log, start_new_session=True
            )

    def check(self) -> None:
        """Refuse to go on where a program has ended."""
        for name, each in self.running.items():
            if each.poll() is not None:
                raise RuntimeError(f"{name} ended: {(self.folder / f'{name}.log').read_text()[-4000:]}")

    def connect(self, control: Control, name: str, key: Path, *commands: list[str]) -> None:
        """Make a node's key known, start the node, and wait until it is connected."""
        control.register(key)
        (self.nodes[name],) = set(control.nodes()) - set(self.nodes.values())
        for place, command in enumerate(commands):
            self.start(f"{name}, apps" if place else name, command)
        wait_for(lambda: control.nodes()[self.nodes[name]] == ONLINE, self.check, f"{name} does not connect", WAIT)

    def run(self, plan: Mapping[str, Any]) -> dict[str, Any]:
        """Run the project once, and give what its server wrote."""
        result, about = self.folder / "result.json", self.folder / "plan.json"
        result.unlink(missing_ok=True)
        numbers = {name: each.pid for name, each in self.running.items()}
        about.write_text(json.dumps({**plan, "result": str(result), "processes": numbers, "nodes": self.nodes}))
        command = [str(Path(sys.executable).parent / "flwr"), "run", str(self.folder / "project")]
        said = subprocess.run(
            [*command, "--run-config", f'plan="{about}"'],
            env=dict(self.environment), cwd=self.folder, capture_output=True, text=True, check=False, timeout=WAIT,
        )  # fmt: skip
        if said.returncode:
            raise RuntimeError(said.stdout + said.stderr)
        wait_for(result.exists, self.check, "the run does not end", WAIT)
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
        """Note the most memory of every program with all that it started, one by one, in MB."""
        while not done.wait(0.1):
            for name, each in list(self.running.items()):
                try:
                    parent = psutil.Process(each.pid)
                    for process in (parent, *parent.children(recursive=True)):
                        words = " ".join(process.cmdline())
                        apps = EXECUTOR in words or (name == OURS and process != parent)  # which it forks
                        role = "server" if "flwr-serverapp" in words else f"{name}, apps" if apps else name
                        self.peaks[role] = max(self.peaks.get(role, 0.0), process.memory_info().rss / 1e6)
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
def loopback(folder: Path, data: str, agreement: Agreement, scheme: str) -> Iterator[Loopback]:
    """Start a SuperLink and two nodes, as a federation does, and stop them at the end.

    All speak TLS, and nodes sign in. One is Flower's own SuperNode, for plain messages; the other is that of a party,
    with its gate and a policy. The apps of both are forked from a process that has imported everything.
    """
    server, node, plain = (folder / name for name in ("server", "node", "plain"))
    for each in (server, node, plain):
        each.mkdir()
    write_certificates(server, ["localhost", "127.0.0.1"])
    for each in (node, plain):
        write_node_key(each)
    shutil.copy(server / AUTHORITY, node / AUTHORITY)
    shutil.copytree(PROJECT, folder / "project", ignore=shutil.ignore_patterns("__pycache__"))
    (node / "node.toml").write_text(write_node(data, None, record=False))
    policy = template(agreement, scheme, 1, 10)
    (node / "policy.toml").write_text(policy.replace("apps = []", f'apps = ["{app_digest(folder / "project")}"]'))
    trial, runtime = Trial(folder, free_port()), free_port()
    threads = {"OMP_NUM_THREADS": "1", "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.1"}
    held = Loopback(folder, trial, {**os.environ, **environment(server / HOME), **threads})
    done = threading.Event()
    watcher = threading.Thread(target=held.watch, args=(done,))
    try:
        held.start(LINK, [*HIDESEEK, "superlink", str(server), "--port", str(trial.port)])
        wait_for(lambda: answers(trial.host, trial.port), held.check, "the SuperLink does not listen", WAIT)
        watcher.start()
        with Control.of(trial.address, server / AUTHORITY) as control:
            signing = ["--root-certificates", str(server / AUTHORITY), "--auth-supernode-private-key"]
            supernode = [
                str(Path(sys.executable).parent / "flower-supernode"), "--superlink", trial.address, *signing,
                str(plain / NODE_KEY), "--host", "127.0.0.1", "--port", str(runtime), "--isolation", "process",
            ]  # fmt: skip
            address = ["--insecure", "--runtime-api-address", f"127.0.0.1:{runtime}", "--parent-pid", str(os.getpid())]
            executor = [sys.executable, "-m", EXECUTOR, *address]
            held.connect(control, PLAIN, plain / NODE_PUBLIC, supernode, executor)
            held.connect(
                control, OURS, node / NODE_PUBLIC, [*HIDESEEK, "node", str(node), "--superlink", trial.address]
            )
        yield held
    finally:
        done.set()
        if watcher.is_alive():
            watcher.join()
        held.stop()
