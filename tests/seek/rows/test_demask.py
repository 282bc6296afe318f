"""Restoring signs: on faces, on noise, and the parts of it against their definitions."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.errors import BadInput
from hideseek.hide import InstaHide, Mixup
from hideseek.records import EncodedRelease, Evidence, Masks, Reason, Refusal, Refused, Samples
from hideseek.records.mixing_secret import MixingSecret
from hideseek.seek import run
from hideseek.seek.rows.demask import Demask

QUICK = Demask(rows=3200)


@cache
def faces() -> tuple[Samples, Samples]:
    """Private images, and the attacker's own."""
    both = normalise(load("faces", size=16), "channel")
    order = seeded(5).permutation(len(both))
    return both.take(order[:40]), both.take(order[40:])


def noise(count: int, seed: int) -> Samples:
    values = np.random.default_rng(seed).standard_normal((count, 3, 16, 16), dtype=np.float32)
    return Samples(torch.from_numpy(values), torch.ones(count, 1))


def wrong(evidence: Evidence, secret: MixingSecret) -> float:
    """The share of guessed signs that are not the mask's."""
    (claim,) = evidence.claims
    assert isinstance(claim, Masks)
    return float((claim.signs != secret.signs()[claim.rows]).float().mean())


@cache
def attacked() -> tuple[EncodedRelease, MixingSecret, Evidence]:
    private, own = faces()
    release, secret = InstaHide(k=4).hide(private, None, seeded(0), rounds=2)
    release = replace(release, own=own)
    return release, secret, run(QUICK, release, seeded(1))


def test_signs_of_faces_are_restored() -> None:
    """A coin would have half of them wrong; here it is under 0.3, in 20,480 pixels of 80 rows, and he knows it."""
    _, secret, evidence = attacked()
    assert wrong(evidence, secret) < 0.3
    assert evidence.remarks["wrong signs"] < 0.3
    assert evidence.remarks["wrong signs by power"] < evidence.remarks["wrong signs"]
    # 131,072 held-out pixels: four deviations of a fair coin are 0.0055
    assert abs(evidence.remarks["wrong signs before"] - 0.5) < 0.0055


def test_noise_is_at_chance() -> None:
    """Changing the signs of one pixel in all images changes no |x̃|, so pixels are fair and independent.

    Whatever rows have in common, the share of 768 pixels deviates by at most ½/√768 = 0.018; four of it are 0.072.
    """
    release, secret = InstaHide(k=2).hide(noise(60, 1), None, seeded(0))
    evidence = run(replace(QUICK, rows=800), replace(release, own=noise(100, 2)), seeded(1))
    assert abs(wrong(evidence, secret) - 0.5) < 0.072
    assert abs(evidence.remarks["wrong signs"] - 0.5) < 0.072


def test_the_same_seed_gives_the_same_guess() -> None:
    release, _, _ = attacked()
    first, second = (run(Demask(rows=64, width=2, guesses=3), release, seeded(1)).claims[0] for _ in range(2))
    assert isinstance(first, Masks)
    assert isinstance(second, Masks)
    assert torch.equal(first.signs, second.signs)
    assert first.rows.tolist() == [0, 1, 2]


def refused(release: EncodedRelease, **changes: Any) -> Refusal:
    with pytest.raises(Refused) as error:
        run(QUICK, replace(release, **changes), seeded(0))
    return error.value.refusal


def test_what_cannot_be_attacked_is_refused() -> None:
    private, own = faces()
    release, _ = InstaHide(k=4).hide(private, None, seeded(0))
    plain, _ = Mixup(k=4).hide(private, None, seeded(0))
    assert refused(plain, own=own) == Refusal(Reason.NOT_MASKED)
    assert refused(release) == Refusal(Reason.NO_OWN_IMAGES)
    assert refused(release, own=own.take(slice(7))) == Refusal(Reason.TOO_FEW_OWN_IMAGES, {"given": 7, "wanted": 8})
    assert "12×12 with 1 channel" in str(refused(release, own=load("faces", size=12)))


@pytest.mark.parametrize(
    "settings",
    [{"rows": 15}, {"batch": 0}, {"width": 0}, {"guesses": 0}, {"rate": 0.0}, {"rate": np.inf}, {"adversarial": -1.0}],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="must"):
        Demask(**settings)
