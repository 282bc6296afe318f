"""The publishers' own formats, read without pickle: where each file is, its checksum, and how it becomes arrays."""

import gzip
import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hideseek.data import members
from hideseek.data.decode import decode
from hideseek.data.download import Published
from hideseek.data.store import allocate
from hideseek.progress import track

Arrays = Mapping[str, NDArray[Any]]
Files = Mapping[str, Path]  # by their published names

_MNIST = (
    ("train-images-idx3-ubyte.gz", "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
    ("train-labels-idx1-ubyte.gz", "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
    ("t10k-images-idx3-ubyte.gz", "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
    ("t10k-labels-idx1-ubyte.gz", "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
)
# The mirrors of MNIST are those of TensorFlow Datasets and of torchvision: its first home refuses downloads.
MNIST = tuple(
    Published(
        name,
        (
            f"https://storage.googleapis.com/cvdf-datasets/mnist/{name}",
            f"https://ossci-datasets.s3.amazonaws.com/mnist/{name}",
        ),
        "sha256",
        checksum,
    )
    for name, checksum in _MNIST
)
CIFAR10 = Published(
    "cifar-10-binary.tar.gz",
    ("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",),
    "sha256",
    "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
)
CIFAR100 = Published(
    "cifar-100-binary.tar.gz",
    ("https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",),
    "sha256",
    "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
)
TINYIMAGENET = Published(
    "tiny-imagenet-200.zip",
    ("https://cs231n.stanford.edu/tiny-imagenet-200.zip", "http://cs231n.stanford.edu/tiny-imagenet-200.zip"),
    "sha256",
    "6198c8ae015e2b3e007c7841da39ec069199b9aa3bfa943a462022fe5e43c821",
)
PNEUMONIAMNIST = Published(
    "pneumoniamnist.npz",
    ("https://zenodo.org/records/10519652/files/pneumoniamnist.npz?download=1",),
    "md5",  # the only one that MedMNIST publishes
    "28209eda62fecd6e6a2d98b1501bb15f",
)


def read_mnist(files: Files) -> Arrays:
    """Read the four idx files: a magic number with the count of sides, the sides, then bytes."""
    arrays = {}
    for split, prefix in (("train", "train"), ("test", "t10k")):
        for key, kind in (("x", "images-idx3"), ("y", "labels-idx1")):
            with gzip.open(files[f"{prefix}-{kind}-ubyte.gz"]) as stream:
                data = stream.read()
            sides = [int.from_bytes(data[4 + 4 * side : 8 + 4 * side], "big") for side in range(data[3])]
            arrays[f"{key}_{split}"] = np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(sides)
    return arrays


def read_cifar10(files: Files) -> Arrays:
    """Read records of one label byte and 3×32×32 bytes."""
    batches = {f"data_batch_{number}.bin": "train" for number in range(1, 6)} | {"test_batch.bin": "test"}
    return _cifar(files[CIFAR10.name], batches, 1, "batches.meta.txt")


def read_cifar100(files: Files) -> Arrays:
    """Read records of a coarse and a fine label byte, which counts here, and 3×32×32 bytes."""
    return _cifar(files[CIFAR100.name], {"train.bin": "train", "test.bin": "test"}, 2, "fine_label_names.txt")


def _cifar(path: Path, batches: Mapping[str, str], label_bytes: int, names: str) -> Arrays:
    records: dict[str, list[NDArray[np.uint8]]] = {"train": [], "test": []}
    classes: list[str] = []
    with tarfile.open(path) as archive:
        for member in sorted(archive.getmembers(), key=lambda member: member.name):
            name, stream = Path(member.name).name, archive.extractfile(member)
            if stream is not None and name in batches:
                record = np.frombuffer(stream.read(), np.uint8).reshape(-1, label_bytes + 3072)
                records[batches[name]].append(record)
            elif stream is not None and name == names:
                classes = stream.read().decode().split()
    arrays: dict[str, NDArray[Any]] = {"classes": np.array(classes)}
    for split, parts in records.items():
        record = np.concatenate(parts)
        arrays[f"x_{split}"] = record[:, label_bytes:].reshape(-1, 3, 32, 32)
        arrays[f"y_{split}"] = record[:, label_bytes - 1]
    return arrays


def read_tinyimagenet(files: Files) -> Arrays:
    """Decode the JPEG files; classes are numbered in the order of their WordNet ids.

    Deviation: the published test images have no labels, so the validation images serve as the test split.
    """
    top = "tiny-imagenet-200"
    with zipfile.ZipFile(files[TINYIMAGENET.name]) as archive:
        ids = sorted(archive.read(f"{top}/wnids.txt").decode().split())
        words = dict(line.split("\t", 1) for line in archive.read(f"{top}/words.txt").decode().splitlines())
        notes = archive.read(f"{top}/val/val_annotations.txt").decode().splitlines()
        judged = {name: wordnet for name, wordnet, *_ in (line.split("\t") for line in notes)}
        training = sorted(name for name in archive.namelist() if f"{top}/train/" in name and name.endswith(".JPEG"))
        return {
            "classes": np.array([words[wordnet].split(",")[0] for wordnet in ids]),
            "x_train": _decode_members(archive, training),
            "y_train": np.array([ids.index(name.split("/")[2]) for name in training], np.uint8),
            "x_test": _decode_members(archive, [f"{top}/val/images/{name}" for name in judged]),
            "y_test": np.array([ids.index(wordnet) for wordnet in judged.values()], np.uint8),
        }


def _decode_members(archive: zipfile.ZipFile, names: list[str]) -> NDArray[Any]:
    images = allocate((len(names), 3, 64, 64), np.uint8)
    for row, name in enumerate(track(names, "decoding images")):
        images[row] = decode(io.BytesIO(archive.read(name)), name, 3, (64, 64))
    return images


def read_pneumoniamnist(files: Files) -> Arrays:
    """Rename MedMNIST's arrays; labels become one number an image."""
    path = files[PNEUMONIAMNIST.name]
    arrays = {}
    for split in ("train", "val", "test"):
        arrays[f"x_{split}"] = members.read(path, f"{split}_images")
        arrays[f"y_{split}"] = members.read(path, f"{split}_labels").reshape(-1)
    return arrays
