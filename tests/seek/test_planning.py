"""What attacks tell those who plan: where they do not apply, how much work they do, how they fit into less."""

import dataclasses
from dataclasses import replace
from functools import cache, partial
from typing import Any

import pytest

from attacks_by_kind import ROW_ATTACKS
from hideseek.chance import Randomness, seeded
from hideseek.hide import ENCODERS, Augmented
from hideseek.records import (
    Attack,
    EncodedRelease,
    Evidence,
    MixingEncoder,
    Reason,
    Refusal,
    Refused,
    Samples,
    Task,
)
from hideseek.records.mixing_secret import MixingSecret
from hideseek.records.update_release import UpdateRelease
from hideseek.score.judge import judge
from hideseek.seek import ATTACKS, VARIANTS, describe, refusal, run, settings
from hideseek.seek.networks.learned_search import Learned
from hideseek.seek.networks.restore_signs import RestoreSigns
from hideseek.seek.rows.averaging import AverageKnown, AverageSearch
from hideseek.seek.rows.demask import Demask
from hideseek.seek.rows.linear_inversion import LinearInversion
from hideseek.seek.rows.mixup_pairs import MixupPairs
from hideseek.seek.rows.public_search import PublicSearch
from toy_gradient import GradientRelease
from toys import images

pytestmark = pytest.mark.usefixtures("without_lpips")
SCHEMES: dict[str, MixingEncoder] = {
    **{name: ENCODERS[name] for name in ("mixup", "mixup-cross", "instahide-inside", "instahide-cross")},
    **{name: ENCODERS[name] for name in ("singularized-mixup", "laplace")},
    "augmented": Augmented(ENCODERS["instahide-inside"]),
    "augmented mixup": Augmented(ENCODERS["mixup"]),
}
LINEAR = {"mixup", "mixup-cross", "singularized-mixup", "laplace"}
MASKED = {"instahide-inside", "instahide-cross", "augmented"}
CROSS = {"mixup-cross", "instahide-cross"}
ALL = set(SCHEMES)
APPLIES = {  # to releases of eight rounds
    "mixup-pairs": ALL,
    "mixup-public": {"mixup-cross"},
    "braverman": CROSS,
    "public-search": CROSS,
    "demask": MASKED,
    "average-known": ALL,
    "average-search": ALL,
    "distinguish": ALL,
    "chen": set(),  # too few pixels, and no Gaussian ones
    "carlini": MASKED,
    "link-shifted": {"augmented", "augmented mixup"},
    "byte-decoding": {"mixup"},  # no public images, and three private ones at most
    "unmask-public": {"instahide-cross"},
    "phase-retrieval": {"instahide-inside", "instahide-cross"},
    "link-and-solve": {"instahide-inside", "instahide-cross"},
    "smooth-signs": MASKED,
    "linear-inversion": LINEAR,
    "linear-optimum": LINEAR,
    "equal-length": {"singularized-mixup"},
    "likelihood-ratio": ALL - {"augmented", "augmented mixup"},
}
FIRST_ROUND = {  # where one round is too few: no row has another of its image, or hardly any
    "mixup-pairs": {"mixup-cross", "laplace"},
    "average-search": {"mixup-cross", "laplace"},
    "distinguish": ALL,
    "link-and-solve": ALL,
    "smooth-signs": ALL,  # a dozen rows are too few
}


def small(count: int, seed: int = 0) -> Samples:
    return images(count, height=8, width=7, seed=seed)


@cache
def hidden(name: str, rounds: int) -> tuple[EncodedRelease, MixingSecret]:
    private, public, own = small(12), small(40, seed=1), small(40, seed=2)
    release, secret = SCHEMES[name].hide(private, public, seeded(0), rounds)
    return replace(release, public=public if name in CROSS else None, own=own), secret


def ground_truth(name: str, rounds: int = 8) -> MixingSecret:
    return hidden(name, rounds)[1]


def released(name: str, rounds: int = 8) -> EncodedRelease:
    """A tiny release whose attacker knows everything that an attack may need."""
    release, secret = hidden(name, rounds)
    return secret.reveal(release, EncodedRelease.withheld)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", ROW_ATTACKS)
