"""The effect of every attack on updates: it breaks one release and is at chance on another, as in test_effects.py."""

from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import torch

from effects import SURE, p_values, revealed
from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide import InstaHide, Mixup
from hideseek.hide.updates import ShareUpdates
from hideseek.models import build
from hideseek.models.imprint import imprinted
from hideseek.records import Attack, Samples
from hideseek.records.shared_model import SharedModel
from hideseek.records.update_release import UpdateRelease
from hideseek.records.update_secret import UpdateSecret
from hideseek.seek import ATTACKS, VARIANTS
from hideseek.seek.rows.mixup_pairs import MixupPairs
from hideseek.seek.systems.image_starts import Start
from hideseek.seek.systems.matching_loop import Adam, Lbfgs
from hideseek.seek.systems.matching_prior import Prior
from hideseek.seek.updates.gradient_matching import GradientMatching

pytestmark = pytest.mark.usefixtures("without_lpips")


@dataclass(frozen=True)
class Effect:
    """What an attack breaks, by which figures; noise in place of the updates leaves it at chance."""

    breaks: ShareUpdates
    figures: tuple[str, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    images: int = 20
    own: int = 0
    """Images of the attacker's own; 0: as many as private ones."""
    rounds: int = 1
    imprint: bool = False
    """Whether the server put an imprint in front of the model."""


QUICK: dict[str, Any] = {"optimiser": Adam(steps=70, rate=0.3), "prior": Prior(1e-3)}


def matched(**settings: Any) -> Effect:
    """Gradient matching with smaller settings than by default, on single images; flips of 14 signs are sure to 2⁻¹⁴."""
    return Effect(ShareUpdates("lenet"), ("recovered", "re-identified"), settings, 14, own=100)


ENCODED = ShareUpdates("relu-dense", batch=8, encoding=InstaHide(k=2, largest=0.65), mode="eval")

EFFECTS = {
    "first-layer": Effect(ShareUpdates("relu-dense", batch=5), ("recovered", "re-identified")),
    "gradient-matching": matched(optimiser=Adam(steps=60)),
    "gradient-matching-known": matched(optimiser=Adam(steps=60)),
    "gradient-matching-own": replace(matched(optimiser=Lbfgs(60), peel=0), images=20, own=140),
    "learned-inversion": Effect(ShareUpdates("lenet"), ("re-identified",), own=80),
    "dlg": matched(optimiser=Lbfgs(60)),
    "idlg": matched(optimiser=Lbfgs(60)),
    "geiping2020": matched(**QUICK),
    "gradinversion": matched(**QUICK | {"optimiser": Adam(steps=60, rate=0.3)}, restarts=2),
    "huang2021-strongest": matched(**QUICK),
    "huang2021-realistic": matched(**QUICK),
    "rog": Effect(  # a quarter of 16 pixels are too few
        ShareUpdates("lenet"),
        ("re-identified",),
        {"optimiser": Adam(steps=100, rate=0.2, signed=False), "start": Start(coarse=2, stays=True)},
        14,
        own=100,
    ),
    "gradient-matching-tuned": matched(attack=GradientMatching(**QUICK, peel=0), trials=4, batches=1),
    "imprint": Effect(ShareUpdates("lenet", batch=5), ("recovered", "re-identified"), imprint=True),
    "imprint-crafted": Effect(ShareUpdates("lenet", batch=5), ("recovered", "re-identified")),
    "decode-known": Effect(ENCODED, ("recovered", "re-identified"), images=16, rounds=8),
    "decode-blind": Effect(
        replace(ENCODED, encoding=Mixup(k=2)), ("recovered",), {"unmasked": MixupPairs(seeds=5)}, 20, rounds=5
    ),
    "labels-from-gradient": Effect(ShareUpdates("relu-dense", batch=3), ("labels-right",), images=80),
}


@pytest.fixture(autouse=True)
def cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


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
    release, secret = scheme.hide(private, None, seeded(1), effect.rounds)
    others = torch.tensor([image for image in range(160) if image % (160 // effect.images)])
    own = others[:: max(1, len(others) // effect.own)] if effect.own else torch.arange(1, 160, 160 // effect.images)
    return replace(release, own=faces().take(own)), secret


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
