"""Faults of real processes: a server that is killed, a node that is killed, a link that is cut. Each comes back.

They take minutes, so that they run where HIDESEEK_LONG_TESTS=1 is set alone (CONTRIBUTING.md):

    HIDESEEK_LONG_TESTS=1 python -m pytest tests/federate/test_faults_of_processes.py

Faults come in the middle of a round, however fast rounds are: a node that is stopped (SIGSTOP) holds its round up.
"""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil
import pytest

from federation_trials import written
from hideseek.cli import main
from hideseek.federate.gate import LOG
from hideseek.federate.messages import SHARD, UPDATE
from hideseek.federate.server import read_metrics, read_refused
from hideseek.hide.files.release_files import read_release
from long_tests import LONG

pytest.importorskip("flwr")
from hideseek.federate.flower.control import Control
from hideseek.federate.flower.environment import environment
from hideseek.federate.flower.processes import Processes
from hideseek.federate.flower.superlink import HOME
from hideseek.federate.flower.trial import Trial, wait_for

pytestmark = LONG
LONGEST = 1800.0
ROUNDS = 6
SCHEME = ("--scheme", "gradient-pruning:p=0.5", "--rounds", str(ROUNDS))


def finished(trial: Trial) -> list[int]:
    """Give the rounds that the server finished, in their order."""
    return [each["round"] for each in read_metrics(trial.server / "out")]


def log(node: Path) -> list[dict[str, Any]]:
    """Give what the gate of a node wrote down."""
    path = node / "kept" / LOG
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def answered(node: Path) -> list[int]:
    """Give the rounds whose updates left a node."""
    return [each["round"] for each in log(node) if each.get("kind") == UPDATE and each["passed"]]


def until_round(trial: Trial, processes: Processes, round_: int) -> None:
    while round_ not in finished(trial):
        processes.check()
        time.sleep(0.02)  # the next fault must come before the last round


def all_of(processes: Processes, name: str) -> list[psutil.Process]:
    """Give a process and all that it started."""
    first = psutil.Process(processes.started[name].pid)
    return [first, *first.children(recursive=True)]


def held_up(trial: Trial, processes: Processes, held: Path, other: Path) -> int:
    """Stop a node in the middle of a round, and give the last round that was finished before."""
    for each in all_of(processes, held.name):
        each.suspend()
    wait_for(
        lambda: max(answered(other), default=0) > finished(trial)[-1], processes.check, "no round is begun", LONGEST
    )
    time.sleep(2)  # what was under way has arrived
    last = finished(trial)[-1]
    assert last < ROUNDS
    assert max(answered(other)) == last + 1
    return last


def until_end(control: Control, run: int, processes: Processes) -> None:
    wait_for(lambda: control.status(run).startswith("finished"), processes.check, "the run does not end", LONGEST)
    assert control.status(run) == "finished:completed", control.details(run)


def once_each(trial: Trial) -> None:
    """Every round was finished once, by two parties, with the images of two updates."""
    metrics = read_metrics(trial.server / "out")
    assert [each["round"] for each in metrics] == list(range(ROUNDS + 1))
    assert [len(each["parties"]) for each in metrics[1:]] == [2] * ROUNDS
    assert {each["examples"] for each in metrics[1:]} == {2 * 16}


def test_a_server_that_was_killed_goes_on_after_its_last_finished_round(tmp_path: Path) -> None:
    trial = Trial.of(written(tmp_path / "trial", *SCHEME, "--timeout", "600"))
    first, second = trial.nodes
    with trial.processes() as processes:
        trial.start_superlink(processes)
        with trial.control() as control:
            trial.start_nodes(control, processes, print)
            control.start(trial.folder / "app")
            until_round(trial, processes, 1)
            began = held_up(trial, processes, first, second)
        processes.kill("the SuperLink")
        for each in all_of(processes, first.name):
            each.resume()
        assert finished(trial)[-1] == began
        trial.start_superlink(processes)
        with trial.control() as control:
            trial.wait_for_nodes(control, processes)
            until_end(control, control.start(trial.folder / "app"), processes)
    once_each(trial)
    print(f"killed in round {began + 1}; the nodes answered {[answered(node) for node in trial.nodes]}")
    for node in trial.nodes:
        assert [answered(node).count(round_) for round_ in range(1, began + 1)] == [1] * began
        assert set(answered(node)) == set(range(1, ROUNDS + 1))
    assert answered(second).count(began + 1) == 2  # the round that was lost is asked for again