def test_an_attack_runs_where_it_does_not_refuse(name: str, scheme: str) -> None:
    attack, release = ATTACKS[name], released(scheme)
    reason = attack.refuses(release)
    assert (reason is None) == (scheme in APPLIES[name]), reason
    if reason is not None:
        for way in (partial(run, attack), attack.seek):
            with pytest.raises(Refused) as error:
                way(release, seeded(0))
            assert error.value.refusal == reason
        return
    evidence = run(attack.within(0.0, release.size()), release, seeded(0))
    kinds = {claim.name for claim in evidence.claims}
    judged = {score.claim for score in judge(evidence, ground_truth(scheme), seeded(0)).scores}
    assert judged == kinds != set()  # all that it claims is about this release, and can be judged


@pytest.mark.parametrize("scheme", ["mixup-cross", "instahide-cross"])
@pytest.mark.parametrize("name", ROW_ATTACKS)
def test_features_are_attacked_like_images(name: str, scheme: str) -> None:
    """Numbers without neighbours, as a pretrained network gives: SSIM and convolutions need them, and signs do."""
    private, public, own = (images(count, 30, 1, 1, stored=False, seed=count) for count in (12, 40, 41))
    release, secret = SCHEMES[scheme].hide(private, public, seeded(0), 8)
    release = secret.reveal(replace(release, own=own), EncodedRelease.withheld)
    attack = ATTACKS[name].within(0.0, release.size())
    need_places = ("average-search", "carlini", "phase-retrieval", "link-and-solve", "smooth-signs")
    applies = scheme in APPLIES[name] and name not in need_places
    assert (attack.refuses(release) is None) == applies
    if applies:
        assert run(attack, release, seeded(0)).claims


@pytest.mark.parametrize("name", ROW_ATTACKS)
def test_one_round_is_too_few_for_some(name: str) -> None:
    refused = {scheme for scheme in SCHEMES if ATTACKS[name].refuses(released(scheme, 1)) is not None}
    assert refused == ALL - (APPLIES[name] - FIRST_ROUND.get(name, set()))


@pytest.mark.parametrize("name", ROW_ATTACKS)
def test_what_is_missing_is_asked_for_only_where_it_helps(name: str) -> None:
    attack = ATTACKS[name]
    for scheme in SCHEMES:
        known = released(scheme)
        bare = replace(known, public=None, own=None, candidates=None, weights=None, sources=None, made_for=None)
        if scheme not in APPLIES[name]:
            assert refusal(attack, bare) == attack.refuses(known) is not None
        elif name in ("demask", "linear-optimum", "carlini"):  # own images or public ones, whichever there are
            assert refusal(attack, bare) == Refusal(Reason.NO_OWN_IMAGES)
        elif attack.needs:
            assert refusal(attack, bare) == Refusal(Reason.MISSING_FIELDS, {"fields": " and ".join(attack.needs)})
        else:
            assert refusal(attack, bare) is None


@pytest.mark.parametrize("attack", ROW_ATTACKS.values(), ids=ROW_ATTACKS)
def test_another_kind_of_release_is_refused_before_the_attack_is_asked(attack: Attack[Any]) -> None:
    other = GradientRelease.__new__(GradientRelease)  # without a field: to ask for one would raise
    facts: dict[str, int | str] = {"wanted": "EncodedRelease", "given": "GradientRelease"}
    assert refusal(attack, other) == Refusal(Reason.OTHER_KIND, facts)


def test_restoring_signs_first_refuses_what_demask_does() -> None:
    bare = replace(released("instahide-inside"), own=None, public=None)
    for attack in (AverageKnown(signs=RestoreSigns()), AverageSearch(signs=RestoreSigns())):
        assert attack.refuses(bare) == Demask().refuses(bare) == Refusal(Reason.NO_OWN_IMAGES)
        assert attack.refuses(released("mixup")) is None  # no mask, nothing to undo
    cross = replace(released("instahide-cross"), own=images(30, height=2))
    unsuited = PublicSearch(signs=RestoreSigns()).refuses(cross)
    assert unsuited is not None
    assert unsuited.reason is Reason.UNSUITED_OWN_IMAGES
    few = Refusal(Reason.TOO_FEW_PUBLIC_IMAGES, {"given": 40, "wanted": 512})
    assert PublicSearch(Learned()).refuses(released("instahide-cross")) == few


def test_rows_that_share_no_image_cannot_be_linked() -> None:
    for attack in (MixupPairs(), AverageSearch()):
        assert attack.refuses(released("laplace", 1)) == Refusal(Reason.NO_COMMON_IMAGES)
        assert attack.refuses(released("laplace", 8)) is None


