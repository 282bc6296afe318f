"""Updates on disk: the same after reading, and damage found."""

import json
import logging
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide import InstaHide
from hideseek.hide.updates import GradientPruning, ShareUpdates
from hideseek.hide.updates.update_files import read_update_secret, read_updates
from hideseek.records import Samples
from hideseek.train.state_files import read_state, write_state

SCHEMES = {
    "plain": ShareUpdates("linear", batch=4),
    "weights": ShareUpdates("small-resnet", batch=2, local_steps=2, sends="weights"),
    "mixed": ShareUpdates("linear", batch=4, encoding=InstaHide(k=2), defences=(GradientPruning(0.5),)),
}

NANS, INFINITE = torch.full((3,), torch.nan), torch.full((3,), -torch.inf)
COARSE = torch.ones(3, dtype=torch.int8)


@pytest.mark.parametrize("name", SCHEMES)
def test_what_is_written_is_read(name: str, images: Samples, tmp_path: Path) -> None:
    scheme = SCHEMES[name]
    scheme.write(images, None, seeded(1), tmp_path / "release", tmp_path / "secret", rounds=2)
    release, secret = scheme.hide(images, None, seeded(1), rounds=2)
    found, truth = scheme.read(tmp_path / "release", tmp_path / "secret", None)
    assert found.scheme == release.scheme
    assert (found.sizes, found.shape, found.classes, found.seed) == (release.sizes, release.shape, release.classes, 1)
    for first, second in zip(found.updates, release.updates, strict=True):
        assert all(torch.equal(first[each], second[each]) for each in second)
    for each in release.models[0].state:
        assert torch.equal(found.models[0].state[each], release.models[0].state[each])
    assert torch.equal(truth.sources, secret.sources)
    for each in ("labels", "weights", "sources"):
        pairs = zip(truth.withheld(each), secret.withheld(each), strict=True)
        assert all(torch.allclose(first.float(), second.float()) for first, second in pairs)
    if release.buffers is not None:
        assert found.buffers is not None
        assert all(torch.equal(found.buffers[0][each], release.buffers[0][each]) for each in release.buffers[0])
    assert (tmp_path / "secret").stat().st_mode & 0o077 == 0


@pytest.fixture
def written(images: Samples, tmp_path: Path) -> Path:
    SCHEMES["plain"].write(images, None, seeded(1), tmp_path / "release", tmp_path / "secret")
    return tmp_path / "release"


def change(folder: Path, **changes: object) -> None:
    path = folder / "release.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def rewrite(path: Path, **tensors: torch.Tensor | None) -> None:
    kept, about = read_state(path, "update")
    write_state(path, {name: each for name, each in {**kept, **tensors}.items() if each is not None}, about)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda folder: (folder / "release.json").unlink(), "no release.json"),
        (lambda folder: (folder / "release.json").write_text("{"), "damaged"),
        (lambda folder: change(folder, format=9), "update hideseek"),
        (lambda folder: change(folder, kind="rows"), "does not describe updates"),
        (lambda folder: change(folder, sizes=[1]), "does not describe updates"),
        (lambda folder: change(folder, model="nothing"), "nothing"),
        (lambda folder: change(folder, model="lenet", shape=[1, 8, 8]), "another model"),
        (lambda folder: (folder / "update-00001.safetensors").unlink(), "no update"),
        (lambda folder: rewrite(folder / "update-00001.safetensors", **{"update.head.bias": None}), "lacks head.bias"),
        (
            lambda folder: rewrite(folder / "update-00001.safetensors", **{"update.more": torch.ones(1)}),
            "also holds more",
        ),
        (
            lambda folder: rewrite(folder / "update-00000.safetensors", **{"update.head.bias": torch.ones(7)}),
            r"is of \(7,\)",
        ),
        (
            lambda folder: rewrite(folder / "update-00000.safetensors", **{"update.head.bias": NANS}),
            "not finite",
        ),
        (
            lambda folder: rewrite(folder / "update-00000.safetensors", **{"update.head.bias": INFINITE}),
            "not finite",
        ),
        (
            lambda folder: rewrite(folder / "update-00000.safetensors", **{"update.head.bias": COARSE}),
            "scale them back",
        ),
        (lambda folder: truncate(folder / "update-00001.safetensors"), "not a update"),
        (lambda folder: truncate(folder / "model.safetensors"), "not a model"),
        (lambda folder: (folder / "model.safetensors").unlink(), "no model"),
        (lambda folder: truncate(folder / "release.json"), "damaged"),
        (lambda folder: save_file({"a": torch.ones(1)}, folder / "update-00000.safetensors"), "not a update"),
    ],
)  # fmt: skip
def test_damage_is_found(written: Path, spoil: object, said: str) -> None:
    spoil(written)  # type: ignore[operator]
    with pytest.raises(BadInput, match=said):
        read_updates(written)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_half_precision_is_converted_and_said(
    written: Path, kind: torch.dtype, caplog: pytest.LogCaptureFixture
) -> None:
    path = written / "update-00000.safetensors"
    rewrite(path, **{name: each.to(kind) for name, each in read_state(path, "update")[0].items()})
    with caplog.at_level(logging.WARNING):
        release = read_updates(written)
    assert all(tensor.dtype == torch.float32 for update in release.updates for tensor in update.values())
    (record,) = caplog.records
    assert f"sent as {str(kind).removeprefix('torch.')} and converted to float32" in record.getMessage()


def test_a_truncated_secret(written: Path) -> None:
    truncate(written.parent / "secret")
    with pytest.raises(BadInput, match="secret of updates"):
        read_update_secret(written.parent / "secret", written, read_updates(written))


def test_the_secret_of_another_release(written: Path, images: Samples, tmp_path: Path) -> None:
    other = tmp_path / "other"
    SCHEMES["plain"].write(images, None, seeded(2), other, tmp_path / "other-secret", rounds=2)
    with pytest.raises(BadInput, match="belongs to another release"):
        read_update_secret(tmp_path / "other-secret", written, read_updates(written))


def test_a_secret_stays_out_of_the_release(images: Samples, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="would be shared"):
        SCHEMES["plain"].write(images, None, seeded(1), tmp_path / "release", tmp_path / "release" / "secret")
