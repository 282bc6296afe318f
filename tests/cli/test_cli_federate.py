"""`hideseek federate simulate`: what cannot be run is said in one sentence before anything is started."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from hideseek.cli import main
from hideseek.report.federation_curve import draw_rounds

pytest.importorskip("flwr")
if find_spec("ray") is None:
    pytest.skip("Ray is not installed", allow_module_level=True)
USUAL = ["federate", "simulate", "--data", "faces", "--size", "12", "--parties", "4"]


@pytest.fixture(autouse=True)
def not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        pytest.fail("a simulation was started")

    monkeypatch.setattr("hideseek.federate.flower.simulation.simulate", fail)


@pytest.mark.parametrize(
    ("given", "said", "code"),
    [
        ("--scheme nonsense", "nonsense", 1),
        ("--strategy nonsense", "there is no strategy", 1),
        ("--strategy fedprox", "fedprox without --proximal is fedavg", 1),
        ("--parties 200", "160 images cannot be dealt to 200 parties", 1),
        ("--parties 0", "--parties must be 1 or more", 1),
        ("--least 9", "--least is 9, and there are 4 parties", 1),
        ("--fraction 0", "must be above 0", 1),
        ("--scheme intra-instahide:k=60", "a party has 40 images, and the scheme mixes 60", 1),
        ("--protocol encodings --scheme instahide-inside:k=60", "the scheme mixes 60", 1),
        ("--alpha 0", "alpha must be a positive number", 1),
        ("--rounds 0", "whole numbers above 0", 1),
        ("--batch 0", "batch must be 1 or more", 1),
        ("--local-steps 0", "local_steps must be 1 or more", 1),
        ("--epochs 0", "--epochs must be 1 or more", 1),
        ("--timeout 0", "waiting times", 1),
        ("--rate -1", "learning rate", 1),
        ("--proximal -1", "FedProx", 1),
        ("--model lenet5", "lenet5", 1),
        ("--test npz:other.npz", "other.npz", 1),
        ("--protocol encodings", "name it", 1),
        ("--protocol pigeons", "must be gradients or encodings", 2),
        ("--rounds many", "must be a whole number", 2),
        ("--resume", "nothing to resume", 1),
    ],
)
def test_mistakes_are_one_sentence(
    given: str, said: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*USUAL, "--out", str(tmp_path / "out"), *given.split()]) == code
    complaint = capsys.readouterr().err
    assert said in complaint
    assert complaint.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_folder_that_has_something_in_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").write_text("dear")
    assert main([*USUAL, "--out", str(tmp_path)]) == 1
    assert "exists already" in capsys.readouterr().err


def test_a_run_is_not_resumed_as_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "simulation.json").write_text(json.dumps({"data": "faces", "parties": 4, "alpha": 0.3, "seed": None}))
    assert main([*USUAL, "--out", str(tmp_path), "--resume"]) == 1
    assert "was begun with another agreement and alpha and strategy" in capsys.readouterr().err


def test_an_interrupt_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hideseek.federate.flower.simulation.simulate", interrupted)
    assert main([*USUAL, "--out", str(tmp_path / "out")]) == 130
    assert "--resume" in capsys.readouterr().err


@pytest.mark.parametrize("tested", [True, False])
def test_the_curve_is_a_picture_with_and_without_test_images(tmp_path: Path, tested: bool) -> None:
    rounds = [{"round": place, "bytes_in": 1e6 * place, "bytes_out": 2e6 * place} for place in range(3)]
    with (tmp_path / "curve.png").open("wb") as file:
        draw_rounds([{**each, **({"test_accuracy": 0.5} if tested else {})} for each in rounds], "a $title$", file)
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
