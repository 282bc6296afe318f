"""LPIPS against the network itself."""

import os
from pathlib import Path

import pytest
import torch

from hideseek.chance import seeded
from hideseek.models.lpips import enlarged, load_lpips
from hideseek.records import Reconstruction
from hideseek.records.mixing_secret import MixingSecret
from hideseek.records.result import Note, NoteKind
from hideseek.score.metrics import METRICS

DATA = Path(os.environ.get("HIDESEEK_DATA", "/nowhere"))


@pytest.mark.skipif(not (DATA / "lpips_alex.npz").is_file(), reason="HIDESEEK_DATA names no folder with LPIPS weights")
def test_lpips_is_given_the_right_range(secret: MixingSecret) -> None:
    few = Reconstruction(
        secret.private.pixels(slice(0, 3)) + seeded(1).normals(3, 3, 16, 16), torch.arange(3), "images"
    )
    raw = secret.private.images[few.about].double() / 255
    shown = (few.images.double() - secret.private.shift[..., None, None]) / secret.private.scale[..., None, None] / 255
    pair = [enlarged((image.clamp(0, 1) * 2 - 1).float()) for image in (raw, shown)]
    expected = load_lpips("alex")(*pair)
    torch.testing.assert_close(METRICS["lpips-alex"].score(few, secret), expected, rtol=1e-3, atol=1e-5)
    note = METRICS["lpips-alex"].note
    assert note is not None
    assert note(few, secret) == Note(NoteKind.ENLARGED, 16, 64)
