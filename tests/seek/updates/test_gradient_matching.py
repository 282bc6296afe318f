"""Gradient matching on updates of every kind, and what it refuses."""

from copy import copy
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.errors import BadInput
from hideseek.hide import InstaHide
from hideseek.hide.updates import GradientPruning, ShareUpdates, Sign
from hideseek.models import build
from hideseek.records import Reason, Refusal, Samples, Task
from hideseek.records.defence import Defence
from hideseek.records.update_release import UpdateRelease
from hideseek.score.judge import judge
from hideseek.seek import ATTACKS, VARIANTS, refusal, run
from hideseek.seek.systems.batch_norm_aims import MISFITS
from hideseek.seek.systems.gradient_distance import Squared
from hideseek.seek.systems.image_starts import Start
from hideseek.seek.systems.matching_loop import Adam, Lbfgs
from hideseek.seek.systems.matching_prior import Prior
from hideseek.seek.updates.gradient_matching import GradientMatching
from hideseek.similarity import correlation
from hideseek.train.batch_statistics import batch_statistics

QUICK = GradientMatching(prior=Prior(1e-3), optimiser=Adam(120), smooth=None, peel=0)


@pytest.fixture(scope="module")
def faces() -> Samples:
    return normalise(load("faces", size=12), "channel").take(slice(0, 4))


def likeness(attack: GradientMatching, scheme: ShareUpdates, faces: Samples) -> float:
    """How well guesses correlate with the images of their updates, each with the one that it is most like."""
    release, secret = scheme.hide(faces, None, seeded(1))
    release = secret.reveal(replace(release, own=faces), UpdateRelease.withheld)
    claim: Any = run(attack, release, seeded(2)).claims[0]
    truth = faces.pixels()
    best = [
        max(float(correlation(truth[image : image + 1], guess[None])) for image in secret.holds(number[None])[0])
        for guess, number in zip(claim.images, claim.about, strict=True)
    ]
    return sum(best) / len(best)


LENET = ShareUpdates("lenet")
THREE_STEPS = ShareUpdates("lenet", local_epochs=3, sends="weights")


@pytest.mark.parametrize(
    ("attack", "scheme", "least"),
    [
        (GradientMatching(), LENET, 0.999),
        (QUICK, LENET, 0.9),
        (replace(QUICK, optimiser=Lbfgs(100), prior=Prior()), LENET, 0.9),
        (replace(QUICK, labels="joint", distance=Squared(), optimiser=Lbfgs(150), prior=Prior()), LENET, 0.6),
        (replace(QUICK, restarts=2, consistency=1e-2), LENET, 0.9),
        (replace(QUICK, start=Start("grey", coarse=2)), LENET, 0.9),
        (replace(QUICK, labels="known"), ShareUpdates("lenet", batch=2), 0.7),
        (QUICK, ShareUpdates("lenet", defences=(GradientPruning(0.5),)), 0.8),
        (QUICK, ShareUpdates("lenet", sends="weights"), 0.9),
        (
            replace(QUICK, labels="known", local="simulated"),
            THREE_STEPS,
            0.9,
        ),
        (
            replace(QUICK, labels="known", local="surrogate"),
            THREE_STEPS,
            0.8,
        ),
    ],
)
def test_images_come_back(attack: GradientMatching, scheme: ShareUpdates, least: float, faces: Samples) -> None:
    assert likeness(attack, scheme, faces) > least


@pytest.mark.parametrize("defence", [GradientPruning(0.99), Sign()])
def test_what_a_defence_allows_tells_more_than_what_is_left(defence: Defence) -> None:
    """Among images like the attacker's own: of one prior, the comparison alone differs."""
    images = normalise(load("faces", size=12), "channel")
    release, secret = ShareUpdates("lenet", defences=(defence,)).hide(images.take(slice(0, 8)), None, seeded(1))
    release = replace(release, own=images.take(slice(40, 160)))
    truth = images.pixels(secret.holds(torch.arange(8))[:, 0])
    errors = []
    for compares in ("allowed", "surviving"):
        attack = replace(ATTACKS["gradient-matching-own"], optimiser=Lbfgs(100), compares=compares)  # type: ignore[type-var]
        claim: Any = run(attack, release, seeded(2)).claims[0]
        errors.append(float((claim.images - truth).square().mean()))
    assert errors[0] < errors[1]


