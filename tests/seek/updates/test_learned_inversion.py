"""Learning from own updates: it tells defended images, plans its work, and refuses what it cannot learn from."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide import InstaHide
from hideseek.hide.updates import GradientNoise, GradientPruning, ShareUpdates, Sign
from hideseek.records import Reason, Refusal, Samples
from hideseek.records.defence import Defence
from hideseek.records.update_release import UpdateRelease
from hideseek.seek import ATTACKS, refusal, run
from hideseek.seek.updates import learned_inversion
from hideseek.seek.updates.learned_inversion import LearnedInversion


@pytest.fixture(scope="module")
def faces() -> Samples:
    return normalise(load("faces", size=12), "channel")


def shared(scheme: ShareUpdates, faces: Samples) -> tuple[UpdateRelease, torch.Tensor]:
    release, secret = scheme.hide(faces.take(slice(0, 8)), None, seeded(1))
    held = secret.holds(torch.arange(len(release.updates)))[:, 0]
    return replace(release, own=faces.take(slice(40, 160))), faces.pixels(held)


@pytest.mark.parametrize("defence", [GradientPruning(0.9), Sign(), GradientNoise(noise=0.001)])
@pytest.mark.parametrize("few", [False, True])
def test_it_errs_less_than_the_mean_image(
    defence: Defence, few: bool, faces: Samples, monkeypatch: pytest.MonkeyPatch
) -> None:
    if few:
        monkeypatch.setattr(learned_inversion, "FEATURES", 2000)
    release, truth = shared(ShareUpdates("lenet", defences=(defence,)), faces)
    evidence = run(LearnedInversion(), release, seeded(2))
    claim: Any = evidence.claims[0]
    assert release.own is not None
    mean = release.own.pixels().mean(0)
    assert float((claim.images - truth).square().mean()) < 0.8 * float((mean - truth).square().mean())
    left_out, of_mean = (evidence.remarks[name] for name in list(evidence.remarks)[1:])
    assert left_out < 0.8 * of_mean
    assert evidence.remarks["own images"] == 120


def test_images_without_labels_are_learned_from(faces: Samples) -> None:
    release, truth = shared(ShareUpdates("lenet", defences=(GradientPruning(0.9),)), faces)
    assert release.own is not None
    own = replace(release.own, labels=torch.zeros(len(release.own), 0), classes=())
    claim: Any = run(LearnedInversion(), replace(release, own=own), seeded(2)).claims[0]
    assert float((claim.images - truth).square().mean()) < 0.8 * float((own.pixels().mean(0) - truth).square().mean())


def test_refusals(faces: Samples) -> None:
    release, _ = shared(ShareUpdates("lenet"), faces)
    several, _ = shared(ShareUpdates("lenet", batch=2), faces)
    encoded, _ = shared(ShareUpdates("lenet", encoding=InstaHide(k=2)), faces)
    assert release.own is not None
    unlabelled = replace(release.own, labels=torch.zeros(len(release.own), 0), classes=())
    cases: list[tuple[UpdateRelease, Reason | None]] = [
        (release, None),
        (several, Reason.SEVERAL_IMAGES),
        (encoded, Reason.ENCODED_IMAGES),
        (replace(release, own=None), Reason.NO_OWN_IMAGES),
        (replace(release, own=release.own.take(slice(0, 10))), Reason.TOO_FEW_OWN_IMAGES),
        (replace(release, own=normalise(load("faces", size=8), "channel")), Reason.UNSUITED_OWN_IMAGES),
        (replace(release, own=unlabelled), None),  # labels are drawn
    ]
    for given, reason in cases:
        found = refusal(LearnedInversion(), given)
        assert (found and found.reason) == reason
    own_prior = ATTACKS["gradient-matching-own"]
    for given, reason in (cases[4], cases[5]):
        found = refusal(own_prior, given)
        assert found is not None
        assert found.reason == reason
    assert refusal(own_prior, replace(release, own=None)) is not None


def test_less_work_learns_from_fewer_images(faces: Samples) -> None:
    release, _ = shared(ShareUpdates("lenet"), faces)
    task = replace(release.size(), own=10_000)
    whole = LearnedInversion().work(task)
    fitted = LearnedInversion().within(whole / 10, task)
    assert 50 < fitted.images < 4000
    assert fitted.work(task) <= whole / 10


def test_what_is_no_number_is_refused_by_all_attacks_in_one_sentence(faces: Samples) -> None:
    """NaN in one tensor of one update, for attacks that learn, decode, and read an imprint."""
    plain, _ = shared(ShareUpdates("lenet"), faces)
    mixed, secret = ShareUpdates("lenet", encoding=InstaHide(k=2)).hide(faces.take(slice(0, 8)), None, seeded(1))
    given = {name: mixed for name in ATTACKS if name.startswith("decode-")}
    assert len(given) >= 2
    for name, release in {**given, "learned-inversion": plain}.items():
        known = secret.reveal(release, ATTACKS[name].needs) if release is mixed else release
        bad = {**known.updates[1], "head.bias": torch.full_like(known.updates[1]["head.bias"], torch.nan)}
        spoilt = replace(known, updates=(known.updates[0], bad, *known.updates[2:]))
        assert refusal(ATTACKS[name], spoilt) == Refusal(Reason.NOT_FINITE, {"number": 1, "name": "head.bias"}), name
