"""Training a network that restores signs."""

from dataclasses import replace
from functools import cache

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide import InstaHide
from hideseek.records import Samples
from hideseek.seek.networks.restore_signs import RestoreSigns


@cache
def faces() -> tuple[Samples, Samples]:
    """Private images, and the attacker's own."""
    both = normalise(load("faces", size=16), "channel")
    order = seeded(5).permutation(len(both))
    return both.take(order[:40]), both.take(order[40:])


def test_it_trains_against_a_discriminator_too() -> None:
    private, own = faces()
    release, _ = InstaHide(k=4).hide(private, None, seeded(0))
    assert RestoreSigns(rows=1600, adversarial=0.1).train(replace(release, own=own), seeded(1)).wrong < 0.45


def test_public_images_that_are_larger_are_cut() -> None:
    private, _ = faces()
    public = normalise(load("faces", labelled=False), private.normalisation)  # 25 × 25
    release, _ = InstaHide(k=3, k_private=2).hide(private, private, seeded(0))
    restore = RestoreSigns(rows=64, width=2).train(replace(release, public=public), seeded(1))
    assert 0 < restore.wrong < 1
