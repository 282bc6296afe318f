"""Real processes on loopback: SuperLink over TLS, nodes that sign in, both protocols, hostile apps and strangers."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
import torch
from safetensors.torch import load_file

from federation_trials import NAME, SCHEME, allow, made_malicious, written
from hideseek.federate.gate import LOG
from hideseek.federate.server import read_metrics, read_refused
from hideseek.train.trained import MODEL

pytest.importorskip("flwr")
from hideseek.federate.certificates import write_node_key
from hideseek.federate.flower.control import Control, app_digest
from hideseek.federate.flower.processes import Processes
from hideseek.federate.flower.trial import ONLINE, Trial, wait_for

LONGEST = 600.0  # seconds that anything may take on a busy machine


@dataclass
class Running:
    """A SuperLink and two nodes that are connected to it."""

    trial: Trial
    processes: Processes
    control: Control

    def run(self, app: Path) -> str:
        """Run an app to its end, and give how it ended."""
        number = self.control.start(app)
        until = time.monotonic() + LONGEST
        while not (status := self.control.status(number)).startswith("finished"):
            self.processes.check()
            assert time.monotonic() < until
            time.sleep(0.5)
        return status


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("federation")
    trial = Trial.of(written(folder / "trial", "--scheme", SCHEME, "--rounds", "2", "--timeout", "600"))
    with trial.processes() as processes:
        trial.start_superlink(processes)
        with trial.control() as control:
            trial.start_nodes(control, processes, print)
            yield Running(trial, processes, control)


def entries(node: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (node / "kept" / LOG).read_text("utf-8").splitlines()]


def same_model(found: Path, wanted: Path) -> bool:
    first, second = load_file(found), load_file(wanted)
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def test_gradients_of_encoded_batches_go_two_rounds(running: Running) -> None:
    trial = running.trial
    assert running.run(trial.folder / "app") == "finished:completed"
    metrics = read_metrics(trial.server / "out")
    assert [each["round"] for each in metrics] == [0, 1, 2]
    assert [len(each.get("parties", [])) for each in metrics] == [0, 2, 2]
    assert not read_refused(trial.server / "out")
    for node in trial.nodes:
        assert [(each["kind"], each["round"], each["passed"]) for each in entries(node)] == [
            ("train", 1, True), ("train", 2, True), ("query.take", 2, True)
        ]  # fmt: skip
        assert same_model(node / "kept" / MODEL, trial.server / "out" / MODEL)


def test_encodings_go_to_the_server_and_the_model_comes_back(running: Running, tmp_path: Path) -> None:
    other = written(
        tmp_path / "trial", "--scheme", SCHEME, "--protocol", "encodings", "--epochs", "1", "--timeout", "600"
    )
    for node in running.trial.nodes:
        allow(node, SCHEME, [app_digest(other / "app")])
    assert running.run(other / "app") == "finished:completed"
    rows = [each["rows"] for each in read_metrics(other / "server" / "out") if "rows" in each]
    (parties,) = [each["parties"] for each in read_metrics(other / "server" / "out") if "parties" in each]
    assert len(parties) == 2
    assert rows[0] > 0
    for node in running.trial.nodes:
        kinds = [each["kind"] for each in entries(node)[3:] if each.get("passed")]
        assert kinds == ["query.describe", "query.shard", "query.take"]
        assert same_model(node / "kept" / MODEL, other / "server" / "out" / MODEL)


def test_an_app_without_the_gate_gets_nothing_out(running: Running, tmp_path: Path) -> None:
    scheme = "gradient-pruning:p=0.9"
    other = written(tmp_path / "trial", "--scheme", scheme, "--rounds", "3", "--timeout", "600", "--least", "1")
    allowed = app_digest(other / "app")
    app = made_malicious(other)
    first, second = running.trial.nodes
    allow(first, scheme, [allowed])
    allow(second, scheme, [])
    assert running.run(app) == "finished:completed"
    got = json.loads((other / "server" / "out" / "got.json").read_text())
    assert [each["how"] for each in got] == [1, 1, 2, 2, 3, 3]
    assert all(each["error"] and not each["tensors"] and each["words"] == "{}" for each in got)
    assert NAME not in json.dumps(got)
    notes = [str(each["note"]) for each in entries(first) if "note" in each]
    assert [app_digest(app) in note and "not run" in note for note in notes] == [True, True, True]
    refused = [str(each["why"]) for each in entries(second) if not each.get("passed", True)]
    assert "images" in refused[0]
    assert "gradient-pruning" in refused[1]
    assert NAME in refused[2]


def test_strangers_are_refused(running: Running, tmp_path: Path) -> None:
    """A node without a key, one with a key that nobody registered, and one that speaks plain text."""
    trial, before = running.trial, running.control.nodes()
    write_node_key(tmp_path)
    authority = ["--root-certificates", str(trial.server / "ca.crt")]
    strangers = {
        "no key": authority,
        "wrong key": [*authority, "--auth-supernode-private-key", str(tmp_path / "key")],
        "plain text": ["--insecure"],
    }
    with trial.processes() as processes:
        for name, arguments in strangers.items():
            command = [
                "flower-supernode", "--superlink", trial.address, *arguments,
                "--max-retries", "1", "--isolation", "process", "--port", str(_free()),
            ]  # fmt: skip
            processes.start(name, command, tmp_path / f"{name}.log")
        codes = {name: process.wait(LONGEST) for name, process in processes.started.items()}
    assert all(codes.values()), codes
    for name in strangers:
        said = (tmp_path / f"{name}.log").read_text("utf-8", "replace")
        assert "SuperNode ID" not in said
        assert "Exit Code" in said
    assert running.control.nodes() == before
    assert list(before.values()).count(ONLINE) == 2


def test_a_socket_that_speaks_plain_text_gets_no_answer(running: Running) -> None:
    with socket.create_connection(("127.0.0.1", running.trial.port), timeout=LONGEST) as plain:
        plain.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with suppress(ConnectionResetError):
            assert b"200" not in plain.recv(4096)


def test_nothing_is_left_at_the_end(running: Running) -> None:
    processes = running.processes
    running.control.client.close()
    assert len(processes.alive()) >= 6  # a SuperLink, two nodes, and what starts their apps
    processes.stop()
    assert processes.alive() == []
    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", running.trial.port), timeout=5):
        pass


def test_an_interrupt_stops_everything(running: Running, tmp_path: Path) -> None:
    """Ctrl-C, while the SuperLink is up and a node starts."""
    running.processes.stop()
    folder = running.trial.folder
    command = [sys.executable, "-m", "hideseek", "federate", "run", str(folder)]
    with (tmp_path / "out.txt").open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
    try:
        wait_for(
            lambda: "node-1 is started" in (tmp_path / "out.txt").read_text(),
            lambda: None if process.poll() is None else pytest.fail((tmp_path / "out.txt").read_text()),
            "the run does not start",
            LONGEST,
        )
        assert _naming(folder)
        process.send_signal(2)
        assert process.wait(LONGEST) == 130
    finally:
        process.kill()
        process.wait()
    assert _naming(folder) == []


def _naming(folder: Path) -> list[str]:
    """Give the command lines of processes that work in a folder."""
    found = []
    for process in psutil.process_iter():
        try:
            home = process.environ().get("FLWR_HOME", "")
            if home.startswith(str(folder)) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(" ".join(process.cmdline()))
        except (psutil.Error, OSError):
            continue
    return found


def _free() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
