"""The effect of every attack: it breaks one release and is at chance on another, judged by the figures that decide.

As in Foolbox, one table has them all. Seeds are fixed, so a test cannot fail by chance; how sure a figure is, is said
by its p-value, which is a thousandth or less where an attack has its effect, and more where there is nothing to find.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import pytest
import torch

from effects import SURE, p_values
from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide import Augmented, Geometry, InstaHide, Laplace, Mixup, SingularizedMixup
from hideseek.records import Attack, EncodedRelease, MixingEncoder, Samples
from hideseek.records.mixing_secret import MixingSecret
from hideseek.seek import ATTACKS, VARIANTS
from hideseek.seek.networks.learned_search import Learned
from hideseek.seek.networks.restore_signs import RestoreSigns
from hideseek.seek.networks.wide_comparer import WideResNet
from releases import photos
from repeated_pairs import repeated
from weak_generator import masked_by

Given = tuple[EncodedRelease, MixingSecret]


def noise(effect: "Effect") -> Given:
    """Noise in place of the rows."""
    release, secret = hidden(effect)
    return release.as_noise(seeded(5)), secret


def drowned(effect: "Effect") -> Given:
    """Singularized Mixup, with noise that is a hundred thousand times as long as images are apart."""
    return hidden(replace(effect, breaks=SingularizedMixup(tau=1e-10)))


def unrelated(effect: "Effect") -> Given:
    """Public images that were not mixed in."""
    release, secret = hidden(effect)
    assert release.public is not None
    _, others = photos("channel", public=2 * len(release.public))
    return replace(release, public=others.take(slice(len(release.public), None))), secret


@dataclass(frozen=True)
class Effect:
    """What an attack breaks, by which figures, and where it finds nothing."""

    breaks: MixingEncoder
    figures: tuple[str, ...]
    """Of those that decide, these beat their baselines."""
    rounds: int = 6
    settings: dict[str, Any] = field(default_factory=dict)
    """Smaller than by default, to be quick."""
    images: str = "photos"
    nothing_in: Callable[["Effect"], Given] = noise
    masks: int | None = None
    """The seed of a careless generator that masks come from."""
    repeats: float | None = None
    """The length of the noise of pairs that are the same in every round."""


CROSS, MIXED = InstaHide(k=2, k_private=1), Mixup(k=2, k_private=1)
WEAK = InstaHide(k=2, k_private=1, largest=0.9, private_share=0.0)
WEAK_INSIDE = InstaHide(k=2, largest=0.9, private_share=0.0)
QUICK_SIGNS = RestoreSigns(rows=1600, width=4)
EFFECTS = {
    "mixup-pairs": Effect(Mixup(k=2), ("recovered", "auc"), settings={"seeds": 5}),
    "mixup-public": Effect(Mixup(k=3, k_private=1), ("recovered", "re-identified", "hit@1"), 1, {"rows": 30}),
    "braverman": Effect(CROSS, ("hit@1",), 4),
    "demask": Effect(InstaHide(k=2), ("wrong-signs",), 2, {"rows": 800, "width": 4}, images="faces"),
    "average-known": Effect(Mixup(k=2), ("re-identified",)),
    "average-known-demasked": Effect(InstaHide(k=2), ("re-identified",), 8, {"signs": QUICK_SIGNS}, images="faces"),
    "average-search": Effect(Mixup(k=2), ("re-identified", "auc"), 10, {"queries": 30}, images="faces"),
    "average-search-demasked": Effect(
        InstaHide(k=2), ("auc",), 8, {"queries": 30, "signs": QUICK_SIGNS}, images="faces"
    ),
    "public-search": Effect(CROSS, ("hit@1",), 2, nothing_in=unrelated),
    "public-search-plain": Effect(MIXED, ("hit@1",), 8),
    "public-search-ssim": Effect(MIXED, ("hit@1",), 1, images="faces"),
    "public-search-ssim-demasked": Effect(WEAK, ("hit@1",), 4, {"signs": QUICK_SIGNS}, images="faces"),
    "public-search-demasked": Effect(WEAK, ("hit@1",), 6, {"signs": QUICK_SIGNS}, images="faces"),
    "public-search-learned": Effect(MIXED, ("hit@1",), 6, {"similarity": Learned(steps=50)}, images="small photos"),
    "distinguish": Effect(
        InstaHide(k=2), ("accuracy",), 30, {"images": 30, "tests": 1, "locations": 0}, images="faces"
    ),
    "chen": Effect(InstaHide(k=2), ("absolute-correlation", "auc"), 8, images="gaussian"),
    "byte-decoding": Effect(InstaHide(k=2), ("recovered", "re-identified"), 1, {"rows": 20}),
    "generator": Effect(InstaHide(k=2), ("wrong-signs",), 2, {"seeds": 1 << 12}, masks=1234),
    "unmask-public": Effect(InstaHide(k=4, k_private=2), ("recovered", "re-identified", "hit@1"), 1, {"rows": 20}),
    "carlini": Effect(
        InstaHide(k=2),
        ("auc", "absolute-correlation"),
        12,
        {"steps": 60, "seeds": 10, "solve_steps": 100},
        images="faces",
    ),
    "carlini-wide": Effect(
        WEAK_INSIDE,
        ("auc",),
        3,
        {"steps": 60, "seeds": 5, "solve_steps": 50, "wide": WideResNet(10, 1)},
        images="faces",
    ),
    "link-shifted": Effect(
        Augmented(InstaHide(k=2), Geometry(shift=1 / 8, flip=True)),
        ("recovered",),
        12,
        {"seeds": 4, "restarts": 6, "steps": 40, "refits": 1},
        images="small photos",
    ),
    "phase-retrieval": Effect(InstaHide(k=2), ("recovered", "re-identified"), 8),
    "link-and-solve": Effect(InstaHide(k=2), ("recovered",), 10, {"turns": 3}),
    "smooth-signs": Effect(InstaHide(k=4), ("re-identified",), 3, {"rows": 100}, images="faces"),
    "unmix-repeats": Effect(
        SingularizedMixup(), ("recovered", "re-identified"), 30, images="small photos of five classes", repeats=5.0
    ),
    "learned-decoder": Effect(
        SingularizedMixup(radius=1.0),
        ("re-identified",),
        1,
        {"rows": 3200, "width": 4, "batch": 8, "rate": 5e-3},
        "faces",
        drowned,
    ),
    "linear-optimum-labels": Effect(
        Laplace(scale=0.3), ("recovered", "re-identified"), images="faces", nothing_in=drowned
    ),
    "linear-inversion": Effect(Mixup(k=2), ("recovered", "re-identified"), nothing_in=drowned),
    "equal-length": Effect(SingularizedMixup(tau=1e-2), ("membership-auc", "re-identified"), 1),
    "likelihood-ratio": Effect(InstaHide(k=2), ("membership-auc",), 2),
    "linear-optimum": Effect(Laplace(scale=0.3), ("recovered", "re-identified"), images="faces", nothing_in=drowned),
}


@cache
def private_and_public(kind: str) -> tuple[Samples, Samples]:
    if kind == "faces":
        both = normalise(load("faces", size=16), "channel")
        return both.take(slice(0, 40)), both.take(slice(40, None))
    private, public = photos("channel", public=600)
    if kind == "gaussian":
        classes = private.labels.shape[1]
        labels = torch.eye(classes)[torch.arange(40) % classes]
        return Samples(seeded(9).normals(40, 3, 16, 16), labels), public
    if kind.startswith("small photos"):
        private, public = (replace(part, images=part.images[..., 8:24, 8:24]) for part in (private, public))
    if kind == "small photos of five classes":  # neighbours are of two
        return replace(private.take(slice(0, 40)), labels=torch.eye(5)[torch.arange(40) % 5], classes=()), public
    return private.take(slice(0, 40)), public


def hidden(effect: Effect) -> Given:
    """A release whose attacker has images of his own; what is withheld stays so."""
    private, public = private_and_public(effect.images)
    if effect.repeats is not None:
        release, secret = repeated(private, effect.repeats, effect.rounds)
        return replace(release, own=public), secret
    release, secret = effect.breaks.hide(
        private, public if effect.breaks.mixes_public else None, seeded(1), effect.rounds
    )
    if effect.masks is not None:
        release, secret = masked_by(release, secret, effect.masks)
    return replace(release, own=public), secret


def attack(name: str) -> Attack[Any]:
    chosen: Any = {**ATTACKS, **VARIANTS}[name]
    given: Attack[Any] = replace(chosen, **EFFECTS[name].settings)
    return given


def test_the_table_has_every_attack() -> None:
    on_rows = {name for name, each in {**ATTACKS, **VARIANTS}.items() if each.sees is EncodedRelease}
    assert set(EFFECTS) == on_rows  # the others are in test_update_effects.py


@pytest.mark.parametrize("name", EFFECTS)
def test_it_breaks_this(name: str) -> None:
    effect = EFFECTS[name]
    found = p_values(attack(name), *hidden(effect))
    assert {metric for _, metric in found} >= set(effect.figures)
    assert all(value < SURE for (_, metric), value in found.items() if metric in effect.figures), found


@pytest.mark.parametrize("name", EFFECTS)
def test_it_is_at_chance_on_that(name: str) -> None:
    found = p_values(attack(name), *EFFECTS[name].nothing_in(EFFECTS[name]))
    assert found
    assert all(value > SURE for value in found.values()), found