@pytest.mark.parametrize("aim", ["norms", "relative"])
@pytest.mark.parametrize(("how", "sends"), [("exact", "gradient"), ("own", "gradient"), ("running", "weights")])
def test_what_batch_norm_saw_is_aimed_at(how: Any, sends: Any, aim: Any, faces: Samples) -> None:
    release, secret = ShareUpdates("small-resnet", batch=4, sends=sends).hide(faces, None, seeded(1))
    release = secret.reveal(replace(release, own=faces), UpdateRelease.withheld)
    assert release.statistics is not None
    missed = []
    for statistics in ("none", how):
        attack = replace(
            QUICK, labels="known", statistics=statistics, aim=aim, statistics_weight=1.0, optimiser=Adam(60),
            train_mode=None,
        )  # fmt: skip
        claim: Any = run(attack, release, seeded(2)).claims[0]
        network = release.models[0].network().train()
        missed.append(float(MISFITS[aim](batch_statistics(network, claim.images), release.statistics[0])))
    assert missed[1] < 0.5 * missed[0]


def test_low_resolution_as_printed_points_to_images() -> None:
    """A quarter of 32 pixels, as Yue et al. (2023) have it: too coarse to recover an image, enough to pick it."""
    faces = normalise(load("faces", size=32), "channel")
    places = torch.arange(0, 160, 8)
    own = faces.take(torch.tensor([place for place in range(160) if place % 8]))
    release, secret = ShareUpdates("lenet", mode="eval").hide(faces.take(places), None, seeded(1))
    evidence = run(VARIANTS["rog"], replace(release, own=own), seeded(2))
    (score,) = judge(evidence, secret, seeded(3), ["re-identified"]).scores
    assert score.beats_at(0.005)


def test_a_batch_behind_a_smooth_network_is_solved_for() -> None:
    """Four photographs behind LeNet: its third convolution's inputs follow from the head, and images from these."""
    photos = normalise(load("photos", size=32), "channel").take(torch.tensor([50, 1000, 2000, 3000]))
    release, secret = ShareUpdates("lenet", batch=4, mode="eval").hide(photos, None, seeded(1))
    release = secret.reveal(release, ["labels"])
    usual = GradientMatching(labels="known", optimiser=Adam(100, rate=0.6, relax=0.3))

    def missed(attack: GradientMatching) -> float:
        claim: Any = run(attack, release, seeded(2)).claims[0]
        alike = torch.stack([correlation(each.expand_as(photos.pixels()), photos.pixels()) for each in claim.images])
        return 1 - float(alike.max(1).values.mean())

    assert missed(usual) < 0.5 * missed(replace(usual, peel=0))  # beside descent without equations


def test_masked_encodings_are_sought_by_their_absolute_values(faces: Samples) -> None:
    scheme = ShareUpdates("lenet", encoding=InstaHide(k=2))
    release, secret = scheme.hide(faces, None, seeded(1))
    claim: Any = run(GradientMatching(), release, seeded(2)).claims[0]
    assert secret.again is not None
    rows = torch.cat([each.pixels() for each in secret.again.rows])  # type: ignore[attr-defined]
    assert float(correlation(rows, claim.images).min()) > 0.99


