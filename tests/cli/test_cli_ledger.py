"""`hideseek ledger`, and what `hide` and `learn` write to a ledger before anything leaves."""

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from hideseek.cli import main
from hideseek.errors import BadInput
from hideseek.hide import Mixup
from hideseek.hide.files.release_files import release_digest
from hideseek.hide.privacy.gaussian import gaussian_epsilon
from hideseek.hide.privacy.ledger import Ledger
from hideseek.hide.privacy.ledger_budget import Budget
from hideseek.records import Spent

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def data(tmp_path: Path) -> str:
    """Two classes of six images."""
    for number in range(12):
        pixels = np.random.default_rng(number).integers(0, 256, (16, 16, 3), np.uint8)
        place = tmp_path / "images" / ("light", "dark")[number % 2]
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(place / f"patient-{number}.png")
    return f"folder:{tmp_path / 'images'}"


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    Ledger.begin(tmp_path / "ledger.db", Budget(releases=3))
    return tmp_path / "ledger.db"


def hide(data: str, out: Path, ledger: Path | None, *more: str) -> int:
    named = [] if ledger is None else ["--ledger", str(ledger)]
    return main(["hide", "mixup", "--data", data, "--out", str(out), *named, *more])


def shown(ledger: Path, capsys: Capture, *more: str, verb: str = "show") -> dict[str, Any]:
    capsys.readouterr()
    main(["ledger", verb, str(ledger), *more, "--json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_hide_writes_to_the_ledger_and_stops_at_the_budget(
    data: str, ledger: Path, tmp_path: Path, capsys: Capture
) -> None:
    assert hide(data, tmp_path / "one", ledger) == 0
    assert "12 images were released once" in capsys.readouterr().out
    (entry,) = shown(ledger, capsys)["releases"]
    assert entry["release"] == release_digest(tmp_path / "one")
    assert entry["scheme"]["mechanism"] == "mixup"
    assert entry["spent"]["proof"] == "none"
    assert (entry["finished"], entry["images"], entry["rounds"]) == (True, 12, 1)
    assert hide(data, tmp_path / "two", ledger, "--rounds", "3") == 1
    error = capsys.readouterr().err
    assert "12 of 12 images would be over the budget of 3 releases" in error
    assert "left is 2 of 3 releases" in error
    assert not (tmp_path / "two").exists()
    assert hide(data, tmp_path / "two", ledger, "--rounds", "2") == 0
    assert shown(ledger, capsys)["images"]["times"] == {"3": 12}


def test_the_environment_names_the_ledger(
    data: str, ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIDESEEK_LEDGER", str(ledger))
    assert hide(data, tmp_path / "one", None) == 0
    assert len(Ledger.open(ledger).read().entries) == 1
    monkeypatch.setenv("HIDESEEK_LEDGER", str(tmp_path / "misspelt"))
    assert hide(data, tmp_path / "two", None) == 1
    assert not (tmp_path / "two").exists()
    assert not (tmp_path / "misspelt").exists()


def test_size_and_normalisation_make_no_other_image(data: str, ledger: Path, tmp_path: Path, capsys: Capture) -> None:
    assert hide(data, tmp_path / "one", ledger) == 0
    assert hide(data, tmp_path / "two", ledger, "--size", "8", "--channels", "1", "--normalise", "image") == 0
    files = sorted((tmp_path / "images").glob("*/*.png"))
    np.savez(tmp_path / "same.npz", x=np.stack([np.asarray(Image.open(file)) for file in files]))
    assert hide(f"npz:{tmp_path / 'same.npz'}", tmp_path / "three", ledger) == 0
    assert shown(ledger, capsys)["images"]["times"] == {"3": 12}


def test_images_that_the_ledger_does_not_know(data: str, ledger: Path, tmp_path: Path, capsys: Capture) -> None:
    assert hide(data, tmp_path / "one", ledger) == 0
    capsys.readouterr()
    assert hide("faces", tmp_path / "two", ledger) == 0
    assert "None of these 160 images is in the ledger" in capsys.readouterr().out
    for verb in ("show", "verify"):
        assert main(["ledger", verb, str(ledger), "--data", "photos"]) == 1
        assert "knows none of the 3,900 images at photos: it is of another data set" in capsys.readouterr().err
        assert main(["ledger", verb, str(ledger), "--data", data]) == 0
    assert shown(ledger, capsys, "--data", data)["images"]["images"] == 12


def test_what_is_proved_is_written_down(
    data: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Mixup, "spends", lambda self, images, rounds: Spent("gaussian", 0.02 * rounds))
    ledger = tmp_path / "ledger.db"
    assert main(["ledger", "budget", str(ledger), "--epsilon", "1"]) == 0
    assert hide(data, tmp_path / "one", ledger, "--rounds", "2") == 0
    found = shown(ledger, capsys)
    assert found["images"]["mu"] ** 2 == pytest.approx(0.04)
    assert found["images"]["epsilon"] == pytest.approx(gaussian_epsilon(0.2, 1e-5))
    assert gaussian_epsilon((0.04 + found["images"]["left_mu"] ** 2) ** 0.5, 1e-5) == pytest.approx(1.0)
    for more in (("--seed", "1"), ("--give-away", "weights"), ("--labels", "drawn"), ("--rows", "int8")):
        assert hide(data, tmp_path / "two", ledger, *more) == 1
        assert "has no proof" in capsys.readouterr().err
    assert hide(data, tmp_path / "two", ledger, "--rounds", "3") == 1
    assert re.search(r"left is μ = 0\.1\d+, and this release takes μ = 0\.245", capsys.readouterr().err)
    assert hide(data, tmp_path / "two", ledger, "--rows", "float16") == 0


def test_dp_sgd_writes_its_epsilon_before_the_model(data: str, tmp_path: Path, capsys: Capture) -> None:
    ledger = tmp_path / "ledger.db"
    assert main(["ledger", "budget", str(ledger), "--epsilon", "8", "--delta", "0.03"]) == 0
    learn = ["learn", "--scheme", "dp-sgd", "--data", data, "--epsilon", "5", "--delta", "0.01", "--epochs", "2"]
    learn += ["--batch", "4", "--ledger", str(ledger)]
    assert main([*learn, "--out", str(tmp_path / "one")]) == 0
    assert "has it as entry 2" in capsys.readouterr().out
    (entry,) = shown(ledger, capsys)["releases"]
    assert (entry["kind"], entry["finished"], entry["scheme"]["epochs"]) == ("dp-sgd", True, 2)
    assert entry["spent"]["epsilon"] <= 5
    assert entry["spent"]["delta"] == 0.01
    assert main([*learn, "--out", str(tmp_path / "two")]) == 1
    assert re.search(r"12 of 12 .* takes ε = \S+ at δ = 0.01", capsys.readouterr().err)
    assert not (tmp_path / "two" / "model.safetensors").exists()
    assert main(["ledger", "verify", str(ledger)]) == 0
    assert "not at" not in capsys.readouterr().out


def test_other_trainings_have_no_ledger(data: str, ledger: Path, tmp_path: Path, capsys: Capture) -> None:
    assert main(["learn", "--data", data, "--out", str(tmp_path / "out"), "--ledger", str(ledger)]) == 2
    assert "--ledger" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["learn", "--scheme", "dp-sgd", "--help"])
    assert "--ledger FILE" in capsys.readouterr().out


def test_verify_names_what_was_not_finished_and_what_is_gone(
    data: str, ledger: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hide(data, tmp_path / "one", ledger) == 0
    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
        assert hide(data, tmp_path / "two", ledger) == 1
    (tmp_path / "one").rename(tmp_path / "moved")
    capsys.readouterr()
    assert main(["ledger", "verify", str(ledger), "--release", str(tmp_path / "moved")]) == 0
    text = capsys.readouterr().out
    assert f"The release of entry 2 is not at {tmp_path / 'one'} any more" in text
    assert "Entry 4 (hide) was not finished" in text
    assert f"{tmp_path / 'two'} is not there): it counts as released, which is safe" in text
    assert "is as it was written: 2 releases" in text


def test_verify_finds_what_was_changed_and_releases_without_an_entry(
    data: str, ledger: Path, tmp_path: Path, capsys: Capture
) -> None:
    assert hide(data, tmp_path / "one", ledger) == 0
    assert hide(data, tmp_path / "unwritten", None) == 0
    with pytest.raises(SystemExit) as ended:
        main(["ledger", "verify", str(ledger), "--release", str(tmp_path / "unwritten")])
    assert ended.value.code == 4
    assert "unwritten has no entry" in capsys.readouterr().out
    connection = sqlite3.connect(ledger)
    connection.execute("DELETE FROM entries WHERE number = 3")
    connection.commit()
    connection.close()
    with pytest.raises(SystemExit):
        main(["ledger", "verify", str(ledger)])
    assert "Wrong: the last entry was removed." in capsys.readouterr().out
    with pytest.raises(SystemExit):
        shown(ledger, capsys, verb="verify")
    assert json.loads(capsys.readouterr().out)["wrong"] == ["the last entry was removed"]
    assert hide(data, tmp_path / "two", ledger) == 1
    assert "not as it was written (the last entry was removed)" in capsys.readouterr().err
    assert not (tmp_path / "two").exists()


def test_a_budget_is_stated_and_shown(tmp_path: Path, capsys: Capture) -> None:
    ledger = str(tmp_path / "ledger.db")
    assert main(["ledger", "budget", ledger]) == 1
    assert "there is no ledger" in capsys.readouterr().err
    assert main(["ledger", "budget", ledger, "--epsilon", "2", "--delta", "1e-6", "--releases", "4"]) == 0
    assert "is ε = 2 at δ = 1e-06 and 4 releases of an image." in capsys.readouterr().out
    assert main(["ledger", "budget", ledger]) == 0
    assert main(["ledger", "show", ledger]) == 0
    assert "No image was released" in capsys.readouterr().out
    assert main(["ledger", "budget", ledger, "--unlimited"]) == 0
    assert "is no limit" in capsys.readouterr().out
    assert main(["ledger", "budget", ledger, "--unlimited", "--mu", "1"]) == 2
    assert main(["ledger", "budget", ledger, "--epsilon", "-1"]) == 1
    assert main(["ledger", "show", ledger, "--delta", "2"]) == 1


def test_help_teaches(capsys: Capture) -> None:
    assert main(["ledger"]) == 0
    assert "HIDESEEK_LEDGER" in capsys.readouterr().out
    for verb in ("show", "budget", "verify"):
        with pytest.raises(SystemExit):
            main(["ledger", verb, "--help"])
        assert f"hideseek ledger {verb} ledger.db" in capsys.readouterr().out
    assert main(["ledger", "shw"]) == 2
    assert "did you mean show?" in capsys.readouterr().err


def test_a_ledger_in_the_place_of_images_is_none(data: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no ledger"):
        Ledger.open(tmp_path / "images" / "none.db")
