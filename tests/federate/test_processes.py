"""Real processes on loopback: SuperLink over TLS, nodes that sign in, both protocols, hostile apps and strangers."""

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from safetensors.torch import load_file

from federation_trials import NAME, SCHEME, allow, made_malicious, wire_kept, written
from hideseek.errors import BadInput
from hideseek.federate.agreement import Agreement
from hideseek.federate.gate import LOG
from hideseek.federate.server import read_metrics, read_refused
from hideseek.federate.settings_files import read_node
from hideseek.train.trained import MODEL
from leak_search import images_of, truths, words

pytest.importorskip("flwr")
from hideseek.federate.certificates import write_node_key
from hideseek.federate.flower.control import Control, app_digest
from hideseek.federate.flower.environment import FIXED, free_port
from hideseek.federate.flower.processes import Processes
from hideseek.federate.flower.superlink import DATABASE
from hideseek.federate.flower.trial import LOG as LINK_LOG
from hideseek.federate.flower.trial import Trial, wait_for

LONGEST = 1800.0  # seconds that anything may take on a busy machine
INTERRUPTIBLE = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # which shells ignore in the background
from hideseek.cli import main
sys.exit(main(sys.argv[1:]))
"""


@dataclass
class Running:
    """A SuperLink and two nodes that are connected to it; nodes keep what they send."""

    trial: Trial
    processes: Processes
    control: Control
    wire: Path
    latest: int = 0
    """The number of the run that was started last."""

    def run(self, app: Path, end: str = "finished:completed") -> dict[str, list[dict[str, Any]]]:
        """Run an app to its end, and give what every node wrote down meanwhile."""
        before = {node.name: len(entries(node)) for node in self.trial.nodes}
        self.latest = number = self.control.start(app)

        def ended() -> bool:
            return self.control.status(number).startswith("finished")

        wait_for(ended, self.processes.check, "the run does not end", LONGEST)
        said = f"{self.control.details(number)}\n{(self.trial.server / LINK_LOG).read_text('utf-8', 'replace')[-6000:]}"
        assert self.control.status(number) == end, said
        return {node.name: entries(node)[before[node.name] :] for node in self.trial.nodes}


@dataclass
class Script:
    """What `run.sh` left of a federation that shares gradients, as a user runs it; nodes kept what they sent."""

    folder: Path
    wire: Path
    code: int
    told: str


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Script:
    place = tmp_path_factory.mktemp("federation")
    usual = ("--scheme", SCHEME, "--rounds", "2", "--timeout", str(LONGEST), "--record", "--test", "faces")
    folder, wire = written(place / "trial", *usual), place / "wire"
    with (place / "out.txt").open("wb") as out:
        ended = subprocess.run(
            [folder / "run.sh"], env={**os.environ, **wire_kept(wire)}, stdout=out, stderr=out, cwd=place,
            timeout=LONGEST, check=False,
        )  # fmt: skip
    return Script(folder, wire, ended.returncode, (place / "out.txt").read_text("utf-8", "replace"))


@pytest.fixture(scope="module")
def running(script: Script) -> Iterator[Running]:
    """The same nodes, started once more, at a SuperLink that does not know them yet."""
    trial = Trial.of(script.folder)
    for path in trial.server.glob(f"{DATABASE}*"):
        path.unlink()
    kept = trial.processes()
    with Processes({**kept.environment, **wire_kept(script.wire)}) as processes:
        trial.start_superlink(processes)
        with trial.control() as control:
            trial.start_nodes(control, processes, print)
            yield Running(trial, processes, control, script.wire)


@pytest.fixture(scope="module")
def gradients(script: Script) -> dict[str, list[dict[str, Any]]]:
    """What every node wrote down of the run of the script."""
    return {node.name: entries(node) for node in Trial.of(script.folder).nodes}


@pytest.fixture(scope="module")
def encodings(
    running: Running, gradients: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, Any]]:
    """The folder of a federation that ships encodings, run by the same nodes, and what these wrote down."""
    usual = ("--scheme", SCHEME, "--protocol", "encodings", "--epochs", "1", "--timeout", str(LONGEST))
    other = written(tmp_path_factory.mktemp("encodings") / "trial", *usual)
    for node in running.trial.nodes:
        allow(node, SCHEME, [app_digest(other / "app")])
    return other, running.run(other / "app")


def entries(node: Path) -> list[dict[str, Any]]:
    log = node / "kept" / LOG
    return [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []


def same_model(found: Path, wanted: Path) -> bool:
    first, second = load_file(found), load_file(wanted)
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def test_the_script_runs_a_federation_to_its_end(script: Script, gradients: dict[str, Any]) -> None:
    """As a user runs it: gradients of encoded batches, what it tells, the files that it leaves, and the exit code."""
    assert script.code == 0, script.told
    for said in (
        r"The SuperLink listens on 127\.0\.0\.1:\d+", "node-1 is started", "node-2 is started",
        r"round 0 of 2, accuracy [\d.]+ %", "round 1 of 2, 2 of 2 parties", "The model is in",
        r"round 2 of 2, 2 of 2 parties, accuracy [\d.]+ %, [\d.]+ MB in, [\d.]+ MB out",
    ):  # fmt: skip
        assert re.search(said, script.told), (said, script.told)
    trial = Trial.of(script.folder)
    out = trial.server / "out"
    assert (out / "curve.png").read_bytes().startswith(b"\x89PNG")
    metrics = read_metrics(out)
    assert [each["round"] for each in metrics] == [0, 1, 2]
    assert [len(each.get("parties", [])) for each in metrics] == [0, 2, 2]
    assert not read_refused(out)
    for node in trial.nodes:
        assert [(each["kind"], each["round"], each["passed"]) for each in gradients[node.name]] == [
            ("train", 1, True), ("train", 2, True), ("query.take", 2, True)
        ]  # fmt: skip
        assert same_model(node / "kept" / MODEL, out / MODEL)
    assert _naming(script.folder) == []


def test_encodings_go_to_the_server_and_the_model_comes_back(
    running: Running, encodings: tuple[Path, dict[str, Any]]
) -> None:
    other, logged = encodings
    rows = [each["rows"] for each in read_metrics(other / "server" / "out") if "rows" in each]
    (parties,) = [each["parties"] for each in read_metrics(other / "server" / "out") if "parties" in each]
    assert len(parties) == 2
    assert rows[0] > 0
    assert not read_refused(other / "server" / "out")
    for node in running.trial.nodes:
        kinds = [(each["kind"], each["passed"]) for each in logged[node.name]]
        assert kinds == [("query.describe", True), ("query.shard", True), ("query.take", True)]
        assert same_model(node / "kept" / MODEL, other / "server" / "out" / MODEL)


def test_nothing_else_of_a_nodes_data_is_on_the_wire(running: Running, encodings: tuple[Path, dict[str, Any]]) -> None:
    """All requests of every node, in both protocols, with headers and metadata, as they are before encryption."""
    for node in running.trial.nodes:
        sent = (running.wire / f"{node.name}.wire").read_bytes()
        shards = [entry for entry in encodings[1][node.name] if entry["kind"] == "query.shard"]
        assert len(sent) > sum(entry["bytes"] for entry in shards) > 10_000
        settings = read_node(node)
        for folder in (running.trial.folder, encodings[0]):
            agreed = Agreement.from_json((folder / "app" / "federation" / "agreement.json").read_text())
            assert images_of(settings, agreed).found_in(sent) == []
        kept = truths((node / "kept").rglob("*.secret"))
        assert {name.split()[0] for name in kept.pieces} == {"sources", "weights", "mask"}
        assert kept.found_in(sent) == []
        key = "".join((node / "key").read_text().splitlines()[1:-1])
        private = words(folder=str(node), policy="What may leave this node", key=key[-120:-80])
        assert private.found_in(sent) == []
        shard = next((node / "kept").glob("encodings-*/*.safetensors")).read_bytes()
        assert shard[1000:2000] in sent  # it is the wire that was searched, of this run and of the script's
        update = load_file(next((node / "kept").rglob("update-00000.safetensors")))
        assert max(update.values(), key=torch.numel).numpy().tobytes() in sent


def test_nothing_is_told_to_flowers_makers(running: Running) -> None:
    """Telemetry and the look for newer versions are off in every process, and Flower heeds that."""
    alive = running.processes.alive()
    assert len(alive) >= 6
    for process in alive:
        with suppress(psutil.NoSuchProcess):  # that of a message, which has ended
            variables = process.environ()
            assert variables["FLWR_TELEMETRY_ENABLED"] == "0"
            assert variables["FLWR_DISABLE_UPDATE_CHECK"] == "1"
            others = {each.raddr.ip for each in process.net_connections("inet") if each.raddr}
            assert others <= {"127.0.0.1"}


@pytest.mark.parametrize("enabled", [FIXED["FLWR_TELEMETRY_ENABLED"], "1"])
def test_flower_heeds_that_telemetry_is_off(enabled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Flower's own function, in whose place a request would go out; with telemetry on, one does."""
    from flwr.supercore import telemetry

    asked = []

    def opened(request: Any, **_: Any) -> Any:
        asked.append(request.full_url)
        raise OSError("there is no way out of a test")

    monkeypatch.setattr(telemetry, "FLWR_TELEMETRY_ENABLED", enabled)
    monkeypatch.setattr("urllib.request.urlopen", opened)
    with suppress(OSError):
        telemetry.create_event(telemetry.EventType.PING, {})
    assert bool(asked) == (enabled == "1")


