"""Rows are the same bytes in fresh memory and in a caller's buffer, and a buffer that will not do is refused."""

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import toys
from hideseek.chance import secure, seeded
from hideseek.errors import BadInput
from hideseek.hide import ENCODERS, InstaHide
from hideseek.hide.mixing.buffers import LINE, Buffer, fresh
from hideseek.records import CutFrom, Samples

MANY = 3000  # of 3×32×32: more than two blocks
SHAPE = (24, 3, 7, 5)


def digest(*tensors: torch.Tensor | None) -> str:
    total = hashlib.sha256()
    for tensor in tensors:
        if tensor is not None:
            total.update(tensor.contiguous().numpy().tobytes())
    return total.hexdigest()[:16]


@pytest.mark.parametrize(
    ("name", "keys"), [("instahide-inside", "df287e1448944b1d"), ("instahide-cross", "d3f94c0e11e46532")]
)
def test_a_seed_draws_what_it_always_drew(name: str, keys: str) -> None:
    """Releases of a seed are reproduced years later; pixels may differ in the last bit from processor to processor."""
    private, public = toys.images(MANY, 3, 32, 32), toys.images(900, 3, 32, 32, seed=1)
    release, secret = ENCODERS[name].hide(private, public, seeded(7), rounds=2)
    truth = (secret.sources, secret.public_sources, secret.weights, secret.mask)
    assert digest(*truth, release.encoded.labels) == keys


@pytest.mark.parametrize("name", ENCODERS)
def test_a_buffer_gets_the_same_bytes(name: str) -> None:
    private, public = toys.images(12), toys.images(9, seed=1)
    usual, truth = ENCODERS[name].hide(private, public, seeded(3), 2)
    for out in (torch.full(SHAPE, torch.nan), np.full(SHAPE, np.nan, np.float32)):
        release, secret = ENCODERS[name].hide(private, public, seeded(3), 2, out=out)
        written = torch.as_tensor(out)
        assert release.encoded.images.data_ptr() == written.data_ptr()
        assert written.numpy().tobytes() == usual.encoded.images.numpy().tobytes()
        assert torch.equal(release.encoded.labels, usual.encoded.labels)
        assert torch.equal(secret.sources, truth.sources)


def test_a_buffer_may_be_a_file(tmp_path: Path) -> None:
    out = np.lib.format.open_memmap(tmp_path / "rows.npy", "w+", np.float32, SHAPE)
    release, _ = InstaHide(k=3).hide(toys.images(24), None, seeded(1), out=out)
    out.flush()
    assert np.array_equal(np.load(tmp_path / "rows.npy"), release.encoded.images.numpy())
    assert np.isfinite(out).all()


def read_only() -> Buffer:
    array = np.zeros(SHAPE, np.float32)
    array.flags.writeable = False
    return array


BAD = {
    "is 23×3×7×5 of torch.float32: give 24×3×7×5 of float32": torch.zeros(23, *SHAPE[1:]),
    "is 24×105 of float32: give 24×3×7×5": np.zeros((24, 105), np.float32),
    "of torch.float64: give": torch.zeros(SHAPE, dtype=torch.float64),
    "of >f4: give": np.zeros(SHAPE, ">f4"),
    "is read-only: give one that may be written to": read_only(),
    "do not lie one after another: give one that torch.empty made": torch.zeros(1, *SHAPE[1:]).expand(SHAPE),
    "do not lie one after another: give one that numpy.empty made": np.zeros((48, *SHAPE[1:]), np.float32)[::2],
    "is on meta, and the images on cpu": torch.zeros(SHAPE, device="meta"),
    "is a list: give a torch tensor or a NumPy array": [0.0],
}


@pytest.mark.parametrize("message", BAD)
def test_a_bad_buffer_is_one_sentence(message: str) -> None:
    with pytest.raises(BadInput) as caught:
        InstaHide(k=3).hide(toys.images(24), None, secure(), out=BAD[message])  # type: ignore[arg-type]
    assert message in str(caught.value)
    assert str(caught.value).count(". ") == 0


def sets(where: str, memory: torch.Tensor) -> tuple[Samples, Samples]:
    """Private and public images, of which one thing lies in some memory."""
    private, public = toys.images(24, stored=False), toys.images(9, stored=False, seed=1)
    if where == "private":
        private = replace(private, images=memory[:24])
    if where == "later private":
        private = replace(private, images=memory[23:47])
    if where == "public":
        public = replace(public, images=memory[:9])
    if where == "labels":
        private = replace(private, labels=memory.view(-1)[: 24 * 5].view(24, 5))
    if where == "cut from":
        public = replace(public, cut_from=CutFrom(replace(public, images=memory[:9]), torch.arange(9)))
    return private, public


@pytest.mark.parametrize("where", ["private", "later private", "public", "labels", "cut from"])
def test_a_buffer_that_holds_the_images_is_refused_and_they_are_kept(where: str) -> None:
    memory = torch.rand(48, *SHAPE[1:])
    private, public = sets(where, memory)
    before = memory.clone()
    for out in (memory[:24], memory.numpy()[:24]):
        with pytest.raises(BadInput, match="the buffer lies where the images are, which rows would overwrite"):
            ENCODERS["instahide-cross"].hide(private, public, secure(), out=out)
    assert torch.equal(memory, before)


def test_a_buffer_beside_the_images_in_one_array_will_do() -> None:
    memory = torch.rand(48, *SHAPE[1:])
    private, before = replace(toys.images(24, stored=False), images=memory[24:]), memory[24:].clone()
    InstaHide(k=3).hide(private, None, secure(), out=memory[:24])
    assert torch.equal(memory[24:], before)


@pytest.mark.parametrize("shape", [(0, 3), (1,), (5, 1, 3, 3), (1 << 12, 1, 40, 40)])
def test_fresh_memory_begins_with_a_cache_line(shape: tuple[int, ...]) -> None:
    for dtype in (torch.float32, torch.uint8):
        array = fresh(shape, dtype, torch.device("cpu"))
        assert (tuple(array.shape), array.dtype) == (shape, dtype)
        assert array.data_ptr() % LINE == 0 or not array.numel()
