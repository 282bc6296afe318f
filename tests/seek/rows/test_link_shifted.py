"""Moved images: what the attack refuses, its settings, and that schemes say how they move images."""

from dataclasses import replace

import pytest
import torch

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide import Augmented, Geometry, InstaHide, Laplace, Mixup
from hideseek.records import Movement, Reason, Reconstruction, Refusal
from hideseek.seek import run
from hideseek.seek.rows.link_shifted import LinkShifted
from toys import images, patterns

QUICK = LinkShifted(seeds=2, restarts=2, steps=5, refits=1)


def test_settings_that_cannot_be() -> None:
    for settings in ({"seeds": 0}, {"restarts": 0}, {"steps": 0}, {"refits": -1}):
        with pytest.raises(BadInput, match="1 or more"):
            LinkShifted(**settings)


def test_what_was_not_moved_is_for_other_attacks() -> None:
    release, _ = InstaHide(k=2).hide(patterns(8), None, seeded(0), 2)
    assert LinkShifted().refuses(release) == Refusal(Reason.NOT_MOVED)
    alone, _ = Augmented(Laplace(scale=0.1)).hide(patterns(8), None, seeded(0))
    assert LinkShifted().refuses(alone) == Refusal(Reason.NO_COMMON_IMAGES)


def test_features_have_no_places() -> None:
    release, _ = Augmented(Mixup(k=2)).hide(images(8, 30, 1, 1, stored=False), None, seeded(0), 2)
    assert LinkShifted().refuses(release) == Refusal(Reason.NO_PLACES)


def test_schemes_say_how_they_move_images() -> None:
    assert InstaHide().movement == Movement(0.0, False)
    assert not InstaHide().moves
    scheme = Augmented(InstaHide(), Geometry(shift=0.1, crop=0.8, flip=True))
    assert scheme.moves
    assert scheme.movement == Movement(pytest.approx(0.2), True)  # type: ignore[arg-type]
    moved = [each for each in scheme.weak_cases(patterns(8), seeded(0)) if each.moves]  # type: ignore[attr-defined]
    assert moved
    assert all(isinstance(each, Augmented) for each in moved)


@pytest.mark.parametrize("labels", ["none", "one class", "mass above one", "zeros"])
def test_labels_of_any_kind(labels: str) -> None:
    release, _ = Augmented(InstaHide(k=2), Geometry(shift=0.1)).hide(patterns(8), None, seeded(0), 3)
    given = release.encoded.labels
    changed = {
        "none": given[:, :0],
        "one class": torch.ones(len(given), 1),
        "mass above one": 3 * given,
        "zeros": torch.zeros_like(given),
    }[labels]
    try:
        evidence = run(QUICK, replace(release, encoded=replace(release.encoded, labels=changed)), seeded(1))
    except BadInput as refused:
        assert "\n" not in str(refused)  # noqa: PT017 (either is right)
    else:
        claim = evidence.claims[0]
        assert isinstance(claim, Reconstruction)
        assert claim.finite()
