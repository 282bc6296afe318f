"""Releases on disk: what is in them, what is not, and what is refused."""

import dataclasses
import json
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from blake3 import blake3
from safetensors.torch import load_file, save_file

import toys
from hideseek.chance import secure, seeded
from hideseek.errors import BadInput
from hideseek.hide import ENCODERS, Augmented
from hideseek.hide.files import release_files
from hideseek.hide.files.release_files import Revealed, read_release, release_digest, with_public, write_release
from hideseek.hide.files.schemes import MECHANISMS, from_json, to_json
from hideseek.hide.files.secret_files import read_secret
from hideseek.records import Normalisation, Samples

ALL = {**ENCODERS, "augmented": Augmented(ENCODERS["instahide-cross"])}


@pytest.fixture
def shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards so small that a toy has several."""
    monkeypatch.setattr(release_files, "SHARD", 4096)
    monkeypatch.setattr("hideseek.hide.mixing.follow.BLOCK", 500)


def private(count: int = 40) -> Samples:
    named = dataclasses.replace(toys.images(count), classes=("a", "b", "c", "d", "ë"))
    return dataclasses.replace(named, normalisation=Normalisation("channel", (0.1, 0.2, 0.3), (1.0, 1.5, 2.0)))


@pytest.mark.usefixtures("shards")
@pytest.mark.parametrize("name", ALL)
def test_what_is_read_is_what_hide_gives(name: str, tmp_path: Path) -> None:
    public = toys.images(9, seed=1)
    write_release(ALL[name], private(), public, seeded(3), tmp_path / "out", tmp_path / "secret")
    expected, truth = ALL[name].hide(private(), public, seeded(3))
    read = read_release(tmp_path / "out")
    assert len(list((tmp_path / "out").glob("*.safetensors"))) > 3
    assert torch.equal(read.encoded.images, expected.encoded.images)
    assert torch.equal(read.encoded.labels, expected.encoded.labels)
    assert read.scheme == expected.scheme
    assert read.encoded.classes == private().classes
    assert read.encoded.normalisation == private().normalisation
    assert read.seed == 3
    kept = read_secret(tmp_path / "secret", release_digest(tmp_path / "out"))
    for field in ("sources", "public_sources", "weights", "mask", "transforms"):
        one, other = getattr(kept, field), getattr(truth, field)
        assert one is other is None or torch.equal(one, other)
    assert torch.equal(kept.private.pixels(), truth.private.pixels())
    assert torch.equal(kept.private.labels, truth.private.labels)
    assert kept.private.classes == private().classes


def test_a_release_tells_nothing_else(tmp_path: Path) -> None:
    public = toys.images(9, seed=1)
    write_release(ENCODERS["instahide-cross"], private(), public, secure(), tmp_path / "out", tmp_path / "secret")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["encoded-00000.safetensors", "release.json"]
    about = json.loads((tmp_path / "out" / "release.json").read_text())
    assert set(about) == {
        *("format", "scheme", "rows", "rounds", "shape", "classes", "normalisation", "public", "reproducible"),
        *("given_away", "shards"),
    }
    assert about["given_away"] == []
    assert about["reproducible"] is False
    assert set(about["shards"][0]) == {"rows", "blake3"}
    assert set(load_file(tmp_path / "out" / "encoded-00000.safetensors")) == {"images", "labels"}
    secret = read_secret(tmp_path / "secret", release_digest(tmp_path / "out"))
    assert secret.mask is not None
    everything = b"".join(path.read_bytes() for path in (tmp_path / "out").iterdir())
    for tensor in (secret.sources, secret.public_sources, secret.weights, secret.mask):
        assert tensor.numpy().tobytes() not in everything
        assert tensor[0].numpy().tobytes() not in everything
    for image in secret.private.images:
        assert image.numpy().tobytes() not in everything


def test_the_secret_is_for_its_owner_and_never_inside_the_release(tmp_path: Path) -> None:
    mixup = ENCODERS["mixup"]
    write_release(mixup, private(), None, secure(), tmp_path / "out", tmp_path / "secret")
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600
    for inside in (
        tmp_path / "new" / "secret",
        tmp_path / "new" / "deep" / "secret",
        tmp_path / "other" / ".." / "new" / "s",
        tmp_path / ".new.partial" / "secret",
    ):
        with pytest.raises(BadInput, match="would be shared"):
            write_release(mixup, private(), None, secure(), tmp_path / "new", inside)
    with pytest.raises(BadInput, match="exists already"):
        write_release(mixup, private(), None, secure(), tmp_path / "new", tmp_path / "secret")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "secret"]


def test_what_a_killed_run_left_of_a_secret_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".secret.12345.partial").write_text("private images")
    write_release(ENCODERS["mixup"], private(), None, secure(), tmp_path / "out", tmp_path / "secret")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "secret"]


def test_no_secret_is_kept_of_a_release_that_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "no")

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(BadInput, match="may not be written"):
        write_release(ENCODERS["mixup"], private(), None, secure(), tmp_path / "out", tmp_path / "secret")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_set_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="at least two images"):
        write_release(ENCODERS["mixup"], private().take(slice(0, 0)), None, secure(), tmp_path / "out")


def test_a_secret_of_another_release_is_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_release(ENCODERS["mixup"], private(), None, secure(), tmp_path / name, tmp_path / f"{name}.secret")
    with pytest.raises(BadInput, match="belongs to another release"):
        read_secret(tmp_path / "one.secret", release_digest(tmp_path / "two"))
    (tmp_path / "one.secret").write_bytes(b"nothing")
    with pytest.raises(BadInput, match="not a secret"):
        read_secret(tmp_path / "one.secret", release_digest(tmp_path / "one"))


@pytest.fixture
def release(tmp_path: Path) -> Path:
    write_release(ENCODERS["instahide-inside"], private(), None, secure(), tmp_path / "out")
    return tmp_path / "out"


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
    ],
)
def test_a_release_json_that_lies_is_refused(release: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    _edit(release, change)
    with pytest.raises(BadInput):
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


def test_schemes_survive_json() -> None:
    seen = set()
    for scheme in ALL.values():
        described = json.loads(json.dumps(to_json(scheme)))
        assert from_json(described) == scheme
        seen.add(described["mechanism"])
    assert seen | {"geometry"} == set(MECHANISMS)


def test_memory_stays_bounded_however_large_the_set_is(tmp_path: Path) -> None:
    """A set of 96 MB on disk, encoded to 384 MB: what the process allocates stays far below either."""
    count = 31_250
    images = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.uint8, (count, 3, 32, 32))
    images[:] = np.random.default_rng(0).integers(0, 256, (count, 1, 1, 32), dtype=np.uint8)
    images.flush()
    script = textwrap.dedent("""
        import sys, threading, time
        from pathlib import Path
        import numpy as np, torch
        from hideseek.hide import ENCODERS
        from hideseek.hide.files.release_files import write_release
        from hideseek.chance import secure
        from hideseek.records import Samples

        def anonymous():
            return int(Path("/proc/self/status").read_text().split("RssAnon:")[1].split()[0]) / 1024

        folder = Path(sys.argv[1])
        images = torch.from_numpy(np.load(folder / "x.npy", mmap_mode="c"))
        private = Samples(images, torch.eye(10)[torch.arange(len(images)) % 10])
        ENCODERS["instahide-inside"].hide(private.take(slice(0, 50)), None, secure())  # compile first
        before, peak, done = anonymous(), [0.0], threading.Event()

        def watch():
            while not done.wait(0.005):
                peak[0] = max(peak[0], anonymous())

        watcher = threading.Thread(target=watch)
        watcher.start()
        write_release(ENCODERS["instahide-inside"], private, None, secure(), folder / "out", folder / "secret")
        done.set()
        watcher.join()
        print(peak[0] - before)
    """)
    if not Path("/proc/self/status").exists():
        pytest.skip("needs /proc to see the process's own memory")
    ran = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=True)
    assert float(ran.stdout) < 160, "MiB"
    assert len(read_release(tmp_path / "out").encoded) == count


def test_rounds_follow_each_other_and_what_is_given_away_is_read(tmp_path: Path) -> None:
    arguments = (ENCODERS["singularized-mixup"], private(), None)
    give_away: tuple[Revealed, ...] = ("sources", "weights")
    write_release(*arguments, seeded(1), tmp_path / "out", tmp_path / "secret", rounds=3, give_away=give_away)
    release = read_release(tmp_path / "out")
    truth = read_secret(tmp_path / "secret", release_digest(tmp_path / "out"))
    count = len(private())
    assert release.rounds == 3
    assert len(release.encoded) == 3 * count
    assert release.weights is not None
    assert release.sources is not None
    assert torch.equal(release.weights, truth.weights)
    assert torch.equal(release.sources, truth.sources)
    for start in range(0, 3 * count, count):  # every image is first in one row of every round
        assert sorted(release.sources[start : start + count, 0].tolist()) == list(range(count))
    in_memory, _ = ENCODERS["singularized-mixup"].hide(private(), None, seeded(1), rounds=3)
    assert torch.equal(in_memory.encoded.images, release.encoded.images)
    assert in_memory.rounds == 3


def test_no_round_is_one_sentence() -> None:
    with pytest.raises(BadInput, match="one round or more"):
        ENCODERS["mixup"].hide(private(), None, secure(), rounds=0)


def test_only_the_public_images_that_were_mixed_in_are_put_beside_a_release(tmp_path: Path) -> None:
    constants = private().normalisation
    public, others, larger = (
        dataclasses.replace(images, normalisation=constants)
        for images in (toys.images(9, seed=1), toys.images(9, seed=2), toys.images(9, height=9, seed=1))
    )
    write_release(ENCODERS["instahide-cross"], private(), public, secure(), tmp_path / "out")
    release = read_release(tmp_path / "out")
    assert with_public(release, tmp_path / "out", public).public is public
    with pytest.raises(BadInput, match="not the 9 public images"):
        with_public(release, tmp_path / "out", others)
    with pytest.raises(BadInput, match="cannot be in a release of"):
        with_public(release, tmp_path / "out", larger)
    with pytest.raises(BadInput, match="normalised otherwise"):
        with_public(release, tmp_path / "out", toys.images(9, seed=1))
    write_release(ENCODERS["mixup"], private(), None, secure(), tmp_path / "inside")
    with pytest.raises(BadInput, match="no public images were mixed"):
        with_public(release, tmp_path / "inside", public)


@pytest.mark.parametrize(("name", "value"), [("sources", -5), ("sources", 2**40), ("weights", -0.1), ("weights", 2.0)])
def test_what_a_stranger_gives_away_is_checked(tmp_path: Path, name: str, value: float) -> None:
    give_away: tuple[Revealed, ...] = ("sources", "weights")
    write_release(ENCODERS["mixup"], private(), None, secure(), tmp_path / "out", give_away=give_away)
    shard = tmp_path / "out" / "encoded-00000.safetensors"
    tensors = load_file(shard)
    tensors[name][0, 0] = value
    save_file(tensors, shard)
    about = json.loads((tmp_path / "out" / "release.json").read_text())
    about["shards"][0]["blake3"] = blake3(shard.read_bytes()).hexdigest()
    (tmp_path / "out" / "release.json").write_text(json.dumps(about))
    with pytest.raises(BadInput, match="do not use this release"):
        read_release(tmp_path / "out")
