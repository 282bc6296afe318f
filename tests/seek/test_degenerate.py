"""Releases that nobody would make, or that somebody made to break an attack: evidence or one sentence, no traceback."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from attacks_by_kind import ROW_ATTACKS, ROW_VARIANTS
from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide import Coarse, InstaHide, Laplace, Mixup, RecipeEncoder, SingularizedMixup
from hideseek.records import Attack, EncodedRelease, LabelKind, RowType, Samples
from hideseek.report.evidence_sheet import evidence_sheet
from hideseek.seek import ATTACKS, VARIANTS, run
from hideseek.seek.evidence_files import Found, write_evidence
from hideseek.seek.networks.learned_search import Learned
from hideseek.seek.networks.restore_signs import RestoreSigns
from hideseek.seek.networks.wide_comparer import WideResNet
from toys import patterns

SIGNS = RestoreSigns(rows=64, width=4)
QUICK: dict[str, dict[str, Any]] = {
    "demask": {"rows": 64, "width": 4},
    "chen": {"anyway": True},
    "distinguish": {"images": 4, "tests": 1, "locations": 0},
    "carlini": {"steps": 2, "solve_steps": 3, "seeds": 2},
    "learned-decoder": {"rows": 64, "width": 4},
    "carlini-wide": {"steps": 1, "solve_steps": 2, "seeds": 2, "wide": WideResNet(10, 1)},
    "average-known-demasked": {"signs": SIGNS},
    "average-search-demasked": {"signs": SIGNS},
    "public-search-demasked": {"signs": SIGNS},
    "public-search-ssim-demasked": {"signs": SIGNS},
    "generator": {"seeds": 1000},
    "public-search-learned": {"similarity": Learned(steps=2)},
}
"""Settings that make an attack quick."""
MASKED = {"demask", "distinguish", "generator", "carlini", "carlini-wide"}
MASKED |= {name for name in VARIANTS if name.endswith("demasked")}
MANY = {"distinguish", "chen"}  # need many rounds
PUBLIC = {name for name in (*ATTACKS, *VARIANTS) if "public" in name} | {"braverman"}


@cache
def hidden(
    masked: bool,
    public: bool,
    count: int,
    side: int,
    rounds: int,
    labels: LabelKind = "exact",
    rows: RowType = "float32",
    noisy: bool = False,
) -> EncodedRelease:
    """A release of a few images, with all that an attacker could be given."""
    private, others = patterns(count, side=side), patterns(40, side=side, seed=1)
    others = Samples(others.images, torch.empty(40, 0))
    kind = InstaHide if masked else Mixup
    scheme: RecipeEncoder = SingularizedMixup() if noisy else kind(k=2, k_private=1 if public else 2)
    if (labels, rows) != ("exact", "float32"):
        scheme = Coarse(scheme, labels, rows)
    release, secret = scheme.hide(private, others if public else None, seeded(1), rounds)
    return replace(secret.reveal(release, EncodedRelease.withheld), own=others)


def one_huge(images: Tensor) -> Tensor:
    changed = images.clone()
    changed[0, 0, 0, 0] = 3e38
    return changed


VALUES: dict[str, Callable[[Tensor], Tensor]] = {
    "zeros": torch.zeros_like,
    "one value": lambda images: torch.full_like(images, 0.7),
    "flat rows": lambda images: torch.arange(len(images)).float().view(-1, 1, 1, 1).expand_as(images).clone(),
    "equal rows": lambda images: images[:1].expand_as(images).clone(),
    "huge": lambda images: torch.full_like(images, 1e30),
    "huge rows": lambda images: 1e30 * images,
    "large rows": lambda images: 1e9 * images,
    "small rows": lambda images: 1e-9 * images,
    "tiny rows": lambda images: 1e-38 * images,
    "one huge pixel": one_huge,
    "half zeros": lambda images: torch.where(torch.arange(len(images)).view(-1, 1, 1, 1) % 2 == 0, 0.0, images),
}
SIZES = {"two images": (2, 12, 2), "four images": (4, 12, 1), "one pixel": (8, 1, 2), "three pixels": (8, 3, 2)}
LABELS: dict[str, Callable[[Tensor], Tensor]] = {
    "no labels": lambda labels: labels[:, :0],
    "labels of zero": torch.zeros_like,
    "one class": lambda labels: torch.ones(len(labels), 1),
}


def attack(name: str) -> Attack[Any]:
    chosen: Any = {**ATTACKS, **VARIANTS}[name]
    given: Attack[Any] = replace(chosen, **QUICK.get(name, {}))
    return given


def check_run(name: str, release: EncodedRelease, folder: Path) -> None:
    """Run an attack: evidence that is finite, and can be written and drawn, or one sentence."""
    try:
        evidence = run(attack(name), release, seeded(2))
    except BadInput as refused:
        assert "\n" not in str(refused)  # noqa: PT017 (either is right)
        assert str(refused).endswith(".")  # noqa: PT017
    else:
        assert all(claim.finite() for claim in evidence.claims)
        write_evidence(Found(evidence, name, ""), folder)
        evidence_sheet(name, release, evidence)


def release_for(name: str, count: int = 8, side: int = 12, rounds: int = 2) -> EncodedRelease:
    side = 16 if name == "chen" and side == 12 else side  # enough pixels to be attacked at all
    return hidden(
        name in MASKED, name in PUBLIC, count, side, 8 if name in MANY else rounds, noisy=name == "equal-length"
    )


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("name", [*ROW_ATTACKS, *ROW_VARIANTS])
def test_values(name: str, values: str, tmp_path: Path) -> None:
    release = release_for(name)
    encoded = replace(release.encoded, images=VALUES[values](release.encoded.images))
    check_run(name, replace(release, encoded=encoded), tmp_path)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", [*ROW_ATTACKS, *ROW_VARIANTS])
def test_sizes(name: str, size: str, tmp_path: Path) -> None:
    check_run(name, release_for(name, *SIZES[size]), tmp_path)


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("name", [*ROW_ATTACKS, *ROW_VARIANTS])
def test_labels(name: str, labels: str, tmp_path: Path) -> None:
    release = release_for(name)
    encoded = replace(release.encoded, labels=LABELS[labels](release.encoded.labels))
    check_run(name, replace(release, encoded=encoded), tmp_path)


@pytest.mark.parametrize("name", [*ROW_ATTACKS, *ROW_VARIANTS])
def test_noise_that_is_not_there(name: str, tmp_path: Path) -> None:
    """A scheme that says it adds noise, and rows that have none."""
    release = release_for(name)
    check_run(name, replace(release, scheme=Laplace(scale=1e-30)), tmp_path)


@pytest.mark.parametrize(("labels", "rows"), [("rounded", "float16"), ("drawn", "int8"), ("drawn", "float32")])
@pytest.mark.parametrize("name", [*ROW_ATTACKS, *ROW_VARIANTS])
def test_coarse(name: str, labels: LabelKind, rows: RowType, tmp_path: Path) -> None:
    rounds = 8 if name in MANY else 2
    noisy = name == "equal-length"
    check_run(name, hidden(name in MASKED, name in PUBLIC, 8, 12, rounds, labels, rows, noisy), tmp_path)