def test_a_batch_of_unknown_size_is_estimated() -> None:
    noise = Samples(seeded(1).normals(4, 1, 12, 12), torch.eye(6)[:4])
    release, _ = ShareUpdates("lenet", batch=2).hide(noise, None, seeded(1))
    evidence = run(replace(QUICK, optimiser=Adam(2)), replace(release, sizes=None), seeded(2))
    said = [said.partition(", by ")[0] for said in evidence.remarks["batch sizes"]]
    assert said == ["estimated as 2", "at least 2"]  # what LeNet says of an image varies more than 1 / 2
    assert evidence.claims[0].about.tolist() == [0, 0, 1, 1]  # type: ignore[attr-defined]


def changed(release: UpdateRelease, value: Tensor) -> UpdateRelease:
    return replace(release, updates=tuple({n: value.expand_as(t) for n, t in u.items()} for u in release.updates))


def test_what_is_refused(faces: Samples) -> None:
    release, _ = ShareUpdates("lenet", sends="weights").hide(faces, None, seeded(1))
    still: Any = copy(release.scheme)
    object.__setattr__(still, "rate", 0.0)
    assert refusal(QUICK, replace(release, scheme=still)) == Refusal(Reason.NO_LEARNING_RATE)
    assert refusal(QUICK, changed(release, torch.tensor(0.0))) == Refusal(Reason.NO_GRADIENT)
    for value in (torch.nan, torch.inf):
        unusable = refusal(QUICK, changed(release, torch.tensor(value)))
        assert unusable is not None
        assert str(unusable).startswith("the update 0 holds numbers that are not finite at ")
    known = replace(QUICK, labels="known", statistics="exact")
    assert refusal(known, release) == Refusal(Reason.MISSING_FIELDS, {"fields": "labels and statistics"})


def test_batch_norm_in_train_mode_needs_two_values(faces: Samples) -> None:
    release, _ = ShareUpdates("classifier", batch=2).hide(faces, None, seeded(1))
    with pytest.raises(BadInput, match="BatchNorm in train mode needs two values"):
        run(replace(QUICK, optimiser=Adam(2)), replace(release, sizes=(1, 1)), seeded(2))


def test_less_work_means_fewer_steps_then_restarts_then_updates() -> None:
    task, attack = Task(items=100, images=100, pixels=768, images_per_item=1), GradientMatching(restarts=4)
    whole = attack.work(task)
    assert attack.within(whole, task) == attack
    half = attack.within(whole / 2, task)
    assert (half.optimiser.steps, half.restarts, half.updates) == (attack.optimiser.steps // 2, 4, None)
    least = attack.within(0.0, task)
    assert (least.optimiser.steps, least.restarts, least.updates) == (200, 1, 12)
    assert ATTACKS["gradient-matching-known"].needs == ("labels", "statistics")


def test_train_mode_has_settings_of_its_own_where_there_is_batch_norm() -> None:
    usual, resnet = GradientMatching(), build("small-resnet", (1, 8, 8), 2)
    assert usual.train_mode is not None
    fitted = usual.for_batch(resnet, "train", 4)
    assert fitted.prior == usual.train_mode.prior
    assert isinstance(fitted.optimiser, Adam)
    assert fitted.optimiser == replace(fitted.optimiser, steps=usual.optimiser.steps, rate=usual.train_mode.rate)
    assert fitted.for_batch(resnet, "train", 32) == fitted
    for other in (usual.for_batch(resnet, "eval", 1), usual.for_batch(build("lenet", (1, 8, 8), 2), "train", 1)):
        assert (other.prior, other.optimiser) == (usual.prior, usual.optimiser)


def test_the_prior_weighs_more_for_larger_batches_but_not_in_papers() -> None:
    usual, network = GradientMatching(prior=Prior(0.03, 0.01)), build("lenet", (1, 8, 8), 2)
    grown = usual.for_batch(network, "eval", 32).prior
    assert grown.total_variation == pytest.approx(0.03 * 8**0.75)
    assert grown.squares == pytest.approx(0.01 * 8**0.75)
    printed = VARIANTS["huang2021-strongest"]
    assert isinstance(printed, GradientMatching)
    assert printed.for_batch(network, "eval", 32).prior == printed.prior
