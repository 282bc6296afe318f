"""Settings are searched for on own images, kept, and told; the truth has no part in it."""

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide import InstaHide
from hideseek.hide.updates import GradientPruning, ShareUpdates
from hideseek.records import Reason, Samples
from hideseek.records.update_release import UpdateRelease
from hideseek.seek import refusal, run
from hideseek.seek.systems.matching_loop import Adam, Lbfgs
from hideseek.seek.updates import tuned_matching
from hideseek.seek.updates.gradient_matching import GradientMatching
from hideseek.seek.updates.tuned_matching import TunedMatching, own_release

TUNED = TunedMatching(GradientMatching(optimiser=Adam(12), peel=0), trials=6, batches=2)


@pytest.fixture(autouse=True)
def cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.fixture(scope="module")
def faces() -> Samples:
    return normalise(load("faces", size=8), "channel")


def shared(faces: Samples, images: slice, scheme: ShareUpdates | None = None) -> UpdateRelease:
    scheme = scheme or ShareUpdates("lenet", batch=2, defences=(GradientPruning(0.5),))
    scheme = scheme.with_estimates(faces, None, seeded(1))
    return replace(scheme.hide(faces.take(images), None, seeded(1))[0], own=faces.take(slice(100, 140)))


def test_a_second_release_of_the_scheme_is_not_searched_for(faces: Samples, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run(TUNED, shared(faces, slice(0, 2)), seeded(2)).remarks
    assert first["trials of this run"] == len(first["trials"]) == 6
    assert set(first["chosen"]) == {"total variation", "rate", "relax", "balance"}
    present = first["trials"][0]
    assert (present["total variation"], present["balance"]) == (0.03, 0.5)  # the attack's own settings
    whole = [each for each in first["trials"] if not each["stopped"]]
    best = max(whole, key=lambda each: each["quality"])
    assert best["rate"] == pytest.approx(first["chosen"]["rate"], rel=1e-3)
    monkeypatch.delattr(tuned_matching, "own_release")  # no search can be made
    second = run(TUNED, shared(faces, slice(10, 12)), seeded(2)).remarks
    assert second["trials of this run"] == 0
    assert second["chosen"] == first["chosen"]
    with pytest.raises(NameError):
        run(replace(TUNED, trials=5), shared(faces, slice(10, 12)), seeded(2))


def test_the_release_has_no_part_in_the_search(faces: Samples) -> None:
    release = shared(faces, slice(0, 2))
    found = TUNED._searched(TUNED.attack, release, seeded(3))
    assert TUNED._searched(TUNED.attack, release.as_noise(seeded(4)), seeded(3)) == found


def test_own_updates_are_as_those_of_the_release(faces: Samples) -> None:
    release = replace(shared(faces, slice(0, 2)), labels=(torch.zeros(2, 1),))
    own, truth = own_release(release, 3, seeded(3))
    assert len(own.updates) == len(truth) == 3
    assert own.sizes == (2, 2, 2)
    assert own.labels is not None
    assert own.own is not None
    assert len(own.own) == 34  # without those that are shared
    assert own.updates[0].keys() == release.updates[0].keys()
    share = float((own.updates[0]["head.weight"] == 0).float().mean())
    assert share == pytest.approx(0.5, abs=0.01)


def test_other_optimisers_and_statistics_have_their_own_settings(faces: Samples) -> None:
    attack = GradientMatching(optimiser=Lbfgs(3), statistics="own", peel=0)
    remarks: Any = run(replace(TUNED, attack=attack, trials=4), shared(faces, slice(0, 2)), seeded(2)).remarks
    assert set(remarks["chosen"]) == {"total variation", "statistics weight", "balance"}


def test_a_damaged_cache_is_searched_again(faces: Samples, tmp_path: Path) -> None:
    attack = replace(TUNED, attack=replace(TUNED.attack, optimiser=Adam(2)), trials=4)
    release = shared(faces, slice(0, 2))
    run(attack, release, seeded(2))
    (kept,) = (tmp_path / "hideseek" / "tuned").iterdir()
    kept.write_text("{")
    assert run(attack, release, seeded(2)).remarks["trials of this run"] == 4


def test_refusals(faces: Samples, monkeypatch: pytest.MonkeyPatch) -> None:
    release = shared(faces, slice(0, 2))
    encoded = shared(faces, slice(0, 2), ShareUpdates("lenet", encoding=InstaHide(k=2)))
    assert release.own is not None
    few = replace(release, own=release.own.take(slice(0, 5)))
    for given, reason in (
        (release, None),
        (replace(release, own=None), Reason.NO_OWN_IMAGES),
        (few, Reason.TOO_FEW_OWN_IMAGES),
        (encoded, Reason.ENCODED_IMAGES),
    ):
        found = refusal(TUNED, given)
        assert (found and found.reason) == reason
    monkeypatch.setattr(tuned_matching, "find_spec", lambda name: None)
    found = refusal(TUNED, release)
    assert found is not None
    assert found.reason == Reason.NO_OPTUNA
    assert importlib.util.find_spec("optuna") is not None


def test_less_work_takes_fewer_trials(faces: Samples) -> None:
    task = shared(faces, slice(0, 8)).size()
    whole = TunedMatching().work(task)
    assert TunedMatching().within(whole * 0.6, task).work(task) <= whole * 0.6
    least = TunedMatching().within(whole * 0.02, task)
    assert least.trials == 4
    assert least.attack.optimiser.steps < TunedMatching().attack.optimiser.steps
