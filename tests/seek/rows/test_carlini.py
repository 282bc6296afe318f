"""Carlini et al.: what the attack refuses, and its settings."""

from dataclasses import replace

import pytest
import torch

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide import InstaHide, Mixup
from hideseek.records import Links, Reason, Reconstruction, Refusal
from hideseek.seek import run
from hideseek.seek.rows.carlini import Carlini
from toys import images, patterns

QUICK = Carlini(steps=2, seeds=2, solve_steps=3)


@pytest.mark.parametrize("setting", ["steps", "seeds", "solve_steps"])
def test_settings_that_cannot_be(setting: str) -> None:
    with pytest.raises(BadInput, match="1 or more"):
        Carlini(**{setting: 0})  # type: ignore[arg-type]


def test_what_it_refuses() -> None:
    plain, _ = Mixup(k=2).hide(patterns(8), None, seeded(0), 2)
    assert Carlini().refuses(plain) == Refusal(Reason.NOT_MASKED)
    features, _ = InstaHide(k=2).hide(images(8, 30, 1, 1, stored=False), None, seeded(0), 2)
    assert Carlini().refuses(features) == Refusal(Reason.NO_PLACES)
    bare, _ = InstaHide(k=2).hide(patterns(8), None, seeded(0), 2)
    assert Carlini().refuses(bare) == Refusal(Reason.NO_OWN_IMAGES)


@pytest.mark.parametrize("mixed_in", [False, True])
def test_it_claims_images_and_links(mixed_in: bool) -> None:
    others = replace(patterns(40, seed=1), labels=torch.empty(40, 0), classes=())
    scheme = InstaHide(k=3, k_private=2) if mixed_in else InstaHide(k=2)
    release, _ = scheme.hide(patterns(8), others if mixed_in else None, seeded(0), 3)
    evidence = run(QUICK, replace(release, own=others), seeded(1))
    guesses, links = evidence.claims
    assert isinstance(guesses, Reconstruction)
    assert isinstance(links, Links)
    assert guesses.images.shape == (8, *release.encoded.shape)
    assert len(links.first) == 24 * 23
    again = run(QUICK, replace(release, own=others), seeded(1)).claims[0]
    torch.testing.assert_close(guesses.images, again.images)  # type: ignore[attr-defined]
