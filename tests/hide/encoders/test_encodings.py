"""Encodings in pieces, for training on the fly."""

import pytest
import torch

import toys
from hideseek.chance import secure, seeded
from hideseek.hide import ENCODERS, InstaHide


@pytest.mark.parametrize("name", ENCODERS)
def test_pieces_are_whole(name: str) -> None:
    private, public = toys.images(50), toys.images(30, seed=1)
    pieces = list(ENCODERS[name].encodings(private, public, secure(), 16))
    assert [len(piece) for piece in pieces] == [16, 16, 16, 2]
    labels = torch.cat([piece.labels for piece in pieces])
    images = torch.cat([piece.images for piece in pieces])
    assert images.shape == private.images.shape
    assert images.isfinite().all()
    if ENCODERS[name].label_kind == "noisy":  # any numbers
        return
    mass = labels.sum(1)
    least = {"mixup-cross": 0.0, "instahide-cross": 0.3}.get(name, 1.0)  # public images have no labels
    assert (mass > least - 1e-5).all()
    assert (mass < 1 + 1e-5).all()
    assert labels.sum(0).min() > (1 if "cross" in name else 5)  # of ten images each: every class is in it


def test_pieces_are_what_hide_makes() -> None:
    """In one piece, the same stream gives the same rows."""
    private = toys.images(40)
    release, _ = InstaHide().hide(private, None, seeded(3))
    (piece,) = InstaHide().encodings(private, None, seeded(3), 40)
    torch.testing.assert_close(piece.images, release.encoded.images)
    torch.testing.assert_close(piece.labels, release.encoded.labels)