def test_a_node_that_was_killed_in_a_round_comes_back_and_nothing_is_trained_twice(tmp_path: Path) -> None:
    trial = Trial.of(written(tmp_path / "trial", *SCHEME, "--timeout", "200"))
    first, second = trial.nodes
    with trial.processes() as processes:
        trial.start_superlink(processes)
        with trial.control() as control:
            trial.start_nodes(control, processes, print)
            run = control.start(trial.folder / "app")
            until_round(trial, processes, 1)
            last = held_up(trial, processes, second, first)
            processes.kill(second.name)
            trial.start_node(processes, second)
            until_end(control, run, processes)
    once_each(trial)
    only_silence(trial, last + 1)


def only_silence(trial: Trial, round_: int) -> None:
    """Nobody was refused but who did not answer, in the round of the fault."""
    refused = read_refused(trial.server / "out")
    print(f"refused: {refused}")
    assert all("not answer" in each["why"] for each in refused)
    assert {each["round"] for each in refused} <= {round_}


def test_a_node_that_was_killed_between_two_shards_sends_what_is_missing_alone(tmp_path: Path) -> None:
    """The protocol encodings: several shards a node, of which some had left."""
    rows = 6000
    stored = np.random.default_rng(0).integers(0, 256, (2 * rows, 3, 32, 32), dtype=np.uint8)
    np.savez(tmp_path / "images.npz", x=stored, y=np.arange(2 * rows) % 2)
    shipped = ("--protocol", "encodings", "--scheme", "instahide-inside:k=4", "--epochs", "1", "--timeout", "200")
    images = ("--data", f"npz:{tmp_path / 'images.npz'}", "--model", "tanh-dense")
    assert main(["federate", "init", str(tmp_path / "trial"), *images, *shipped]) == 0
    trial = Trial.of(tmp_path / "trial")
    _, second = trial.nodes

    def shards() -> list[str]:
        return [each["digest"] for each in log(second) if each.get("kind") == SHARD and each["passed"]]

    with trial.processes() as processes:
        trial.start_superlink(processes)
        with trial.control() as control:
            trial.start_nodes(control, processes, print)
            run = control.start(trial.folder / "app")
            while not shards():
                processes.check()
                time.sleep(0.02)
            for each in all_of(processes, second.name):
                each.suspend()
            before = shards()
            processes.kill(second.name)
            trial.start_node(processes, second)
            until_end(control, run, processes)
    pool = trial.server / "out" / "pool" / "00000"
    about = [json.loads((folder / "release.json").read_text()) for folder in sorted(pool.glob("*/"))]
    assert [each["rows"] for each in about] == [rows, rows]
    count = len(about[0]["shards"])
    assert len(before) < count > 1
    for folder in sorted(pool.glob("*/")):
        assert len(read_release(folder).encoded) == rows  # every shard is what was described
    assert set(before) <= set(shards())  # asked again, the same bytes
    assert len(set(shards())) == count
    print(f"{len(before)} of {count} shards had left; those that left in all: {len(shards())}")
    (measured,) = [each for each in read_metrics(trial.server / "out") if "rows" in each]
    assert measured["rows"] == 2 * rows
    only_silence(trial, 0)


@dataclass
class Hosts:
    """Three hosts of our own, joined by a bridge; each is a network namespace."""

    names: dict[str, str]
    links: dict[str, str]

    def inside(self, host: str, command: list[str]) -> list[str]:
        """Give a command that runs on a host."""
        return ["ip", "netns", "exec", self.names[host], *command]

    def cut(self, host: str) -> None:
        """Take a host's cable out."""
        _ip("link", "set", self.links[host], "down")

    def heal(self, host: str) -> None:
        """Put it in again."""
        _ip("link", "set", self.links[host], "up")


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


