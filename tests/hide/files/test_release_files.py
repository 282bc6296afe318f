"""Releases on disk: what is in them, and what is not."""

import dataclasses
import json
import subprocess
import sys
import textwrap
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import toys
from hideseek.chance import secure, seeded
from hideseek.errors import BadInput
from hideseek.hide import ENCODERS, Augmented
from hideseek.hide.files.release_checks import Revealed
from hideseek.hide.files.release_files import read_release, release_digest, with_public, write_release
from hideseek.hide.files.secret_files import read_secret

ALL = {**ENCODERS, "augmented": Augmented(ENCODERS["instahide-cross"])}


@pytest.fixture
def shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards so small that a toy has several."""
    monkeypatch.setattr("hideseek.hide.files.shards.SHARD", 4096)
    monkeypatch.setattr("hideseek.hide.mixing.follow.BLOCK", 500)


@pytest.mark.usefixtures("shards")
@pytest.mark.parametrize("name", ALL)
def test_what_is_read_is_what_hide_gives(name: str, tmp_path: Path) -> None:
    public = toys.images(9, seed=1)
    write_release(ALL[name], toys.named(), public, seeded(3), tmp_path / "out", tmp_path / "secret")
    expected, truth = ALL[name].hide(toys.named(), public, seeded(3))
    read = read_release(tmp_path / "out")
    assert len(list((tmp_path / "out").glob("*.safetensors"))) > 3
    assert torch.equal(read.encoded.images, expected.encoded.images)
    assert torch.equal(read.encoded.labels, expected.encoded.labels)
    assert read.scheme == expected.scheme
    assert read.encoded.classes == toys.named().classes
    assert read.encoded.normalisation == toys.named().normalisation
    assert read.seed == 3
    kept = read_secret(tmp_path / "secret", release_digest(tmp_path / "out"))
    for field in ("sources", "public_sources", "weights", "mask", "transforms"):
        one, other = getattr(kept, field), getattr(truth, field)
        assert one is other is None or torch.equal(one, other)
    assert torch.equal(kept.private.pixels(), truth.private.pixels())
    assert torch.equal(kept.private.labels, truth.private.labels)
    assert kept.private.classes == toys.named().classes


def test_a_release_tells_nothing_else(tmp_path: Path) -> None:
    public = toys.images(9, seed=1)
    write_release(ENCODERS["instahide-cross"], toys.named(), public, secure(), tmp_path / "out", tmp_path / "secret")
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


def test_an_empty_set_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="at least two images"):
        write_release(ENCODERS["mixup"], toys.named().take(slice(0, 0)), None, secure(), tmp_path / "out")


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
    arguments = (ENCODERS["singularized-mixup"], toys.named(), None)
    give_away: tuple[Revealed, ...] = ("sources", "weights")
    write_release(*arguments, seeded(1), tmp_path / "out", tmp_path / "secret", rounds=3, give_away=give_away)
    release = read_release(tmp_path / "out")
    truth = read_secret(tmp_path / "secret", release_digest(tmp_path / "out"))
    count = len(toys.named())
    assert release.rounds == 3
    assert len(release.encoded) == 3 * count
    assert release.weights is not None
    assert release.sources is not None
    assert torch.equal(release.weights, truth.weights)
    assert torch.equal(release.sources, truth.sources)
    for start in range(0, 3 * count, count):  # every image is first in one row of every round
        assert sorted(release.sources[start : start + count, 0].tolist()) == list(range(count))
    in_memory, _ = ENCODERS["singularized-mixup"].hide(toys.named(), None, seeded(1), rounds=3)
    assert torch.equal(in_memory.encoded.images, release.encoded.images)
    assert in_memory.rounds == 3


def test_no_round_is_one_sentence() -> None:
    with pytest.raises(BadInput, match="one round or more"):
        ENCODERS["mixup"].hide(toys.named(), None, secure(), rounds=0)


def test_only_the_public_images_that_were_mixed_in_are_put_beside_a_release(tmp_path: Path) -> None:
    constants = toys.named().normalisation
    public, others, larger = (
        dataclasses.replace(images, normalisation=constants)
        for images in (toys.images(9, seed=1), toys.images(9, seed=2), toys.images(9, height=9, seed=1))
    )
    write_release(ENCODERS["instahide-cross"], toys.named(), public, secure(), tmp_path / "out")
    release = read_release(tmp_path / "out")
    assert with_public(release, tmp_path / "out", public).public is public
    with pytest.raises(BadInput, match="not the 9 public images"):
        with_public(release, tmp_path / "out", others)
    with pytest.raises(BadInput, match="cannot be in a release of"):
        with_public(release, tmp_path / "out", larger)
    with pytest.raises(BadInput, match="normalised otherwise"):
        with_public(release, tmp_path / "out", toys.images(9, seed=1))
    write_release(ENCODERS["mixup"], toys.named(), None, secure(), tmp_path / "inside")
    with pytest.raises(BadInput, match="no public images were mixed"):
        with_public(release, tmp_path / "inside", public)


@pytest.mark.parametrize("rounds", [10**12, 10**30])
def test_a_release_that_fits_nowhere_is_refused_with_its_size(tmp_path: Path, rounds: int) -> None:
    size = r"[\d,]{5,}\.\d TB"
    with pytest.raises(BadInput, match=rf"no room for the release .*: it takes {size}, and .* are free; hide in fewer"):
        write_release(ENCODERS["mixup"], toys.named(), None, secure(), tmp_path / "out", rounds=rounds)
    with pytest.raises(BadInput, match=rf"the release needs {size} of memory"):
        ENCODERS["mixup"].hide(toys.named(), None, secure(), rounds)
    assert not list(tmp_path.iterdir())


def test_keys_that_do_not_fit_into_memory_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hideseek.files.room.shutil.disk_usage", lambda _: Mock(free=10**30))
    with pytest.raises(BadInput, match=r"who is mixed with whom in [\d,]+ rows needs [\d,.]+ TB of memory"):
        write_release(ENCODERS["mixup"], toys.named(), None, secure(), tmp_path / "out", rounds=10**12)
