"""Encodings that an attacker makes of images of his own."""

from dataclasses import replace
from functools import cache

import pytest
import torch

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide import InstaHide
from hideseek.records import Samples
from hideseek.seek.networks.own_encodings import own_encodings
from hideseek.seek.networks.restore_signs import RestoreSigns


@cache
def faces() -> tuple[Samples, Samples]:
    """Private images, and the attacker's own."""
    both = normalise(load("faces", size=16), "channel")
    order = seeded(5).permutation(len(both))
    return both.take(order[:40]), both.take(order[40:])


def test_own_encodings_are_what_the_scheme_makes_of_images_kept_apart() -> None:
    """Every image is lit in a place of its own, so a mixture tells which images are in it."""
    images = Samples(torch.eye(24).reshape(24, 1, 4, 6), torch.ones(24, 1))
    release, _ = InstaHide(k=2, k_private=1).hide(images, images, seeded(0))
    training, trial = own_encodings(release, rows=640, batch=8, chance=seeded(1))
    stand_ins = []
    for encodings in (training, trial):
        batches = list(encodings.epoch(0, 0))
        assert len(batches) == encodings.steps == 80
        assert torch.equal(list(encodings.epoch(0, 78))[1][0], batches[79][0])
        encoded, mixed = (torch.cat(parts) for parts in zip(*batches, strict=True))
        assert torch.equal(encoded.abs(), mixed)
        signs = encoded[mixed > 0].sign()
        assert abs(float(signs.mean())) < 4 / len(signs) ** 0.5  # fair coins
        torch.testing.assert_close(mixed.sum((1, 2, 3)), torch.ones(640))
        inside = mixed.flatten(1) > 0
        # every other image is mixed in, the others stand in for private ones: one of each kind is in a row
        assert (inside[:, ::2].sum(1) == 1).all()
        assert (inside[:, 1::2].sum(1) == 1).all()
        assert inside[:, 1::2].any(0).all()
        stand_ins.append(inside[:, ::2].any(0))
    assert (stand_ins[0] ^ stand_ins[1]).all()
    assert int(stand_ins[1].sum()) == 2


@pytest.mark.parametrize("own", [8, 16, 39])
def test_as_few_own_images_as_are_not_refused_will_do(own: int) -> None:
    """What `refuses` says is what can be run: with the least number of images, every batch can be made."""
    private, more = faces()
    release, _ = InstaHide(k=4).hide(private, None, seeded(0))
    release = replace(release, own=more.take(slice(own)))
    assert RestoreSigns().refuses(release) is None
    for encodings in own_encodings(release, rows=32, batch=16, chance=seeded(1)):
        assert len(list(encodings.epoch(0, 0))) == 2
