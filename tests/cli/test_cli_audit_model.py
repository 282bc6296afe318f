"""`hideseek audit model` as a user types it, and what it says when something is wrong."""

import json
from pathlib import Path

import numpy as np
import pytest

from hideseek.chance import seeded
from hideseek.cli import main
from hideseek.train.trained import write_model
from model_members import by_heart, noise_images


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that knows its images by heart, and the images, others, and images without others of their kind."""
    folder = tmp_path_factory.mktemp("model")
    members = noise_images(40, 1)
    write_model(folder / "model.safetensors", by_heart(members, seeded(0)))
    sets = {"others": noise_images(60, 2), "few": noise_images(5, 3), "more": noise_images(60, 4)}
    for name, samples in {"members": members, **sets}.items():
        labels = samples.labels.argmax(1).numpy()
        np.savez(folder / f"{name}.npz", x=samples.images[:, 0].numpy(), y=labels, classes=np.arange(5).astype(str))
    np.savez(folder / "two.npz", x=np.random.default_rng(0).random((20, 12, 12), np.float32), y=np.arange(20) % 2)
    return folder


def test_members_are_told_apart(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, others = f"npz:{model / 'members.npz'}", f"npz:{model / 'others.npz'}"
    options = ("--attacks", "lira", "--models", "4", "--epochs", "5", "--seed", "3", "--json", str(model / "j.json"))
    assert main(["audit", "model", str(model), "--data", data, "--others", others, *options]) == 0
    said = capsys.readouterr().out
    assert "membership-auc" in said
    found = json.loads((model / "j.json").read_text())
    assert (found["members"], found["others"]) == (40, 40)
    assert "lira" in found["attacks"]


def test_a_gate_whose_options_are_in_a_file(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = (
        f'model = "{model}"\ndata = "npz:{model / "members.npz"}"\nothers = "npz:{model / "others.npz"}"',
        'attacks = ["lira"]\nmodels = 4\nepochs = 5\nseed = 3\nfail-on = "leaks"\n',
    )
    (model / "audit.toml").write_text("\n".join(("[audit]", *lines)), "utf-8")
    assert main(["audit", "--config", str(model / "audit.toml")]) == 2
    assert "the gate --fail-on leaks does not pass: images are told apart by lira." in capsys.readouterr().err
    strangers = ("--data", f"npz:{model / 'others.npz'}", "--others", f"npz:{model / 'more.npz'}")
    assert main(["audit", "model", str(model), "--config", str(model / "audit.toml"), *strangers]) == 0
    assert "The gate --fail-on leaks passes" in capsys.readouterr().out
    assert main(["audit", "model", "--config", str(model / "audit.toml"), "--fail-on", "broken"]) == 1


@pytest.mark.parametrize(
    ("data", "others", "options", "words"),
    [
        ("members", "few", (), "too few to tell apart"),
        ("members", "members", (), "too few to tell apart"),
        ("members", "two", (), "same classes"),
        ("members", "others", ("--attacks", "lyra"), "lira"),
        ("members", "others", ("--models", "5"), "come in pairs"),
        ("members", "others", ("--epochs", "0"), "one epoch or more"),
    ],
)
def test_bad_input(
    model: Path, data: str, others: str, options: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    addresses = ("--data", f"npz:{model / f'{data}.npz'}", "--others", f"npz:{model / f'{others}.npz'}")
    assert main(["audit", "model", str(model), *addresses, *options]) != 0
    assert words in capsys.readouterr().err


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["audit", "model", "--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert "Try:" in said
    assert len(said.splitlines()) <= 40
