"""What attacks tell those who plan: where they do not apply, what they cost, how they fit into less time."""

import dataclasses
import re
from dataclasses import replace
from functools import cache, partial
from typing import Any

import pytest

from hideseek.chance import Randomness, seeded
from hideseek.errors import BadInput
from hideseek.hide import ENCODERS, Augmented
from hideseek.records import Attack, EncodedRelease, Evidence, MixingEncoder, Samples, Task
from hideseek.seek import ATTACKS, describe, run
from hideseek.seek.rows.averaging import AverageKnown, AverageSearch
from hideseek.seek.rows.demask import Demask
from hideseek.seek.rows.linear_inversion import LinearInversion
from hideseek.seek.rows.mixup_pairs import MixupPairs
from hideseek.seek.rows.public_search import PublicSearch
from hideseek.seek.run import WANTED, check
from toys import images

SCHEMES: dict[str, MixingEncoder] = {
    **{name: ENCODERS[name] for name in ("mixup", "mixup-cross", "instahide-inside", "instahide-cross")},
    **{name: ENCODERS[name] for name in ("singularized-mixup", "laplace")},
    "augmented": Augmented(ENCODERS["instahide-inside"]),
}
PLAIN = {"mixup", "mixup-cross", "singularized-mixup", "laplace"}
CROSS = {"mixup-cross", "instahide-cross"}
ALL = set(SCHEMES)
APPLIES = {  # to releases of eight rounds
    "mixup-pairs": ALL,
    "mixup-public": {"mixup-cross"},
    "braverman": CROSS,
    "public-search": CROSS,
    "demask": ALL - PLAIN,
    "average-known": ALL,
    "average-search": ALL,
    "distinguish": ALL,
    "linear-inversion": PLAIN,
    "linear-optimum": PLAIN,
}
FIRST_ROUND = {  # where one round is too few: no row has another of its image, or hardly any
    "mixup-pairs": {"mixup-cross", "laplace"},
    "average-search": {"mixup-cross", "laplace"},
    "distinguish": ALL,
}


def small(count: int, seed: int = 0) -> Samples:
    return images(count, height=8, width=7, seed=seed)


@cache
def released(name: str, rounds: int = 8) -> EncodedRelease:
    """A tiny release whose attacker knows everything that an attack may need."""
    private, public, own = small(12), small(40, seed=1), small(40, seed=2)
    release, secret = SCHEMES[name].hide(private, public, seeded(0), rounds)
    return replace(release, weights=secret.weights, sources=secret.sources, public=public, own=own)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_runs_where_it_does_not_refuse(name: str, scheme: str) -> None:
    attack, release = ATTACKS[name], released(scheme)
    refusal = attack.refuses(release)
    assert (refusal == "") == (scheme in APPLIES[name]), refusal
    if refusal:
        for way in (partial(run, attack), attack.seek):
            with pytest.raises(BadInput, match=re.escape(refusal)):
                way(release, seeded(0))
        return
    quick = attack.within(0.0, Task.of(release))
    assert run(quick, release, seeded(0)).claims


@pytest.mark.parametrize("scheme", ["mixup-cross", "instahide-cross"])
@pytest.mark.parametrize("name", ATTACKS)
def test_features_are_attacked_like_images(name: str, scheme: str) -> None:
    """Numbers without neighbours, as a pretrained network gives; SSIM alone cannot look at them."""
    private, public, own = (images(count, 30, 1, 1, stored=False, seed=count) for count in (12, 40, 41))
    release, secret = SCHEMES[scheme].hide(private, public, seeded(0), 8)
    release = replace(release, weights=secret.weights, sources=secret.sources, own=own)
    attack = ATTACKS[name].within(0.0, Task.of(release))
    assert bool(attack.refuses(release)) == (scheme not in APPLIES[name] or name == "average-search")
    if not attack.refuses(release):
        assert run(attack, release, seeded(0)).claims


@pytest.mark.parametrize("name", ATTACKS)
def test_one_round_is_too_few_for_some(name: str) -> None:
    refused = {scheme for scheme in SCHEMES if ATTACKS[name].refuses(released(scheme, 1))}
    assert refused == ALL - (APPLIES[name] - FIRST_ROUND.get(name, set()))


@pytest.mark.parametrize("name", ATTACKS)
def test_what_is_missing_is_asked_for_only_where_it_helps(name: str) -> None:
    attack = ATTACKS[name]
    for scheme in SCHEMES:
        bare = replace(released(scheme), public=None, own=None, weights=None, sources=None)
        if not attack.needs and scheme in APPLIES[name] and name != "demask":
            check(attack, bare)
            continue
        with pytest.raises(BadInput) as error:
            check(attack, bare)
        if scheme not in APPLIES[name]:
            assert str(error.value) == attack.refuses(released(scheme))
        elif name in ("demask", "linear-optimum"):  # own images or public ones, whichever there are
            assert "--own ADDRESS" in str(error.value)
        else:
            assert WANTED[attack.needs[0]] in str(error.value)


def test_demasking_before_another_attack_refuses_what_demask_does() -> None:
    bare = replace(released("instahide-inside"), own=None, public=None)
    for attack in (AverageKnown(demask=True), AverageSearch(demask=True)):
        assert attack.refuses(bare) == Demask().refuses(bare) != ""
        assert attack.refuses(released("mixup")) == ""  # no mask, nothing to undo
    cross = replace(released("instahide-cross"), own=images(3, height=2))
    assert "stand in" in PublicSearch(demask=True).refuses(cross)
    assert "at least 512" in PublicSearch(similarity="learned").refuses(released("instahide-cross"))


