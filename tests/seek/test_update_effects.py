"""The effect of every attack on updates: it breaks one release, and is at chance on noise (see `test_effects`)."""

from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import pytest

from attacks_by_kind import UPDATE_ATTACKS
from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide.updates import ShareUpdates
from hideseek.records import Attack, Samples
from hideseek.records.update_release import UpdateRelease
from hideseek.records.update_secret import UpdateSecret
from hideseek.score.claims import CLAIMS
from hideseek.score.judge import judge
from hideseek.seek import run
from hideseek.seek.systems.matching_loop import Adam, Lbfgs
from hideseek.seek.systems.matching_prior import Prior

pytestmark = pytest.mark.usefixtures("without_lpips")
SURE = 1e-3
IMAGES = 14  # flips of as many signs are sure to 2⁻¹⁴


@dataclass(frozen=True)
class Effect:
    """What an attack breaks, by which figures."""

    breaks: ShareUpdates = field(default_factory=lambda: ShareUpdates("lenet"))
    figures: tuple[str, ...] = ("recovered", "re-identified")
    settings: dict[str, Any] = field(default_factory=dict)
    """Smaller than by default, to be quick."""


QUICK = {"optimiser": Adam(steps=70, rate=0.3), "prior": Prior(1e-3)}
EFFECTS = {
    "gradient-matching": Effect(settings={"optimiser": Adam(steps=60)}),
    "gradient-matching-known": Effect(settings={"optimiser": Adam(steps=60)}),
    "dlg": Effect(settings={"optimiser": Lbfgs(60)}),
    "idlg": Effect(settings={"optimiser": Lbfgs(60)}),
    "geiping2020": Effect(settings=QUICK),
    "gradinversion": Effect(settings={**QUICK, "optimiser": Adam(steps=60, rate=0.3), "restarts": 2}),
    "huang2021-strongest": Effect(settings=QUICK),
    "huang2021-realistic": Effect(settings=QUICK),
}


@cache
def faces() -> Samples:
    return normalise(load("faces", size=16), "channel").take(slice(0, IMAGES))


def attack(name: str) -> Attack[Any]:
    chosen: Any = UPDATE_ATTACKS[name]
    given: Attack[Any] = replace(chosen, **EFFECTS[name].settings)
    return given


def p_values(name: str, release: UpdateRelease, secret: UpdateSecret) -> dict[str, float]:
    """How likely each decisive figure would be by chance; the attack is given what it needs, and nothing else."""
    chosen = attack(name)
    given = secret.reveal(release, [field for field in chosen.needs if field in UpdateRelease.withheld])
    evidence = run(chosen, given, seeded(2))
    decisive = [metric for claim in evidence.claims for metric in CLAIMS[claim.name].decisive]
    scores = judge(evidence, secret, seeded(3), decisive).scores
    return {each.metric: 1.0 if each.significance is None else each.significance.p_value for each in scores}


def test_the_table_has_every_attack_on_updates() -> None:
    assert set(EFFECTS) == set(UPDATE_ATTACKS)


@pytest.mark.parametrize("name", EFFECTS)
def test_it_breaks_this(name: str) -> None:
    effect = EFFECTS[name]
    found = p_values(name, *effect.breaks.hide(faces(), None, seeded(1)))
    assert all(found[metric] < SURE for metric in effect.figures), found


@pytest.mark.parametrize("name", EFFECTS)
def test_it_is_at_chance_on_noise(name: str) -> None:
    release, secret = EFFECTS[name].breaks.hide(faces(), None, seeded(1))
    found = p_values(name, release.as_noise(seeded(5)), secret)
    assert found
    assert all(value > SURE for value in found.values()), found
