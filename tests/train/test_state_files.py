import os
from pathlib import Path

import pytest
import torch

from hideseek.errors import BadInput
from hideseek.models import build
from hideseek.records import Normalisation
from hideseek.train.state_files import read_state, write_state
from hideseek.train.trained import Trained, read_model, write_model

TENSORS = {"a": torch.arange(6.0).view(2, 3), "b": torch.tensor(3), "c": torch.arange(4, dtype=torch.uint8)}


def test_state_comes_back(tmp_path: Path) -> None:
    write_state(tmp_path / "state", TENSORS, {"name": "ü", "list": [1, 2.5]})
    tensors, about = read_state(tmp_path / "state", "state")
    assert about == {"name": "ü", "list": [1, 2.5]}
    assert tensors.keys() == TENSORS.keys()
    assert all(torch.equal(tensors[name], TENSORS[name]) for name in TENSORS)


def test_any_changed_byte_is_found(tmp_path: Path) -> None:
    path = tmp_path / "state"
    write_state(path, TENSORS, {"name": "x"})
    content = path.read_bytes()
    for place in range(0, len(content), 7):
        path.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
        with pytest.raises(BadInput):
            read_state(path, "state")
    for length in (0, 5, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(BadInput, match="damaged"):
            read_state(path, "state")


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no checkpoint"):
        read_state(tmp_path / "none", "checkpoint")


def test_a_failed_write_keeps_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "state"
    write_state(path, TENSORS, {"version": 1})
    with pytest.raises(ValueError, match="JSON"):
        write_state(path, TENSORS, {"version": float("nan")})
    assert read_state(path, "state")[1] == {"version": 1}
    assert [file.name for file in tmp_path.iterdir()] == ["state"]


def test_a_model_comes_back(tmp_path: Path) -> None:
    network = build("small-resnet", (3, 16, 16), 4).eval()
    known = Normalisation("channel", (0.1, 0.2, 0.3), (1.0, 2.0, 3.0))
    trained = Trained(network, "small-resnet", (3, 16, 16), ("a", "b", "c", "d"), known)
    write_model(tmp_path / "model", trained, {"mechanism": "mixup"})
    again, scheme = read_model(tmp_path / "model")
    images = torch.randn(2, 3, 16, 16, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(again.network(images), network(images))
    assert (again.shape, again.classes, again.normalisation) == (trained.shape, trained.classes, known)
    assert scheme == {"mechanism": "mixup"}


@pytest.mark.parametrize(
    "change",
    [
        {"architecture": "resnet18"},
        {"shape": [3, 16]},
        {"shape": [3, -1, 16]},
        {"classes": ["a"]},
        {"classes": 4},
        {"normalisation": {"kind": "odd", "mean": [], "std": []}},
        {"normalisation": {"kind": "channel", "mean": ["x"], "std": []}},
        {"features": 3},
        {"classes": ["a", "b", "c", 4]},
        {"comment": "x"},
        {"normalisation": {"kind": "none", "mean": [], "std": [], "more": 1}},
        {"shape": [1 << 19, 1 << 19, 1 << 19]},
    ],
)
def test_a_forged_model_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    network = build("lenet", (3, 16, 16), 4)
    write_model(tmp_path / "model", Trained(network, "lenet", (3, 16, 16), ("a", "b", "c", "d")))
    tensors, about = read_state(tmp_path / "model", "model")
    write_state(tmp_path / "model", tensors, {**about, **change})
    with pytest.raises(BadInput):
        read_model(tmp_path / "model")


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_a_model_whose_weights_are_no_numbers_is_refused(tmp_path: Path, value: float) -> None:
    network = build("lenet", (3, 16, 16), 4)
    with torch.no_grad():
        next(network.parameters()).flatten()[3] = value
    write_model(tmp_path / "model", Trained(network, "lenet", (3, 16, 16), ("a", "b", "c", "d")))  # with its checksum
    with pytest.raises(BadInput, match="weights that are not finite numbers: train it again"):
        read_model(tmp_path / "model")


def test_a_model_of_a_huge_shape_is_not_built(tmp_path: Path) -> None:
    """Its linear layer alone would have 2^60 weights."""
    write_model(tmp_path / "model", Trained(build("linear", (1, 4, 4), 2), "linear", (1, 4, 4), ("a", "b")))
    tensors, about = read_state(tmp_path / "model", "model")
    write_state(tmp_path / "model", tensors, {**about, "shape": [1 << 19, 1 << 19, 1 << 19]})
    with pytest.raises(BadInput, match="not a model of hideseek"):
        read_model(tmp_path / "model")


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "model")
    with pytest.raises(BadInput):
        read_model(tmp_path / "model")


def test_a_description_that_says_something_twice_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hideseek.train.state_files.json.dumps", lambda *_, **__: '{"name": 1, "name": 2}')
    write_state(tmp_path / "state", TENSORS, {})
    with pytest.raises(BadInput, match="damaged"):
        read_state(tmp_path / "state", "state")
