"""The commands as a user types them: what all verbs share, the lists and the demo."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from hideseek.audit import Question
from hideseek.cli import COMMANDS, main
from hideseek.cli.audit_options import Audit


def test_the_overview_names_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["--help"], ["-h"]):
        assert main(arguments) == 0
        text = capsys.readouterr().out
        assert all(f"\n  {verb} " in text for verb in COMMANDS)
    assert main(["--version"]) == 0


@pytest.mark.parametrize("verb", COMMANDS)
def test_every_verb_explains_itself(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    if verb in (
        "audit",
        "bench",
        "challenge",
        "federate",
        "hide",
        "ledger",
        "seek",
    ):  # their own pages list schemes, attacks and verbs
        assert main([verb, "--help"]) == 0
    else:
        with pytest.raises(SystemExit, match="0"):
            main([verb, "--help"])
    assert f"hideseek {verb}" in capsys.readouterr().out


def test_a_wrong_verb_gets_the_nearest_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hid"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "hideseek: there is no verb 'hid': did you mean hide?\n"


def test_data_lists_every_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data"]) == 0
    text = capsys.readouterr().out
    for name in ("mnist", "cifar10", "cifar100", "tinyimagenet", "pneumoniamnist", "faces", "photos"):
        assert name in text


def test_the_demo_audits_four_schemes_and_draws_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit itself is tested elsewhere; it takes minutes."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    asked: list[tuple[Audit[Any], Callable[[], Question]]] = []
    monkeypatch.setattr("hideseek.cli.demo.perform", lambda *given: asked.append(given))
    for name in ("one", "two"):
        assert main(["demo", "--out", str(tmp_path / name), "--seed", "1"]) == 0
    audit, load = asked[0]
    assert list(load().schemes) == ["mixup", "instahide-inside", "instahide-cross", "singularized-mixup"]
    assert (audit.images.data, audit.accuracies.learn_on, audit.output.show_private) == ("faces", "photos", True)
    with Image.open(tmp_path / "one" / "faces.png") as sheet:
        assert sheet.height > 12 * 96
    assert (tmp_path / "one" / "faces.png").read_bytes() == (tmp_path / "two" / "faces.png").read_bytes()
    assert main(["demo", "--out", str(tmp_path / "one")]) == 1  # it is there already


def test_import_is_light() -> None:
    """`import hideseek` and `hideseek --help` bring none of the heavy libraries."""
    heavy = {"torch", "numba", "cv2", "numpy", "scipy", "rich", "tyro"}
    script = f"import sys, hideseek.cli; hideseek.cli.main([]); print(sorted({heavy} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"