def test_the_optimum_takes_public_images_for_its_own() -> None:
    release = released("mixup-cross")
    claim = run(ATTACKS["linear-optimum"], replace(release, own=None), seeded(0)).claims[0]
    own = run(ATTACKS["linear-optimum"], release, seeded(0)).claims[0]
    plain = run(LinearInversion(), release, seeded(0)).claims[0]
    assert not any((claim.images == other.images).all() for other in (own, plain))  # type: ignore[attr-defined]


TASKS = [
    Task(items=160, images=160, pixels=625, own=160, images_per_item=4, masked=True),
    Task(items=3200, images=160, pixels=625, own=160),
    Task(items=10_000, images=1000, pixels=3072, public=10_000, own=1000, images_per_item=4, channels=3),
    Task(items=2000, images=200, pixels=3072, public=1000, own=200, images_per_item=4, masked=True, channels=3),
    Task(items=50_000, images=50_000, pixels=3072, own=1000, channels=3),
]
VARIANTS: dict[str, Attack[Any]] = {
    **ATTACKS,
    "adam": LinearInversion("adam"),
    "searched, demasked": AverageSearch(demask=True),
    "known, demasked": AverageKnown(demask=True),
    "learned": PublicSearch(similarity="learned"),
    "ssim": PublicSearch(similarity="ssim"),
}


def effort(attack: Attack[Any], task: Task) -> float:
    seconds = attack.effort(task)
    assert seconds is not None
    return seconds


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("task", TASKS)
def test_more_of_anything_never_costs_less(name: str, task: Task) -> None:
    attack = VARIANTS[name]
    assert effort(attack, task) > 0
    changes: list[dict[str, Any]] = [{"own": 2 * task.own}, {"public": 2 * task.public}]
    if not name.startswith("linear"):  # which choose another way of solving where that is cheaper
        changes += [{"pixels": 2 * task.pixels}, {"together": task.images_per_item + 1}]
        changes += [{"rows": 2 * task.items}, {"rows": 2 * task.items, "images": 2 * task.images}]
    for change in changes:
        assert effort(attack, replace(task, **change)) >= effort(attack, task)


@pytest.mark.parametrize("name", ["linear-inversion", "linear-optimum"])
@pytest.mark.parametrize(("rounds", "together"), [(1, 2), (10, 2), (10, 4)])
def test_a_way_of_solving_costs_more_for_more(name: str, rounds: int, together: int) -> None:
    def seconds(count: int, pixels: int) -> float:
        return effort(ATTACKS[name], Task(count * rounds, count, pixels, own=100, images_per_item=together))

    for count in (10, 100, 1000):
        assert seconds(count, 500) < seconds(2 * count, 500)
        assert seconds(count, 500) < seconds(count, 1000)
    assert seconds(3000, 500) < seconds(6000, 500)


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("task", TASKS)
def test_more_seconds_never_give_smaller_settings(name: str, task: Task) -> None:
    attack = VARIANTS[name]
    before = attack.within(0.0, task)
    for seconds in (0.01, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 1000, 1e9):
        fitted = attack.within(seconds, task)
        assert fitted == attack.within(seconds, task)
        assert effort(fitted, task) <= max(seconds, effort(attack.within(0.0, task), task))
        for smaller, larger in ((before, fitted), (fitted, attack)):
            assert no_larger(settings(smaller), settings(larger))
            assert effort(smaller, task) <= effort(larger, task)
        before = fitted
    assert before == attack  # time enough for all of it


def settings(attack: Any) -> dict[str, Any]:
    return dataclasses.asdict(attack)


def no_larger(some: dict[str, Any], other: dict[str, Any]) -> bool:
    """Tell whether all counts are at most those of the other, and all else is the same; None is all rows."""
    for key, value in some.items():
        limit = other[key]
        if isinstance(value, dict):
            if not no_larger(value, limit):
                return False
        elif type(value) is int:
            if limit is not None and value > limit:
                return False
        elif value != limit:
            return False
    return True


def test_settings_that_were_lowered_by_hand_stay_so() -> None:
    task = TASKS[2]
    for seconds in (0.0, 1.0, 1e9):
        fitted = MixupPairs(steps=1, most_seeds=7).within(seconds, task)
        assert (fitted.steps, fitted.most_seeds) == (1, 7)
        assert AverageSearch(queries=3).within(seconds, task).queries == 3
        assert PublicSearch(rows=5).within(seconds, task).rows == 5


def test_a_release_is_as_large_as_it_was_planned() -> None:
    for name, scheme in SCHEMES.items():
        release = released(name)
        planned = Task.planned(scheme, small(12), release.public, release.own, rounds=8)
        assert planned == Task.of(release)
        assert (planned.rows, planned.images, planned.pixels, planned.channels) == (96, 12, 168, 3)
        assert planned.public == (40 if name in CROSS else 0)
        assert planned.together == sum(scheme.images_per_row)


@dataclasses.dataclass(frozen=True)
class Plain(Attack[EncodedRelease]):
    """Do nothing."""

    sees = EncodedRelease

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        return Evidence(())


def test_an_attack_need_not_plan() -> None:
    attack = Plain()
    assert attack.source == attack.refuses(released("mixup")) == ""
    assert attack.effort(TASKS[0]) is None
    assert attack.within(0.0, TASKS[0]) is attack


def test_every_attack_says_where_it_is_from_and_what_it_does() -> None:
    assert all(attack.source for attack in ATTACKS.values())
    lines = {name: describe(attack) for name, attack in ATTACKS.items()}
    assert len(set(lines.values())) == len(lines)
    assert lines["linear-optimum"] == f"{lines['linear-inversion']} (prior public)"
    assert describe(AverageSearch(queries=3, demask=True)).endswith("(queries 3, demask)")
    assert describe(AverageKnown(demasking=Demask(rows=64))).endswith("(demasking rows 64)")
