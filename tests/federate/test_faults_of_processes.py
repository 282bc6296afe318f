"""Faults of real processes: a server that is killed, a node that is killed, a link that is cut. Each comes back.

They take minutes, so that they run where HIDESEEK_LONG_TESTS=1 is set alone:

    HIDESEEK_LONG_TESTS=1 python -m pytest tests/federate/test_faults_of_processes.py
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
import pytest

from federation_trials import written
from hideseek.federate.gate import LOG
from hideseek.federate.messages import UPDATE
from hideseek.federate.server import read_metrics, read_refused
from long_tests import LONG

pytest.importorskip("flwr")
from hideseek.federate.flower.control import Control
from hideseek.federate.flower.environment import environment
from hideseek.federate.flower.processes import Processes
from hideseek.federate.flower.superlink import HOME
from hideseek.federate.flower.trial import Trial, wait_for

pytestmark = LONG
LONGEST = 1800.0
ROUNDS = 3
SCHEME = ("--scheme", "gradient-pruning:p=0.5", "--rounds", str(ROUNDS))


def finished(trial: Trial) -> list[int]:
    """Give the rounds that the server finished, in their order."""
    return [each["round"] for each in read_metrics(trial.server / "out")]


def asked(node: Path) -> int:
    """Count the updates that a node was asked for."""
    return (node / "node.log").read_text("utf-8", "replace").count("Receiving: train")


def answered(node: Path) -> list[int]:
    """Give the rounds whose updates left a node."""
    lines = [json.loads(line) for line in (node / "kept" / LOG).read_text("utf-8").splitlines()]
    return [each["round"] for each in lines if each.get("kind") == UPDATE and each["passed"]]


def until_round(trial: Trial, processes: Processes, round_: int) -> None:
    wait_for(lambda: round_ in finished(trial), processes.check, f"round {round_} is not finished", LONGEST)


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
    with trial.processes() as processes:
        trial.start_superlink(processes)
        with trial.control() as control:
            trial.start_nodes(control, processes, print)
            control.start(trial.folder / "app")
            until_round(trial, processes, 1)
        processes.kill("the SuperLink")
        began = finished(trial)[-1]
        assert began < ROUNDS
        trial.start_superlink(processes)
        with trial.control() as control:
            trial.wait_for_nodes(control, processes)
            until_end(control, control.start(trial.folder / "app"), processes)
    once_each(trial)
    for node in trial.nodes:
        assert [answered(node).count(round_) for round_ in range(1, began + 1)] == [1] * began
        assert set(answered(node)) == set(range(1, ROUNDS + 1))


def test_a_node_that_was_killed_in_a_round_comes_back_and_nothing_is_trained_twice(tmp_path: Path) -> None:
    trial = Trial.of(written(tmp_path / "trial", *SCHEME, "--timeout", "300"))
    _, second = trial.nodes
    with trial.processes() as processes:
        trial.start_superlink(processes)
        with trial.control() as control:
            trial.start_nodes(control, processes, print)
            run = control.start(trial.folder / "app")
            until_round(trial, processes, 1)
            wait_for(lambda: asked(second) >= 2, processes.check, "node-2 is not asked", LONGEST)
            assert 2 not in finished(trial)
            processes.kill(second.name)
            time.sleep(5)
            trial.start_node(processes, second)
            until_end(control, run, processes)
    once_each(trial)
    refused = read_refused(trial.server / "out")
    print(f"refused: {refused}")
    assert all("not answer" in each["why"] or "unavailable" in each["why"].lower() for each in refused)


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

    def ended(self, run: str) -> bool:
        """Tell whether a run was completed; one that failed is an error."""
        time.sleep(5)
        (found,) = self.flwr("list", "--run-id", run)["runs"]
        assert "failed" not in found["status"]
        return str(found["status"]) == "finished:completed"

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
            time.sleep(20)
            cut_at = finished(trial)
            where.heal("b")
            wait_for(lambda: trial.ended(run), processes.check, "the run does not end", LONGEST)
        assert processes.alive() == []
    assert ROUNDS not in cut_at
    once_each(trial)
    print(f"refused: {read_refused(trial.server / 'out')}")