def test_images_that_ssim_cannot_look_at_are_refused() -> None:
    small = replace(released("mixup"), encoded=images(96, height=6, width=20))
    assert AverageSearch().refuses(small) == Refusal(Reason.TOO_SMALL_IMAGES, {"wanted": 7})
    assert AverageSearch().refuses(replace(small, encoded=images(96, height=7, width=20))) is None


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
UPDATES = Task(
    items=4, images=64, pixels=3072, own=1000, images_per_item=16, channels=3, network=5.2e6, parameters=164_000
)
PLANNED: dict[str, Attack[Any]] = {**ATTACKS, **VARIANTS, "adam": LinearInversion("adam")}
PAIRS = [
    *((name, task) for name in PLANNED for task in TASKS),
    *((name, UPDATES) for name, attack in PLANNED.items() if attack.sees is UpdateRelease),
]


def work(attack: Attack[Any], task: Task) -> float:
    counted = attack.work(task)
    assert counted is not None
    return counted


@pytest.mark.parametrize(("name", "task"), PAIRS)
def test_more_of_anything_is_never_less_work(name: str, task: Task) -> None:
    attack = PLANNED[name]
    assert work(attack, task) > 0
    changes: list[dict[str, Any]] = [{"own": 2 * task.own}, {"public": 2 * task.public}]
    if not name.startswith(("linear", "unmix")):  # which choose another way of solving where that is less
        if (name, task) != ("decode-blind", UPDATES):  # whose rows would be too large for signs from rows alone
            changes += [{"pixels": 2 * task.pixels}]
        if name != "link-and-solve":  # which has another way for rows of three images
            changes += [{"images_per_item": task.images_per_item + 1}]
        changes += [{"items": 2 * task.items}, {"items": 2 * task.items, "images": 2 * task.images}]
    for change in changes:
        assert work(attack, replace(task, **change)) >= work(attack, task)


@pytest.mark.parametrize("name", ["linear-inversion", "linear-optimum"])
@pytest.mark.parametrize(("rounds", "together"), [(1, 2), (10, 2), (10, 4)])
def test_a_way_of_solving_is_more_work_for_more(name: str, rounds: int, together: int) -> None:
    def of(count: int, pixels: int) -> float:
        return work(ATTACKS[name], Task(count * rounds, count, pixels, own=100, images_per_item=together))

    for count in (10, 100, 1000):
        assert of(count, 500) < of(2 * count, 500)
        assert of(count, 500) < of(count, 1000)
    assert of(3000, 500) < of(6000, 500)


@pytest.mark.parametrize(("name", "task"), PAIRS)
def test_more_work_never_gives_smaller_settings(name: str, task: Task) -> None:
    attack = PLANNED[name]
    least = before = attack.within(0.0, task)
    for limit in [10.0**power for power in range(7, 18)] + [work(attack, task)]:
        fitted = attack.within(limit, task)
        assert work(fitted, task) <= max(limit, work(least, task))
        for smaller, larger in ((before, fitted), (fitted, attack)):
            assert no_larger(settings(smaller), settings(larger))
            assert work(smaller, task) <= work(larger, task)
        before = fitted if limit < work(attack, task) else before
    assert attack.within(work(attack, task), task) == attack  # enough for all of it


@pytest.mark.parametrize(
    ("network", "parameters", "batch", "measured"),
    [(7e5, 1.6e4, 1, 1.5e8), (7e5, 1.6e4, 16, 3.3e8), (1.5e7, 4.3e5, 1, 3.7e8), (1.5e7, 4.3e5, 16, 1.8e9),
     (5.2e6, 1.6e5, 1, 3e8), (5.2e6, 1.6e5, 16, 1.1e9), (5.6e8, 1.1e7, 1, 1.2e10), (5.6e8, 1.1e7, 4, 2.1e10)],
    ids=["lenet", "lenet, 16", "convnet", "convnet, 16", "small-resnet", "small-resnet, 16", "resnet18", "resnet18, 4"],
)  # fmt: skip
def test_a_step_of_matching_is_counted_as_it_was_measured(
    network: float, parameters: int, batch: int, measured: float
) -> None:
    """One thread, CIFAR-10: the seconds of a step over those of a multiplication in a large product."""
    attack: Any = ATTACKS["gradient-matching"]
    task = Task(1, batch, 3072, images_per_item=batch, channels=3, network=network, parameters=int(parameters))
    assert 0.5 < work(attack, task) / attack.optimiser.steps / measured < 2


