"""The examples for CI: their commands run as plain shell, and end as a gate does that finds something."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

yaml: Any = pytest.importorskip("yaml")
EXAMPLES = Path(__file__).parents[2] / "examples" / "ci"
FOUND = 2  # the example's mixup is broken
LONGEST = 1200  # seconds after which a command hangs


def run(command: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    shutil.copy(EXAMPLES / "audit.toml", folder)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {key: value for key, value in os.environ.items() if key != "HIDESEEK_DATA"} | {"PATH": path}
    return subprocess.run(
        ["bash", "-e", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )


def test_the_commands_of_the_action(tmp_path: Path) -> None:
    steps = yaml.safe_load((EXAMPLES / "github-action.yml").read_text("utf-8"))["jobs"]["audit"]["steps"]
    commands = [step["run"] for step in steps if "run" in step and not step["run"].startswith("pip install")]
    assert len(commands) == 1
    done = run(commands[0], tmp_path)
    assert done.returncode == FOUND, done.stderr
    assert "the gate --fail-on broken does not pass: mixup:k=2 is broken by mixup-pairs/outsider" in done.stderr
    for step in steps:
        if "sarif_file" in step.get("with", {}):
            assert (tmp_path / step["with"]["sarif_file"]).is_file()
        for path in step.get("with", {}).get("path", "").split():
            assert (tmp_path / path).is_file()


def test_the_hook_is_the_same_command_in_a_new_folder(tmp_path: Path) -> None:
    (repository,) = yaml.safe_load((EXAMPLES / "pre-commit-config.yaml").read_text("utf-8"))["repos"]
    done = run(repository["hooks"][0]["entry"], tmp_path)
    assert done.returncode == FOUND, done.stderr
    assert not (tmp_path / "audit").exists()
