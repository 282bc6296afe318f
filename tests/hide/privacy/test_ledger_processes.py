"""A ledger under two processes at once, and under `kill -9`."""

import json
import os
import subprocess
import sys
from pathlib import Path

from hideseek.cli import main
from hideseek.hide.privacy.ledger import Ledger


def run(what: str, folder: Path) -> dict[str, int]:
    script = Path(__file__).with_name("ledger_processes.py")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    ended = subprocess.run(
        [sys.executable, str(script), what, str(folder)], env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    found: dict[str, int] = json.loads(ended.stdout)
    return found


def test_two_processes_never_go_over_the_budget_together(tmp_path: Path) -> None:
    found = run("together", tmp_path)
    assert found == {"codes": [0, 0], "done": 30, "entries": 30, "finished": 30}


def test_no_release_without_its_entry_wherever_it_is_killed(tmp_path: Path) -> None:
    """After each of 200 kills the seals hold, and every release that is there has its entry (ledger_processes.py)."""
    found = run("killed", tmp_path)
    assert found["killed"] == 200
    assert found["code after"] == 0, "it goes on with the same ledger"
    assert found["no release"] > 0
    assert found["unfinished"] > 0
    assert found["unfinished and there"] > 0
    assert found["finished"] > 0
    ledger = tmp_path / "ledger.db"
    unfinished = sum(not entry.finished for entry in Ledger.open(ledger).read().entries)
    assert unfinished == found["unfinished"] + found["unfinished and there"]
    releases = [each for folder in tmp_path.glob("out-*") for each in ("--release", str(folder))]
    assert len(releases) == 2 * (found["finished"] + found["unfinished and there"])
    assert main(["ledger", "verify", str(ledger), *releases]) == 0