@pytest.mark.parametrize(
    ("network", "parameters", "batch", "measured"),
    [(7e5, 1.6e4, 4, 3.9e8), (1.5e7, 4.3e5, 1, 2.3e9), (1.5e7, 4.3e5, 4, 5.7e9), (5.2e6, 1.6e5, 1, 2.2e9),
     (5.2e6, 1.6e5, 4, 4e9)],
    ids=["lenet, 4", "convnet", "convnet, 4", "small-resnet", "small-resnet, 4"],
)  # fmt: skip
def test_a_step_of_quasi_newton_is_counted_as_it_was_measured(
    network: float, parameters: int, batch: int, measured: float
) -> None:
    """As above, in double precision, by double backward, with a line search."""
    attack: Any = ATTACKS["gradient-matching-own"]
    task = Task(1, batch, 3072, own=50, images_per_item=batch, channels=3, network=network, parameters=int(parameters))
    fewer = replace(attack, optimiser=attack.optimiser.lowered(100))
    assert 0.5 < (work(attack, task) - work(fewer, task)) / 100 / measured < 2


@pytest.mark.parametrize(("batch", "updates"), [(1, 12), (4, 3), (5, 3), (16, 2)])
def test_the_least_of_matching_is_as_many_images_as_prove_something(batch: int, updates: int) -> None:
    task = replace(UPDATES, items=40, images=40 * batch, images_per_item=batch)
    least: Any = ATTACKS["gradient-matching"].within(0.0, task)
    assert (least.optimiser.steps, least.updates) == (200, updates)


def test_aims_of_batch_norm_are_counted_where_there_are_some() -> None:
    saw = replace(UPDATES, batch_statistics=True)
    attack, known = ATTACKS["gradient-matching"], ATTACKS["gradient-matching-known"]
    assert work(attack, saw) > 1.2 * work(attack, UPDATES)
    assert work(known, saw) == work(known, UPDATES)  # who is told aims at them in any case
    assert work(VARIANTS["geiping2020"], saw) == work(VARIANTS["geiping2020"], UPDATES)  # it aims at none


def test_a_model_is_asked_for_labels_once_for_all_updates() -> None:
    attack, large = ATTACKS["labels-from-gradient"], replace(UPDATES, network=5.6e8, parameters=11_000_000)
    assert work(attack, large) > 10 * work(attack, UPDATES)
    assert work(attack, replace(large, items=2 * large.items)) < 1.2 * work(attack, large)


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
    for limit in (0.0, 1e11, 1e20):
        fitted = MixupPairs(steps=1, most_seeds=7).within(limit, task)
        assert (fitted.steps, fitted.most_seeds) == (1, 7)
        assert AverageSearch(queries=3).within(limit, task).queries == 3
        assert PublicSearch(rows=5).within(limit, task).rows == 5


@dataclasses.dataclass(frozen=True)
class Plain(Attack[EncodedRelease]):
    """Do nothing."""

    sees = EncodedRelease

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        return Evidence(())


def test_an_attack_need_not_plan() -> None:
    attack = Plain()
    assert attack.source == ""
    assert attack.refuses(released("mixup")) is None
    assert attack.work(TASKS[0]) is None
    assert attack.within(0.0, TASKS[0]) is attack


def test_every_attack_says_where_it_is_from_and_what_it_does() -> None:
    known = {**ATTACKS, **VARIANTS}
    assert len(known) == len(ATTACKS) + len(VARIANTS)
    assert all(attack.source for attack in known.values())
    lines = {name: describe(attack) for name, attack in known.items()}
    assert len(set(lines.values())) == len(lines)
    assert lines["linear-optimum"] == f"{lines['linear-inversion']} (prior public)"
    assert describe(AverageSearch(queries=3, signs=RestoreSigns(rows=64))).endswith(
        "(queries 3, signs: restore signs, signs rows 64)"
    )


def test_settings_tell_attacks_apart() -> None:
    known = [(type(attack), settings(attack)) for attack in (*ATTACKS.values(), *VARIANTS.values())]
    assert all(one != other for number, one in enumerate(known) for other in known[:number])
    assert settings(VARIANTS["public-search-learned"])["similarity"] == {"kind": "learned", "steps": 600}
