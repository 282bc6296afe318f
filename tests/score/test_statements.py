"""What claims state by themselves, where there is no truth: how many, from which rows, and their pictures."""

from dataclasses import replace

import torch

from hideseek.chance import seeded
from hideseek.hide import InstaHide
from hideseek.records import Links, Masks, PublicImagesFound, Reconstruction
from hideseek.records.result import Claimed, RowGroups
from hideseek.score.claims import CLAIMS
from toys import patterns


def stated(claim: Links | Masks | Reconstruction) -> Claimed:
    return CLAIMS[claim.name].states(claim)


def test_links_above_the_threshold_make_groups_of_a_row_and_its_partners() -> None:
    first, second = torch.tensor([0, 0, 0, 3]), torch.tensor([1, 2, 3, 2])
    claim = Links(first, second, torch.tensor([2.0, 0.5, -1.0, 1.0]), threshold=0.0)
    said = stated(claim)
    assert (said.count, said.taken, said.sure) == (4, 3, None)
    assert said.groups == RowGroups(rows=4, sizes={2: 1, 3: 1})  # 0 with 1 and 2; 3 with 2: not joined by 2
    none = stated(Links(first, second, claim.scores, threshold=9.0))
    assert (none.taken, none.groups) == (0, RowGroups(0, {}))
    assert "{groups}" not in none.finding
    ranked = stated(Links(first, second, claim.scores))
    assert (ranked.count, ranked.taken, ranked.groups) == (4, None, None)


def test_guesses_state_the_rows_that_they_are_from() -> None:
    images, about = torch.zeros(3, 1, 4, 4), torch.arange(3)
    groups = torch.tensor([[0, 1, -1], [1, 2, 5], [4, 3, -1]])
    said = stated(Reconstruction(images, about, "any", torch.tensor([True, False, False]), groups=groups))
    assert (said.count, said.sure, said.groups) == (3, 1, RowGroups(6, {2: 2, 3: 1}))
    assert stated(Reconstruction(images, about)).groups is None


def test_pictures_show_sure_guesses_first_then_those_of_most_rows() -> None:
    shared, _ = InstaHide(k=2).hide(patterns(4), None, seeded(1), rounds=2)
    images = seeded(0).normals(3, *shared.encoded.shape)
    groups = torch.tensor([[0, 1, -1, -1, -1, -1, -1], [1, 2, 3, 4, 5, 6, 7], [7, -1, -1, -1, -1, -1, -1]])
    sure = torch.tensor([False, False, True])
    claim = Reconstruction(images, torch.arange(3), "any", sure, groups=groups)
    shown = CLAIMS["reconstruction"].guesses(claim, shared)
    assert [(each.number, each.value, each.unit) for each in shown] == [(2, 1, "rows"), (1, 7, "rows"), (0, 2, "rows")]
    assert [label for label, _, _ in shown[1].panels] == [
        *(f"row {row}" for row in range(1, 6)),
        "guess, not confirmed",
    ]
    assert torch.equal(shown[1].panels[0][1], shared.encoded.pixels()[1])
    assert shown[0].panels[-1][0] == "recovered, and confirmed by the attack"


def test_pictures_of_masks_and_public_images() -> None:
    public = patterns(6, seed=3)
    shared, _ = InstaHide(k=4, k_private=2).hide(patterns(4), public, seeded(1), rounds=2)
    rows, signs = torch.arange(8), seeded(0).signs(8, *shared.encoded.shape)
    masks = CLAIMS["masks"].guesses(Masks(rows, signs), shared)
    assert [each.number for each in masks] == [0, 1, 2]
    assert torch.equal(masks[1].panels[1][1], shared.encoded.pixels()[1] * signs[1])
    candidates = torch.tensor([[5, 2]]).expand(8, 2)
    claim = PublicImagesFound(rows, candidates, torch.ones(8, 2), 6)
    found = CLAIMS["public-images"].guesses(claim, shared)
    assert [each.number for each in found] == [0, 1, 2]
    assert torch.equal(found[0].panels[1][1], public.pixels()[5])
    assert CLAIMS["public-images"].guesses(claim, replace(shared, public=None)) == []