@contextmanager
def hosts(*names: str) -> Iterator[Hosts]:
    """Make hosts 10.77.0.1, 10.77.0.2, … and a bridge, where this process is 10.77.0.254."""
    if shutil.which("ip") is None or os.geteuid() != 0:
        pytest.skip("network namespaces need root and the command ip")
    mark = f"hs{os.getpid() % 100000}"
    spaces, links = {name: f"{mark}-{name}" for name in names}, {name: f"{mark}{name[:1]}" for name in names}
    try:
        _ip("link", "add", mark, "type", "bridge")
    except subprocess.CalledProcessError as refused:
        pytest.skip(f"this machine allows no network namespaces: {refused.stderr.strip()}")
    try:
        _ip("addr", "add", "10.77.0.254/24", "dev", mark)
        _ip("link", "set", mark, "up")
        for place, name in enumerate(names, 1):
            _ip("netns", "add", spaces[name])
            _ip("link", "add", links[name], "type", "veth", "peer", "name", "eth0", "netns", spaces[name])
            _ip("link", "set", links[name], "master", mark, "up")
            _ip("-n", spaces[name], "addr", "add", f"10.77.0.{place}/24", "dev", "eth0")
            _ip("-n", spaces[name], "link", "set", "eth0", "up")
            _ip("-n", spaces[name], "link", "set", "lo", "up")
        yield Hosts(spaces, links)
    finally:
        for space in spaces.values():
            subprocess.run(["ip", "netns", "del", space], check=False, capture_output=True)
        for link in (*links.values(), mark):
            subprocess.run(["ip", "link", "del", link], check=False, capture_output=True)


@dataclass(frozen=True)
class Apart(Trial):
    """A trial whose SuperLink and nodes are on hosts of their own."""

    where: Hosts | None = None

    def superlink(self) -> list[str]:
        assert self.where is not None
        return self.where.inside("link", super().superlink())

    def node(self, folder: Path) -> list[str]:
        assert self.where is not None
        return self.where.inside({"node-1": "a", "node-2": "b"}[folder.name], super().node(folder))

    def online(self) -> int:
        """Count the nodes that are connected."""
        return sum(each["status"] == "online" for each in self.flwr("supernode", "list")["nodes"])

    def status(self, run: str) -> str:
        """Tell how far a run is."""
        (found,) = self.flwr("list", "--run-id", run)["runs"]
        return str(found["status"])

    def ended(self, run: str) -> bool:
        """Tell whether a run was completed; one that failed is an error."""
        status = self.status(run)
        assert "failed" not in status
        return status == "finished:completed"

    def flwr(self, *arguments: str) -> dict[str, Any]:
        """Run a command of Flower's on the host of the SuperLink, as its owner would."""
        assert self.where is not None
        said = {**os.environ, **environment(self.server / HOME)}
        command = self.where.inside("link", ["flwr", *arguments, "--format", "json"])
        found: dict[str, Any] = json.loads(subprocess.run(command, env=said, capture_output=True, check=True).stdout)
        return found


def test_a_link_between_hosts_is_cut_and_healed(tmp_path: Path) -> None:
    with hosts("link", "a", "b") as where:
        folder = written(tmp_path / "trial", *SCHEME, "--timeout", "300", "--hosts", "10.77.0.1")
        trial = Apart(folder, 9092, "10.77.0.1", where)
        with trial.processes() as processes:
            trial.start_superlink(processes)
            with trial.control() as control, pytest.raises(httpx.HTTPStatusError, match="403"):
                control.nodes()  # this process is on another host
            for node in trial.nodes:
                assert trial.flwr("supernode", "register", str(node / "key.pub"))["success"]
                trial.start_node(processes, node)
            wait_for(lambda: trial.online() == 2, processes.check, "nodes do not connect", LONGEST)
            run = str(trial.flwr("run", str(folder / "app"))["run-id"])
            until_round(trial, processes, 1)
            where.cut("b")
            wait_for(lambda: trial.online() == 1, processes.check, "nobody notices that the link is cut", LONGEST)
            during = finished(trial)
            assert during[-1] < ROUNDS  # it is in the way of the run
            assert "finished" not in trial.status(run)
            where.heal("b")
            wait_for(lambda: trial.online() == 2, processes.check, "the node does not come back", LONGEST)
            wait_for(lambda: trial.ended(run), processes.check, "the run does not end", LONGEST)
        assert processes.alive() == []
    print(f"cut after round {during[-1]}")
    once_each(trial)
    only_silence(trial, during[-1] + 1)
