"""The effect of every attack on updates: it breaks one release and is at chance on another, as in test_effects.py."""

from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import pytest
import torch

from effects import SURE, p_values, revealed
from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide.updates import ShareUpdates
from hideseek.models import build
from hideseek.models.imprint import imprinted
from hideseek.records import Attack, Samples
from hideseek.records.shared_model import SharedModel
from hideseek.records.update_release import UpdateRelease
from hideseek.records.update_secret import UpdateSecret
from hideseek.seek import ATTACKS, VARIANTS
from hideseek.seek.systems.matching_loop import Adam, Lbfgs
from hideseek.seek.systems.matching_prior import Prior

pytestmark = pytest.mark.usefixtures("without_lpips")


@dataclass(frozen=True)
class Effect:
    """What an attack breaks, by which figures; noise in place of the updates leaves it at chance."""

    breaks: ShareUpdates
    figures: tuple[str, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    images: int = 20
    imprint: bool = False
    """Whether the server put an imprint in front of the model."""


QUICK: dict[str, Any] = {"optimiser": Adam(steps=70, rate=0.3), "prior": Prior(1e-3)}


def matched(**settings: Any) -> Effect:
    """Gradient matching with smaller settings than by default, on single images; flips of 14 signs are sure to 2⁻¹⁴."""
    return Effect(ShareUpdates("lenet"), ("recovered", "re-identified"), settings, 14)


EFFECTS = {
    "first-layer": Effect(ShareUpdates("relu-dense", batch=5), ("recovered", "re-identified")),
    "gradient-matching": matched(optimiser=Adam(steps=60)),
    "gradient-matching-known": matched(optimiser=Adam(steps=60)),
    "dlg": matched(optimiser=Lbfgs(60)),
    "idlg": matched(optimiser=Lbfgs(60)),
    "geiping2020": matched(**QUICK),
    "gradinversion": matched(**QUICK | {"optimiser": Adam(steps=60, rate=0.3)}, restarts=2),
    "huang2021-strongest": matched(**QUICK),
    "huang2021-realistic": matched(**QUICK),
    "imprint": Effect(ShareUpdates("lenet", batch=5), ("recovered", "re-identified"), imprint=True),
    "imprint-crafted": Effect(ShareUpdates("lenet", batch=5), ("recovered", "re-identified")),
    "labels-from-gradient": Effect(ShareUpdates("relu-dense", batch=3), ("labels-right",), images=80),
}


@cache
def faces() -> Samples:
    return normalise(load("faces", size=16), "channel")


@cache
def hidden(name: str) -> tuple[UpdateRelease, UpdateSecret]:
    """A release whose attacker has images of his own; what is withheld stays so."""
    effect = EFFECTS[name]
    private, scheme = faces().take(torch.arange(0, 160, 160 // effect.images)), effect.breaks
    if effect.imprint:
        make = partial(
            imprinted, partial(build, scheme.model, private.shape, private.labels.shape[1]), private.shape, 0.0, 0.5
        )
        scheme = replace(scheme, start=SharedModel("imprinted", make, make().state_dict()))
    release, secret = scheme.hide(private, None, seeded(1))
    return replace(release, own=faces().take(torch.arange(1, 160, 160 // effect.images))), secret


def attack(name: str) -> Attack[Any]:
    chosen: Any = {**ATTACKS, **VARIANTS}[name]
    given: Attack[Any] = replace(chosen, **EFFECTS[name].settings)
    return given


def test_the_table_has_every_attack_on_updates() -> None:
    assert set(EFFECTS) == {name for name, each in {**ATTACKS, **VARIANTS}.items() if each.sees is UpdateRelease}


@pytest.mark.parametrize("name", EFFECTS)
def test_it_breaks_this(name: str) -> None:
    found = p_values(attack(name), *hidden(name))
    figures = set(EFFECTS[name].figures)
    assert {metric for _, metric in found} >= figures
    assert all(value < SURE for (_, metric), value in found.items() if metric in figures), found


@pytest.mark.parametrize("name", EFFECTS)
def test_it_is_at_chance_on_noise(name: str) -> None:
    release, secret = hidden(name)
    noise = revealed(attack(name), release, secret).as_noise(seeded(5))
    found = p_values(attack(name), noise, secret)
    assert found
    assert all(value > SURE for value in found.values()), found
