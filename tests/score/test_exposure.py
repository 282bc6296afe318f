"""Which private images an attack points to: shares of a gallery that fit its answer worse."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from hideseek.chance import seeded
from hideseek.hide import Mixup
from hideseek.records import Evidence, Links, Membership, Reconstruction
from hideseek.records.mixing_secret import MixingSecret
from hideseek.score import identification
from hideseek.score.exposure import most_exposed
from toys import images


def secret_of(count: int = 20) -> MixingSecret:
    return replace(Mixup(k=2).hide(images(count), None, seeded(0))[1], others=images(count, seed=3))


def test_membership_exposes_by_the_others_below() -> None:
    secret = secret_of()
    scores = torch.zeros(40)
    scores[secret.identities < 0] = torch.arange(20.0)
    scores[(secret.identities == 7)] = 100.0
    scores[(secret.identities == 3)] = 14.5
    found = most_exposed(Evidence((Membership(torch.arange(40), scores),)), secret)
    assert [(each.image, each.share) for each in found] == [(7, 1.0), (3, 0.75)]  # all others are below chance


def test_a_reconstruction_exposes_its_image_by_its_place_in_the_gallery() -> None:
    secret = secret_of()
    guesses = secret.private.pixels(torch.tensor([4, 9]))
    claim = Reconstruction(guesses, torch.tensor([4, 2]), "images")
    shares = identification.exposure(claim, secret)
    assert float(shares[4]) == 1.0
    flat = secret.private.pixels().flatten(1).double()
    gallery = torch.cat([flat, secret.non_members.pixels().flatten(1).double()])
    unit = torch.nn.functional.normalize(gallery - gallery.mean(1, keepdim=True))
    alike = (unit @ unit[9]).abs()
    assert float(shares[2]) == pytest.approx(float((alike < alike[2]).sum()) / 39)
    assert bool(shares[[0, 1, 3]].isnan().all())
    best = most_exposed(Evidence((claim,)), secret)[0]
    assert (best.image, best.share, best.correlation) == (4, 1.0, 1.0)


def test_candidates_that_were_picked_have_no_correlation() -> None:
    secret = secret_of()
    claim = Reconstruction(secret.private.pixels(torch.tensor([4])), torch.tensor([4]), "images", picked=True)
    (best,) = most_exposed(Evidence((claim,)), secret)
    assert (best.image, best.share, best.correlation) == (4, 1.0, None)


def test_of_images_of_one_share_the_one_that_is_more_alike_comes_first() -> None:
    secret = secret_of()
    noise = torch.from_numpy(np.random.default_rng(0).normal(size=secret.private.pixels().shape)).float()
    guesses = secret.private.pixels() + noise * torch.linspace(0.3, 0.0, 20)[:, None, None, None]
    found = most_exposed(Evidence((Reconstruction(guesses, torch.arange(20), "images"),)), secret)
    flat, wanted = guesses.flatten(1).numpy(), secret.private.pixels().flatten(1).numpy()
    alike = [float(np.corrcoef(one, other)[0, 1]) for one, other in zip(flat, wanted, strict=True)]
    assert {each.share for each in found} == {1.0}
    assert [each.correlation for each in found] == pytest.approx([alike[each.image] for each in found], abs=1e-3)
    assert [each.correlation for each in found] == sorted((round(each, 3) for each in alike), reverse=True)[:10]


def test_of_several_claims_the_clearest_counts_and_ten_are_told() -> None:
    secret = secret_of()
    every = torch.arange(20)
    right = Reconstruction(secret.private.pixels(), every, "images")
    nothing = Membership(torch.arange(40), torch.zeros(40))
    links = Links(torch.tensor([0]), torch.tensor([1]), torch.tensor([1.0]))
    found = most_exposed(Evidence((nothing, right, links)), secret)
    assert [(each.image, each.share) for each in found] == [(image, 1.0) for image in range(10)]
    assert most_exposed(Evidence((nothing, links)), secret) == ()


def test_too_much_work_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identification, "EXPOSED_WORK", 1.0)
    secret = secret_of()
    claim = Reconstruction(secret.private.pixels(), torch.arange(20), "images")
    assert bool(identification.exposure(claim, secret).isnan().all())


def test_a_patient_is_told_once_by_his_most_exposed_image() -> None:
    plain = secret_of()
    secret = replace(plain, private=replace(plain.private, patients=50 - torch.arange(20) // 2))
    right = Reconstruction(secret.private.pixels(), torch.arange(20), "images")
    found = most_exposed(Evidence((right,)), secret)
    assert [(each.image, each.patient, each.share) for each in found] == [(2 * n, n, 1.0) for n in range(10)]
    scores = torch.zeros(40)
    scores[secret.identities == 7] = 3.0  # its patient, 3, has the image 6, too
    (told,) = most_exposed(Evidence((Membership(torch.arange(40), scores),)), secret, 1)
    assert (told.image, told.patient) == (6, 3)