def test_an_app_without_the_gate_gets_nothing_out(running: Running, tmp_path: Path) -> None:
    scheme = "gradient-pruning:p=0.9"
    other = written(tmp_path / "trial", "--scheme", scheme, "--rounds", "3", "--timeout", str(LONGEST), "--least", "1")
    allowed = app_digest(other / "app")
    app = made_malicious(other)
    first, second = running.trial.nodes
    allow(first, scheme, [allowed])
    allow(second, scheme, [])
    logged = running.run(app, "finished:failed")
    with pytest.raises(BadInput, match="finished:failed"):  # by which `hideseek federate run` ends with 1
        replace(running.trial, folder=other).follow(running.control, running.latest, running.processes.check, print)
    got = json.loads((other / "server" / "out" / "got.json").read_text())
    assert [each["how"] for each in got] == [1, 1, 2, 2, 3, 3]
    assert all(each["error"] and not each["tensors"] and each["words"] == "{}" for each in got)
    assert NAME not in json.dumps(got)
    notes = [str(each["note"]) for each in logged[first.name] if "note" in each]
    assert [app_digest(app) in note and "not run" in note for note in notes] == [True, True, True]
    refused = [str(each["why"]) for each in logged[second.name] if not each.get("passed", True)]
    assert "images" in refused[0]
    assert "gradient-pruning" in refused[1]
    assert NAME in refused[2]


