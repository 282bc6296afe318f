from dataclasses import replace

import numpy as np
import pytest
import torch

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide import InstaHide
from hideseek.records import EncodedRelease, PublicImagesFound, Samples
from hideseek.seek import run
from hideseek.seek.rows.braverman import Braverman
from releases import photos


def ranking(release: EncodedRelease, attack: Braverman) -> PublicImagesFound:
    (claim,) = run(attack, release, seeded(1)).claims
    assert isinstance(claim, PublicImagesFound)
    return claim


def gaussian(count: int, seed: int, side: int = 24) -> Samples:
    values = np.random.default_rng(seed).standard_normal((count, 1, side, side), dtype=np.float32)
    return Samples(torch.from_numpy(values), torch.empty(count, 0))


def rank_of_truth(claim: PublicImagesFound, sources: torch.Tensor) -> torch.Tensor:
    places = claim.candidates.argsort(1)
    return places.gather(1, sources[claim.rows]).float() / claim.among


def test_the_ranking_is_by_the_printed_formula() -> None:
    release, _ = InstaHide(k=4, k_private=2).hide(gaussian(5, 0, 4), gaussian(9, 1, 4), seeded(1))
    claim = ranking(release, Braverman())
    assert release.public is not None
    rows, images = (s.pixels().flatten(1).double().numpy() for s in (release.encoded, release.public))
    d = rows.shape[1]
    for row, x in enumerate(rows):
        values = np.array([(x**2 * s**2).sum() - (x**2).sum() * (s**2).sum() / d for s in images])
        np.testing.assert_array_equal(claim.candidates[row].numpy(), np.argsort(-values))
        np.testing.assert_allclose(claim.scores[row].numpy(), np.sort(values)[::-1], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("normalised", [False, True])
def test_gaussian_images_are_found_under_the_mask(normalised: bool) -> None:
    release, secret = InstaHide(k=4, k_private=2).hide(gaussian(60, 0), gaussian(300, 1), seeded(1))
    assert rank_of_truth(ranking(release, Braverman(normalised=normalised)), secret.public_sources).mean() < 0.25


def test_another_public_set_is_ranked_by_chance() -> None:
    release, secret = InstaHide(k=4, k_private=2).hide(gaussian(60, 0), gaussian(300, 1), seeded(1))
    ranks = rank_of_truth(ranking(replace(release, public=gaussian(300, 2)), Braverman()), secret.public_sources)
    # the mean of 120 even ranks scatters by 0.29 / √120 = 0.026
    assert ranks.mean() == pytest.approx(0.5, abs=4 * 0.027)


def test_a_scheme_without_public_images_is_refused() -> None:
    release, _ = InstaHide(k=4).hide(gaussian(9, 0), None, seeded(1))
    with pytest.raises(BadInput, match="mixes in none"):
        run(Braverman(), replace(release, public=gaussian(9, 1)), seeded(1))


def test_photographs_are_ranked_above_chance() -> None:
    private, public = photos("channel")
    release, secret = InstaHide(k=4, k_private=2).hide(private, public, seeded(1))
    assert rank_of_truth(ranking(release, Braverman()), secret.public_sources).mean() < 0.42


def test_public_images_of_another_size_are_refused() -> None:
    release, _ = InstaHide(k=4, k_private=2).hide(gaussian(9, 0), gaussian(20, 1), seeded(1))
    with pytest.raises(BadInput, match="at the size that they were mixed at"):
        run(Braverman(), replace(release, public=gaussian(20, 1, side=20)), seeded(1))
