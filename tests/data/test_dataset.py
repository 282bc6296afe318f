import gzip
import hashlib
import io
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image

from hideseek.data import DATASETS, load
from hideseek.data.dataset import Dataset, Download
from hideseek.errors import BadInput

GENERATOR = np.random.default_rng(0)


def draw(*shape: int) -> NDArray[np.uint8]:
    return GENERATOR.integers(0, 256, shape, dtype=np.uint8)


def idx(array: NDArray[np.uint8]) -> bytes:
    head = bytes([0, 0, 8, array.ndim]) + b"".join(side.to_bytes(4, "big") for side in array.shape)
    return gzip.compress(head + array.tobytes())


def tar(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def jpeg(shade: int, mode: str = "RGB") -> bytes:
    out = io.BytesIO()
    Image.new("L", (64, 64), shade).convert(mode).save(out, "JPEG", quality=95)
    return out.getvalue()


def publish(name: str, files: Mapping[str, bytes], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    """Put made-up files where a publisher's would be, under the checksums that they have."""
    (folder / "site").mkdir(exist_ok=True)
    dataset = DATASETS[name]
    assert isinstance(dataset.origin, Download)
    assert {file.name for file in dataset.origin.files} == set(files)
    there = []
    for file in dataset.origin.files:
        (folder / "site" / file.name).write_bytes(files[file.name])
        address = (folder / "site" / file.name).as_uri()
        checksum = hashlib.new(file.algorithm, files[file.name]).hexdigest()
        there.append(replace(file, addresses=(address,), checksum=checksum))
    changed = replace(dataset, origin=replace(dataset.origin, files=tuple(there)))
    monkeypatch.setitem(DATASETS, name, changed)
    return changed


def test_mnist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    x, y, z, w = draw(6, 28, 28), np.array([0, 1, 2, 9, 4, 5], np.uint8), draw(2, 28, 28), np.array([3, 1], np.uint8)
    files = {
        "train-images-idx3-ubyte.gz": idx(x),
        "train-labels-idx1-ubyte.gz": idx(y),
        "t10k-images-idx3-ubyte.gz": idx(z),
        "t10k-labels-idx1-ubyte.gz": idx(w),
    }
    dataset = publish("mnist", files, tmp_path, monkeypatch)
    assert dataset.where == "not here: downloaded on first use"
    assert dataset.counts == {"train": 60_000, "test": 10_000}
    training, test = load("mnist"), load("mnist?split=test")
    assert np.array_equal(training.images[:, 0].numpy(), x)
    assert np.array_equal(test.images[:, 0].numpy(), z)
    assert test.labels.argmax(1).tolist() == [3, 1]
    assert training.labels.shape == (6, 10)
    assert dataset.where == str(cache / "mnist.npz")
    assert dataset.counts == {"train": 6, "test": 2}
    assert [path.name for path in cache.iterdir()] == ["mnist.npz"]


def test_cifar10(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = draw(12, 3073)
    records[:, 0] = np.arange(12) % 10
    files = {
        f"cifar-10-batches-bin/data_batch_{batch + 1}.bin": records[2 * batch : 2 * batch + 2] for batch in range(5)
    }
    names = b"airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n"
    content = {name: part.tobytes() for name, part in reversed(files.items())}
    content |= {"cifar-10-batches-bin/test_batch.bin": records[10:].tobytes(), "x/batches.meta.txt": names}
    publish("cifar10", {"cifar-10-binary.tar.gz": tar(content)}, tmp_path, monkeypatch)
    training = load("cifar10")
    assert np.array_equal(training.images.numpy().reshape(10, -1), records[:10, 1:])
    assert training.labels.argmax(1).tolist() == list(range(10))
    assert training.classes[9] == "truck"
    assert np.array_equal(load("cifar10?split=test").images.numpy().reshape(2, -1), records[10:, 1:])


def test_cifar100_counts_the_fine_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = draw(5, 3074)
    records[:, 0], records[:, 1] = 19, [0, 99, 50, 7, 7]
    names = "".join(f"kind_{number}\n" for number in range(100)).encode()
    content = {"a/train.bin": records[:3].tobytes(), "a/test.bin": records[3:].tobytes()}
    content["a/fine_label_names.txt"] = names
    publish("cifar100", {"cifar-100-binary.tar.gz": tar(content)}, tmp_path, monkeypatch)
    training = load("cifar100")
    assert training.labels.argmax(1).tolist() == [0, 99, 50]
    assert training.classes[99] == "kind_99"
    assert np.array_equal(training.images.numpy().reshape(3, -1), records[:3, 2:])
    assert len(load("cifar100?split=test", labelled=False)) == 2


def test_tinyimagenet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        top = "tiny-imagenet-200"
        archive.writestr(f"{top}/wnids.txt", "n02\nn01\n")
        archive.writestr(f"{top}/words.txt", "n01\tgoldfish, Carassius auratus\nn02\tsalamander\nn03\tother\n")
        archive.writestr(f"{top}/val/val_annotations.txt", "val_0.JPEG\tn02\t0\t0\t9\t9\nval_1.JPEG\tn01\t0\t0\t9\t9\n")
        archive.writestr(f"{top}/val/images/val_0.JPEG", jpeg(10))
        archive.writestr(f"{top}/val/images/val_1.JPEG", jpeg(60, "L"))
        archive.writestr(f"{top}/train/n02/images/n02_0.JPEG", jpeg(110))
        archive.writestr(f"{top}/train/n01/images/n01_0.JPEG", jpeg(160))
        archive.writestr(f"{top}/train/n01/n01_boxes.txt", "n01_0.JPEG\t0\t0\t9\t9\n")
        archive.writestr(f"{top}/test/images/test_0.JPEG", jpeg(210))
    publish("tinyimagenet", {"tiny-imagenet-200.zip": out.getvalue()}, tmp_path, monkeypatch)
    training, test = load("tinyimagenet"), load("tinyimagenet?split=test")
    assert training.classes == ("goldfish", "salamander")
    assert training.shape == (3, 64, 64)
    for samples, shades, ids in ((training, [160, 110], [0, 1]), (test, [10, 60], [1, 0])):
        assert samples.images.float().mean((1, 2, 3)).tolist() == pytest.approx(shades, abs=1)
        assert samples.labels.argmax(1).tolist() == ids


def test_pneumoniamnist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.BytesIO()
    arrays = {}
    for number, split in enumerate(("train", "val", "test")):
        arrays[f"{split}_images"] = draw(2 + number, 28, 28)
        arrays[f"{split}_labels"] = (np.arange(2 + number) % 2)[:, None].astype(np.uint8)
    np.savez_compressed(out, **arrays)  # type: ignore[arg-type]
    publish("pneumoniamnist", {"pneumoniamnist.npz": out.getvalue()}, tmp_path, monkeypatch)
    samples = load("pneumoniamnist?split=val")
    assert np.array_equal(samples.images[:, 0].numpy(), arrays["val_images"])
    assert samples.labels.argmax(1).tolist() == [0, 1, 0]
    assert samples.classes == ("normal", "pneumonia")
    # The publisher's own file will do as well, put where the user's sets are.
    (tmp_path / "own").mkdir()
    (tmp_path / "own/pneumoniamnist.npz").write_bytes(out.getvalue())
    monkeypatch.setenv("HIDESEEK_DATA", str(tmp_path / "own"))
    assert load("pneumoniamnist?split=test").labels.argmax(1).tolist() == [0, 1, 0, 1]


def test_a_set_is_downloaded_once_and_the_users_own_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    records = draw(6, 3073) % 10
    content = {f"b/data_batch_{batch}.bin": records[batch - 1 : batch].tobytes() for batch in range(1, 6)}
    files = {"cifar-10-binary.tar.gz": tar(content | {"b/test_batch.bin": records[:2].tobytes()})}
    publish("cifar10", files, tmp_path, monkeypatch)
    first = load("cifar10")
    (tmp_path / "site/cifar-10-binary.tar.gz").unlink()
    assert load("cifar10").images.equal(first.images)
    (tmp_path / "own").mkdir()
    np.savez(tmp_path / "own/cifar10.npz", x_train=draw(2, 32, 32, 3), y_train=np.array([4, 5]))
    monkeypatch.setenv("HIDESEEK_DATA", str(tmp_path / "own"))
    assert len(load("cifar10")) == 2
    assert DATASETS["cifar10"].counts == {"train": 2}


def test_a_failed_download_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    publish("cifar10", {"cifar-10-binary.tar.gz": tar({})}, tmp_path, monkeypatch)
    (tmp_path / "site/cifar-10-binary.tar.gz").unlink()
    with pytest.raises(BadInput, match="could not be downloaded"):
        load("cifar10")
    assert not list(cache.iterdir())


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    publish("cifar10", {"cifar-10-binary.tar.gz": tar({})}, tmp_path, monkeypatch)
    with pytest.raises(BadInput, match="cifar10 cannot be kept in"):
        load("cifar10")


def test_every_set_says_what_it_is() -> None:
    for name, dataset in DATASETS.items():
        assert dataset.name == name
        assert all((dataset.title, dataset.terms, dataset.citation, dataset.where))
        assert len(dataset.class_names) in (0, dataset.classes)
        if isinstance(dataset.origin, Download):
            for file in dataset.origin.files:
                assert len(file.checksum) == hashlib.new(file.algorithm).digest_size * 2
                assert all(address.split("?")[0].endswith(f"/{file.name}") for address in file.addresses)


@pytest.mark.parametrize("name", ["mnist", "cifar10", "tinyimagenet", "pneumoniamnist"])
def test_the_real_sets(real_data: Path, name: str) -> None:
    dataset = DATASETS[name]
    if dataset.path is None:
        pytest.skip(f"{name} is not in HIDESEEK_DATA")
    assert dataset.where == str(real_data / f"{name}.npz")
    samples = load(name)
    assert samples.shape == dataset.shape
    assert samples.labels.shape == (dataset.counts["train"], dataset.classes)
    assert samples.images.dtype == torch.uint8
    with np.load(real_data / f"{name}.npz") as stored:
        some = stored["x_train"][-5:]
    expected = some.transpose(0, 3, 1, 2) if some.ndim == 4 else some[:, None]
    assert np.array_equal(samples.images[-5:].numpy(), expected)
