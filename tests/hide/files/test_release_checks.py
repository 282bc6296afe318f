"""Releases that are damaged, or that no honest party would send, are refused."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from blake3 import blake3
from safetensors.torch import load_file, save_file

import toys
from hideseek.chance import secure
from hideseek.errors import BadInput
from hideseek.hide import ENCODERS
from hideseek.hide.files.release_checks import Revealed
from hideseek.hide.files.release_files import read_release, write_release


def test_every_flipped_byte_is_found(release: Path) -> None:
    shard = release / "encoded-00000.safetensors"
    content = bytearray(shard.read_bytes())
    for place in (0, 9, len(content) // 2, len(content) - 1):
        damaged = bytearray(content)
        damaged[place] ^= 1
        shard.write_bytes(damaged)
        with pytest.raises(BadInput, match=r"encoded-00000.safetensors is damaged"):
            read_release(release)
    shard.write_bytes(content[:-4])
    with pytest.raises(BadInput, match="is damaged"):
        read_release(release)
    shard.unlink()
    with pytest.raises(BadInput, match="is damaged"):
        read_release(release)


def test_a_release_from_the_future_is_refused(release: Path) -> None:
    _edit(release, lambda about: about.update(format=2))
    with pytest.raises(BadInput, match=r"format 2, newer .* update hideseek"):
        read_release(release)


def test_a_folder_without_release_json_is_not_complete(release: Path) -> None:
    (release / "release.json").unlink()
    with pytest.raises(BadInput, match="not a complete release"):
        read_release(release)


def _edit(release: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    about = json.loads((release / "release.json").read_text())
    change(about)
    (release / "release.json").write_text(json.dumps(about))


GEOMETRY = {"mechanism": "geometry", "shift": 0, "crop": 1, "rotation": 0, "flip": False}


def nested(depth: int, scheme: dict[str, Any]) -> dict[str, Any]:
    for _ in range(depth):
        scheme = {"mechanism": "augmented", "scheme": scheme, "geometry": GEOMETRY}
    return scheme


@pytest.mark.parametrize(
    "change",
    [
        lambda about: about.pop("scheme"),
        lambda about: about.pop("shards"),
        lambda about: about.update(rows=41),
        lambda about: about.update(rows=-1),
        lambda about: about.update(shape=[3, 7]),
        lambda about: about.update(shape=[3, 7, "5"]),
        lambda about: about.update(shape=[3, 7, 6]),
        lambda about: about.update(classes=[1, 2]),
        lambda about: about.update(classes=7),
        lambda about: about.update(seed=1),
        lambda about: about.update(reproducible=True),
        lambda about: about.update(format="1"),
        lambda about: about["normalisation"].update(mean=["x"]),
        lambda about: about["normalisation"].update(kind="whitened"),
        lambda about: about["normalisation"].update(mean=[float("nan")]),
        lambda about: (about.update(rows=2**39), about["shards"][0].update(rows=2**39)),
        lambda about: about.update(shape=[2**39, 2**39, 1]),
        lambda about: about["scheme"].update(mechanism="rot13"),
        lambda about: about["scheme"].update(k="4"),
        lambda about: about["scheme"].update(k=4.5),
        lambda about: about["scheme"].update(k=True),
        lambda about: about["scheme"].update(law="gaussian"),
        lambda about: about["scheme"].update(largest=float("nan")),
        lambda about: about["scheme"].update(extra=1),
        lambda about: about["scheme"].pop("k"),
        lambda about: about.update(scheme=GEOMETRY),
        lambda about: about.update(scheme="mixup"),
        lambda about: about.update(classes="abcde"),
        lambda about: about.update(classes=[]),
        lambda about: about.update(classes={}),
        lambda about: about["scheme"].update(mechanism=[]),
        lambda about: about["scheme"].update(largest=10**400),
        lambda about: about["scheme"].update(k=-5),
        lambda about: about["scheme"].update(k=10**18),
        lambda about: about["scheme"].update(k=GEOMETRY),
        lambda about: about.update(scheme={"mechanism": "augmented", "scheme": GEOMETRY, "geometry": GEOMETRY}),
        lambda about: about.update(
            scheme={"mechanism": "augmented", "scheme": about["scheme"], "geometry": about["scheme"]}
        ),
        lambda about: about.update(scheme=nested(400, about["scheme"])),
        lambda about: about["normalisation"].update(std=[-1.0, 1.0, 1.0]),
        lambda about: about["normalisation"].update(mean=[]),
        lambda about: about.update(comment="made at St. Mary's"),
        lambda about: about["shards"][0].update(file="../secret"),
        lambda about: about["normalisation"].update(extra=1),
        lambda about: about.update(public={"images": 3, "blake3": "0", "address": "/home"}),
        lambda about: about.update(public=[3]),
        lambda about: about.update(shards={"rows": 40}),
        lambda about: about.update(given_away=["masks"]),
        lambda about: about.update(given_away=[[]]),
    ],
)
def test_a_release_json_that_lies_is_refused(release: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    _edit(release, change)
    with pytest.raises(BadInput):
        read_release(release)


def test_a_release_json_that_says_something_twice_is_refused(release: Path) -> None:
    path = release / "release.json"
    path.write_text(path.read_text().replace('"rows": 40', '"rows": 40, "rows": 40', 1))
    with pytest.raises(BadInput, match=r"release\.json is damaged"):
        read_release(release)


@pytest.mark.parametrize("name", ["release.json", "encoded-00000.safetensors"])
def test_a_pipe_in_the_place_of_a_file_is_refused_at_once(release: Path, name: str) -> None:
    (release / name).unlink()
    os.mkfifo(release / name)
    with pytest.raises(BadInput):
        read_release(release)


def test_a_shard_that_is_longer_than_it_says_is_not_read(release: Path) -> None:
    with (release / "encoded-00000.safetensors").open("r+b") as file:
        file.truncate(1 << 40)
    with pytest.raises(BadInput, match="longer than"):
        read_release(release)


@pytest.mark.parametrize("text", ["", "[" * 100_000, "9" * 5_000, "{", "[]", "null", '"x"', "\udcff"])
def test_a_release_json_that_is_none_is_refused(release: Path, text: str) -> None:
    (release / "release.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(BadInput, match=r"release.json"):
        read_release(release)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda images, _: images[3, 0, 0].fill_(torch.nan), "not finite"),
        (lambda images, _: images[3, 0, 0].fill_(torch.inf), "not finite"),
        (lambda _, labels: labels[2, 1].fill_(-0.1), "negative"),
        (lambda _, labels: labels[2].fill_(0.3), "sum to more than 1"),
    ],
)
def test_numbers_that_no_honest_party_sends_are_refused(release: Path, spoil: Any, sentence: str) -> None:
    shard = release / "encoded-00000.safetensors"
    tensors = load_file(shard)
    spoil(tensors["images"], tensors["labels"])
    save_file(tensors, shard)
    digest = blake3(shard.read_bytes()).hexdigest()
    _edit(release, lambda about: about["shards"][0].update(blake3=digest))
    with pytest.raises(BadInput, match=sentence):
        read_release(release)


@pytest.mark.parametrize(
    "tensors",
    [
        {"images": torch.zeros(40, 3, 7, 5)},
        {"images": torch.zeros(40, 3, 7, 5), "labels": torch.zeros(40, 5), "mask": torch.zeros(1)},
        {"images": torch.zeros(40, 3, 7, 5).double(), "labels": torch.zeros(40, 5)},
    ],
)
def test_shards_of_another_form_are_refused(release: Path, tensors: dict[str, torch.Tensor]) -> None:
    shard = release / "encoded-00000.safetensors"
    save_file(tensors, shard)
    digest = blake3(shard.read_bytes()).hexdigest()
    _edit(release, lambda about: about["shards"][0].update(blake3=digest))
    with pytest.raises(BadInput):
        read_release(release)


@pytest.mark.parametrize(("name", "value"), [("sources", -5), ("sources", 2**40), ("weights", -0.1), ("weights", 2.0)])
def test_what_a_stranger_gives_away_is_checked(tmp_path: Path, name: str, value: float) -> None:
    give_away: tuple[Revealed, ...] = ("sources", "weights")
    write_release(ENCODERS["mixup"], toys.named(), None, secure(), tmp_path / "out", give_away=give_away)
    shard = tmp_path / "out" / "encoded-00000.safetensors"
    tensors = load_file(shard)
    tensors[name][0, 0] = value
    save_file(tensors, shard)
    about = json.loads((tmp_path / "out" / "release.json").read_text())
    about["shards"][0]["blake3"] = blake3(shard.read_bytes()).hexdigest()
    (tmp_path / "out" / "release.json").write_text(json.dumps(about))
    with pytest.raises(BadInput, match="do not use this release"):
        read_release(tmp_path / "out")