def test_strangers_are_refused(running: Running, tmp_path: Path) -> None:
    """A node without a key, one with a key that nobody registered, and one that speaks plain text."""
    trial, before = running.trial, set(running.control.nodes())
    write_node_key(tmp_path)
    authority = ["--root-certificates", str(trial.server / "ca.crt")]
    strangers = {
        "no key": (authority, r"code: 2001\] SuperNode authentication is enabled"),
        "wrong key": (
            [*authority, "--auth-supernode-private-key", str(tmp_path / "key")],
            r"code: 2004\] Failed to activate",
        ),
        "plain text": (["--insecure"], "Server disconnected|[Cc]onnection reset|EOF"),
    }
    with trial.processes() as processes:
        for place, (name, (arguments, _)) in enumerate(strangers.items(), 1):
            host = f"127.77.{os.getpid() % 250}.{place}"  # where nobody else listens
            command = [
                "flower-supernode", "--superlink", trial.address, *arguments,
                "--max-retries", "1", "--isolation", "process", "--host", host, "--port", str(free_port(host)),
            ]  # fmt: skip
            processes.start(name, command, tmp_path / f"{name}.log")
        codes = {name: process.wait(LONGEST) for name, process in processes.started.items()}
    assert all(codes.values()), codes
    for name, (_, why) in strangers.items():
        said = (tmp_path / f"{name}.log").read_text("utf-8", "replace")
        assert "SuperNode ID" not in said
        assert re.search(why, said), said
    assert set(running.control.nodes()) == before
    assert len(before) == 2
    trial.wait_for_nodes(running.control, running.processes)  # both are there still


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


def test_an_interrupt_stops_everything(tmp_path: Path) -> None:
    """Ctrl-C, while the SuperLink is up and a node starts."""
    folder = written(tmp_path / "trial", "--scheme", SCHEME, "--rounds", "2")
    command = [sys.executable, "-c", INTERRUPTIBLE, "federate", "run", str(folder)]
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
