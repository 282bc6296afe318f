"""A federation by Flower's simulation: it runs, says who sent what, and leaves no process, port, file or variable."""

import os
import signal
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import psutil
import pytest
from safetensors.numpy import load_file

from hideseek.federate.planned import Plan
from hideseek.federate.server import ServerSettings, read_metrics

pytest.importorskip("flwr.simulation")
if find_spec("ray") is None:  # which must not be loaded before it is started
    pytest.skip("Ray is not installed", allow_module_level=True)
from hideseek.federate.flower.ray_processes import PREFIX, SHORT, own_temporary_folder
from hideseek.federate.flower.simulation import Simulated, simulate

OF_RAY = 20  # descriptors that Ray's library keeps until its process ends: event queues, sockets, deleted logs


def test_a_simulation_leaves_nothing_behind(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one process, which plays all parties; commands of the documents run one for each core."""
    monkeypatch.setattr("hideseek.federate.flower.simulation.os.cpu_count", lambda: 1)
    agreement, _ = Plan("faces", model="tanh-dense", parties=3, rounds=1, size=12).agreement()
    own, told, variables = psutil.Process(), list[str](), dict(os.environ)
    before = {each.pid for each in own.children(recursive=True)}, signal.getsignal(signal.SIGTERM)
    files, descriptors = {each.path for each in own.open_files()}, own.num_fds()
    simulate(Simulated("faces", 3, record=True), agreement, ServerSettings(tmp_path, record=True), None, told.append)
    assert ({each.pid for each in own.children(recursive=True)}, signal.getsignal(signal.SIGTERM)) == before
    assert dict(os.environ) == variables
    assert not list(SHORT.glob(f"{PREFIX}{os.getpid()}-*"))
    assert not [each for each in own.net_connections("inet") if each.status == psutil.CONN_LISTEN]
    assert {each.path for each in own.open_files()} == files  # none of ours; Ray's logs are deleted
    assert own.num_fds() - descriptors <= OF_RAY
    assert capfd.readouterr() == ("", "")
    assert told[-1].startswith("round 1 of 1, 3 of 3 parties")
    assert read_metrics(tmp_path)[-1]["parties"] == [0, 1, 2]
    for place in range(3):  # what the server has from a party is what that party sent
        server, party = (
            load_file(next(folder.glob("round-00001*/update-00000.safetensors")))
            for folder in (tmp_path / "recorded" / f"party-{place}", tmp_path / f"parties/party-{place:03d}/recorded")
        )
        assert all(np.array_equal(server[name], array) for name, array in party.items())


def test_what_a_killed_run_left_is_removed_and_what_another_uses_is_not() -> None:
    gone, running = (SHORT / f"{PREFIX}{number}-test{os.getpid()}" for number in (2**22 + 1, os.getppid()))
    gone.mkdir()
    running.mkdir()
    try:
        with own_temporary_folder() as folder:
            assert folder.is_dir()
            assert not gone.exists()
            assert running.exists()
        assert not folder.exists()
    finally:
        running.rmdir()
