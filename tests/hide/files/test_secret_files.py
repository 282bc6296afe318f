"""The ground truth of a release on disk: who may read it, and what becomes of it."""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

import toys
from hideseek.chance import secure
from hideseek.errors import BadInput
from hideseek.hide import ENCODERS, Augmented
from hideseek.hide.files.release_files import release_digest, write_release
from hideseek.hide.files.secret_files import read_secret


def test_the_secret_is_for_its_owner_and_never_inside_the_release(tmp_path: Path) -> None:
    mixup = ENCODERS["mixup"]
    write_release(mixup, toys.named(), None, secure(), tmp_path / "out", tmp_path / "secret")
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600
    for inside in (
        tmp_path / "new" / "secret",
        tmp_path / "new" / "deep" / "secret",
        tmp_path / "other" / ".." / "new" / "s",
    ):
        with pytest.raises(BadInput, match="would be shared"):
            write_release(mixup, toys.named(), None, secure(), tmp_path / "new", inside)
    with pytest.raises(BadInput, match="exists already"):
        write_release(mixup, toys.named(), None, secure(), tmp_path / "new", tmp_path / "secret")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "secret"]


def test_what_a_killed_run_left_of_a_secret_is_removed(tmp_path: Path) -> None:
    (tmp_path / f".secret.{'0a' * 16}.partial").write_text("private images")
    write_release(ENCODERS["mixup"], toys.named(), None, secure(), tmp_path / "out", tmp_path / "secret")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "secret"]


def test_no_secret_is_kept_of_a_release_that_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "no")

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(BadInput, match="may not be written"):
        write_release(ENCODERS["mixup"], toys.named(), None, secure(), tmp_path / "out", tmp_path / "secret")
    assert list(tmp_path.iterdir()) == []


def test_a_secret_of_another_release_is_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_release(ENCODERS["mixup"], toys.named(), None, secure(), tmp_path / name, tmp_path / f"{name}.secret")
    with pytest.raises(BadInput, match="belongs to another release"):
        read_secret(tmp_path / "one.secret", release_digest(tmp_path / "two"))
    (tmp_path / "one.secret").write_bytes(b"nothing")
    with pytest.raises(BadInput, match="not a secret"):
        read_secret(tmp_path / "one.secret", release_digest(tmp_path / "one"))


Tensors = dict[str, torch.Tensor]
WRONG: dict[str, Callable[[Tensors], Any]] = {
    "a source that is not there": lambda tensors: tensors["sources"][0].fill_(10**6),
    "a source below zero": lambda tensors: tensors["sources"][0].fill_(-1),
    "sources of another type": lambda tensors: tensors.update(sources=tensors["sources"].int()),
    "sources of another shape": lambda tensors: tensors.update(sources=tensors["sources"][:, 0].clone()),
    "fewer weights than rows": lambda tensors: tensors.update(weights=tensors["weights"][1:].clone()),
    "weights that are no numbers": lambda tensors: tensors["weights"][0].fill_(torch.nan),
    "weights without end": lambda tensors: tensors["weights"][0].fill_(torch.inf),
    "a mask of another shape": lambda tensors: tensors.update(mask=tensors["mask"][:, :, :1].clone()),
    "transforms that are no numbers": lambda tensors: tensors["transforms"][0].fill_(torch.nan),
    "a public image below zero": lambda tensors: tensors["public_sources"][0].fill_(-1),
    "a public image without its origin": lambda tensors: tensors.update(cut_from=torch.zeros(1, dtype=torch.int64)),
    "labels that are no numbers": lambda tensors: tensors["private_labels"][0].fill_(torch.nan),
    "a scale of another shape": lambda tensors: tensors.update(private_scale=torch.ones(3)),
    "no images": lambda tensors: tensors.update(private_images=tensors["private_images"][:0].clone()),
    "a tensor of its own": lambda tensors: tensors.update(more=torch.zeros(1)),
    "a tensor less": lambda tensors: tensors.pop("weights"),
}


def _kept(folder: Path) -> tuple[Path, str]:
    """Keep a secret that has everything: masks, movements, public images."""
    public = toys.images(9, seed=1)
    scheme = Augmented(ENCODERS["instahide-cross"])
    write_release(scheme, toys.named(), public, secure(), folder / "out", folder / "secret")
    return folder / "secret", release_digest(folder / "out")


@pytest.mark.parametrize("name", WRONG)
def test_a_secret_that_cannot_be_is_one_sentence(tmp_path: Path, name: str) -> None:
    path, digest = _kept(tmp_path)
    with safe_open(path, "pt") as file:
        tensors, about = {key: file.get_tensor(key).clone() for key in file.keys()}, file.metadata()  # noqa: SIM118
    save_file(tensors, path, about)
    read_secret(path, digest)
    WRONG[name](tensors)
    save_file(tensors, path, about)
    with pytest.raises(BadInput, match="not a secret that hideseek wrote"):
        read_secret(path, digest)


@pytest.mark.parametrize(
    "change", [{"classes": 3}, {"more": 1}, {"normalisation": {"kind": "odd", "mean": [], "std": []}}]
)
def test_a_secret_that_describes_something_else_is_one_sentence(tmp_path: Path, change: dict[str, Any]) -> None:
    path, digest = _kept(tmp_path)
    with safe_open(path, "pt") as file:
        tensors, about = {key: file.get_tensor(key).clone() for key in file.keys()}, file.metadata()  # noqa: SIM118
    save_file(tensors, path, {**about, "about": json.dumps({**json.loads(about["about"]), **change})})
    with pytest.raises(BadInput, match="not a secret that hideseek wrote"):
        read_secret(path, digest)


def test_a_secret_that_is_missing_or_a_pipe_is_said_to_be(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"there is no secret at .*none: check the name\."):
        read_secret(tmp_path / "none", "0" * 64)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadInput, match="not a file but a pipe"):
        read_secret(tmp_path / "pipe", "0" * 64)
