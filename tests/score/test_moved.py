"""Images that were moved before they were shared are judged as they were shared, too."""

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
import torch
from scipy.optimize import linear_sum_assignment

from hideseek.chance import seeded
from hideseek.data import load
from hideseek.hide import Augmented, Geometry, Mixup
from hideseek.records import Evidence, Reconstruction
from hideseek.records.mixing_secret import MixingSecret
from hideseek.records.moving import moved
from hideseek.score.gallery import gallery
from hideseek.score.ground_truth import likeness, match_guesses
from hideseek.score.judge import judge
from hideseek.score.metrics import METRICS
from hideseek.score.moved import VERSIONS, items_of


@pytest.fixture(scope="module")
def secret() -> MixingSecret:
    """Six rounds of thirty faces, shifted and mirrored, two in a row."""
    private = load("faces").take(torch.arange(0, 90, 3))
    scheme = Augmented(Mixup(k=2), Geometry(shift=0.2, flip=True))
    return scheme.hide(private, None, seeded(0), 6)[1]


def as_shared(secret: MixingSecret, row: int, column: int) -> torch.Tensor:
    assert secret.transforms is not None
    image = secret.private.pixels(secret.sources[row, column][None])
    return moved(image, secret.transforms[row, column][None])[0]


def test_the_items_of_an_image(secret: MixingSecret) -> None:
    for image, items in enumerate(items_of(secret).tolist()):
        holding = [row for row, held in enumerate(secret.sources.tolist()) if image in held]
        assert items == holding[:VERSIONS]
    one = replace(secret, sources=secret.sources[:3], transforms=secret.transforms[:3])  # type: ignore[index]
    assert (items_of(one) >= 0).sum() == 6


@pytest.mark.parametrize("of", ["items", "batches"])
def test_a_guess_about_an_item_is_judged_by_its_image_as_it_is_there(
    of: Literal["items", "batches"], secret: MixingSecret
) -> None:
    rows = torch.arange(40)
    images = torch.stack([as_shared(secret, row, 1) for row in rows])
    claim = Reconstruction(images, rows, of)
    assert METRICS["recovered"].score(claim, secret).tolist() == [1] * 40
    assert METRICS["fitted-ssim"].score(claim, secret).min() > 0.999
    elsewhere = replace(claim, images=images.roll(1, 0))
    assert METRICS["recovered"].score(elsewhere, secret).mean() < 0.1
    still = replace(secret, transforms=None)
    assert METRICS["recovered"].score(claim, still).mean() < 0.5
    original = replace(claim, images=secret.private.pixels(secret.sources[:40, 0]))
    assert METRICS["recovered"].score(original, secret).tolist() == [1] * 40


def test_a_guess_about_an_image_is_judged_by_a_few_versions_of_it(secret: MixingSecret) -> None:
    items = items_of(secret)
    images = torch.arange(30)
    for version in range(VERSIONS):
        there = secret.moved(images, items[:, version])
        column = int((secret.sources[items[5, version]] == 5).nonzero())
        torch.testing.assert_close(there[5], as_shared(secret, int(items[5, version]), column))
        assert METRICS["recovered"].score(Reconstruction(there, images, "images"), secret).tolist() == [1] * 30
        unordered = Reconstruction(there.flip(0), torch.zeros(30, dtype=torch.int64), "any")
        assert match_guesses(unordered, secret).about.tolist() == list(range(29, -1, -1))
        assert METRICS["recovered"].score(unordered, secret).tolist() == [1] * 30


def test_likeness_is_that_of_the_best_version(secret: MixingSecret) -> None:
    guesses = seeded(1).normals(5, *secret.private.shape)
    items = items_of(secret)
    versions = [secret.private.pixels()] + [secret.moved(torch.arange(30), each) for each in items.T]
    tables = [np.corrcoef(guesses.flatten(1), each.flatten(1))[:5, 5:] for each in versions]
    np.testing.assert_allclose(likeness(guesses, secret), np.max(tables, 0), atol=1e-5)
    some = torch.tensor([7, 3])
    np.testing.assert_allclose(likeness(guesses, secret, some), np.max(tables, 0)[:, [7, 3]], atol=1e-5)


def test_baselines_have_the_same_advantage(secret: MixingSecret) -> None:
    """Random images, matched to the version that they are most like, score as a guess of unrelated images does."""
    others = load("faces").take(torch.arange(1, 90, 3))
    claim = Reconstruction(others.pixels(), torch.zeros(30, dtype=torch.int64), "any")
    scores = judge(Evidence((claim,)), secret, seeded(0), ["recovered", "fitted-ssim", "absolute-correlation"]).scores
    assert not any(score.beats for score in scores)
    table = likeness(claim.images, secret)
    rows, columns = linear_sum_assignment(-table.numpy())
    assert match_guesses(claim, secret).about[rows].tolist() == columns.tolist()


def test_chance_counts_the_versions(secret: MixingSecret) -> None:
    chance = METRICS["recovered"].chance
    assert chance is not None
    claim = Reconstruction(secret.private.pixels(), torch.arange(30), "images")
    (rate,) = chance(claim, replace(secret, transforms=None)).unique().tolist()
    assert chance(claim, secret).tolist() == pytest.approx([1 - (1 - rate) ** (1 + VERSIONS)] * 30)


def test_what_is_shown_is_the_version_that_was_guessed(secret: MixingSecret) -> None:
    rows = torch.arange(9)
    claim = Reconstruction(torch.stack([as_shared(secret, row, 0) for row in rows]), rows)
    for each in gallery(claim, secret, 3)["best"]:
        assert each.likeness == pytest.approx(1, abs=1e-4)
        torch.testing.assert_close(each.truth, as_shared(secret, each.number, 0), atol=1e-4, rtol=0)
