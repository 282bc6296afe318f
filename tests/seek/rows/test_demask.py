"""Restoring signs: on faces, on noise, and the parts of it against their definitions."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.errors import BadInput
from hideseek.hide import InstaHide, Mixup
from hideseek.records import EncodedRelease, Evidence, Masks, Reason, Refusal, Refused, Samples
from hideseek.records.mixing_secret import MixingSecret
from hideseek.seek import run
from hideseek.seek.networks.own_encodings import own_encodings
from hideseek.seek.networks.restore_signs import Demasker, RestoreSigns
from hideseek.seek.networks.sign_network import Game, SignNetwork, objective
from hideseek.seek.rows.demask import Demask

QUICK = Demask(rows=3200)


@cache
def faces() -> tuple[Samples, Samples]:
    """Private images, and the attacker's own."""
    both = normalise(load("faces", size=16), "channel")
    order = seeded(5).permutation(len(both))
    return both.take(order[:40]), both.take(order[40:])


def noise(count: int, seed: int) -> Samples:
    values = np.random.default_rng(seed).standard_normal((count, 3, 16, 16), dtype=np.float32)
    return Samples(torch.from_numpy(values), torch.ones(count, 1))


def wrong(evidence: Evidence, secret: MixingSecret) -> float:
    """The share of guessed signs that are not the mask's."""
    (claim,) = evidence.claims
    assert isinstance(claim, Masks)
    return float((claim.signs != secret.signs()[claim.rows]).float().mean())


@cache
def attacked() -> tuple[EncodedRelease, MixingSecret, Evidence]:
    private, own = faces()
    release, secret = InstaHide(k=4).hide(private, None, seeded(0), rounds=2)
    release = replace(release, own=own)
    return release, secret, run(QUICK, release, seeded(1))


def test_signs_of_faces_are_restored() -> None:
    """A coin would have half of them wrong; here it is under 0.3, in 20,480 pixels of 80 rows, and he knows it."""
    _, secret, evidence = attacked()
    assert wrong(evidence, secret) < 0.3
    assert evidence.remarks["wrong signs"] < 0.3
    assert evidence.remarks["wrong signs by power"] < evidence.remarks["wrong signs"]
    # 131,072 held-out pixels: four deviations of a fair coin are 0.0055
    assert abs(evidence.remarks["wrong signs before"] - 0.5) < 0.0055


def test_noise_is_at_chance() -> None:
    """Changing the signs of one pixel in all images changes no |x̃|, so pixels are fair and independent.

    Whatever rows have in common, the share of 768 pixels deviates by at most ½/√768 = 0.018; four of it are 0.072.
    """
    release, secret = InstaHide(k=2).hide(noise(60, 1), None, seeded(0))
    evidence = run(replace(QUICK, rows=800), replace(release, own=noise(100, 2)), seeded(1))
    assert abs(wrong(evidence, secret) - 0.5) < 0.072
    assert abs(evidence.remarks["wrong signs"] - 0.5) < 0.072


def test_the_same_seed_gives_the_same_guess() -> None:
    release, _, _ = attacked()
    first, second = (run(Demask(rows=64, width=2, guesses=3), release, seeded(1)).claims[0] for _ in range(2))
    assert isinstance(first, Masks)
    assert isinstance(second, Masks)
    assert torch.equal(first.signs, second.signs)
    assert first.rows.tolist() == [0, 1, 2]


def test_restored_mixtures_keep_their_sizes_and_follow_the_probability() -> None:
    torch.manual_seed(0)
    restore = Demasker(SignNetwork(3, 2))
    images = torch.randn(700, 3, 24, 24)  # two blocks
    with torch.no_grad():
        logits = restore.network(images.abs()).double().numpy()
    sizes, plus = np.abs(images.numpy()), 1 / (1 + np.exp(-logits))
    assert (restore(images).numpy() == np.where(plus < 0.5, -1, 1) * sizes).mean() > 0.999  # but for rounding at ½
    np.testing.assert_allclose(restore(images).abs().numpy(), sizes)
    np.testing.assert_allclose(restore.expected(images).numpy(), (2 * plus - 1) * sizes, atol=1e-5)
    np.testing.assert_allclose(restore.expected(5 * images).numpy(), 5 * (2 * plus - 1) * sizes, atol=1e-4)
    assert torch.equal(restore(torch.zeros(1, 3, 8, 8)), torch.zeros(1, 3, 8, 8))


def test_the_objective_is_the_cross_entropy_of_signs() -> None:
    torch.manual_seed(0)
    game, mixed = Game(1, 2, 0.0), torch.randn(4, 1, 8, 8)
    loss, watched = objective(game, (mixed, mixed))
    logits = game.signs(mixed.abs()).detach().double().numpy()
    plus, signs = 1 / (1 + np.exp(-logits)), mixed.numpy() >= 0
    assert float(loss.detach()) == pytest.approx(-np.log(np.where(signs, plus, 1 - plus)).mean(), rel=1e-5)
    assert float(watched["accuracy"]) == pytest.approx(((plus >= 0.5) == signs).mean())


def test_the_discriminator_learns_forwards_and_the_network_backwards() -> None:
    """Gradients of the game against those of −adversarial · D's loss, taken from soft signs."""
    torch.manual_seed(0)
    game, mixed, weight = Game(1, 2, 0.3), torch.randn(4, 1, 8, 8), 0.3
    mixed /= mixed.square().mean((1, 2, 3), keepdim=True).sqrt()
    objective(game, (mixed, mixed))[0].backward()
    found = [parameter.grad.clone() for parameter in game.parameters() if parameter.grad is not None]
    game.zero_grad()
    assert game.discriminator is not None
    logits = game.signs(mixed.abs())
    plus = torch.sigmoid(logits)
    hard = torch.where(logits < 0, -1.0, 1.0) * mixed.abs()
    leaf = hard.detach().requires_grad_()
    judged = (
        -torch.sigmoid(game.discriminator(mixed)).log().mean() - torch.sigmoid(-game.discriminator(leaf)).log().mean()
    )
    judged.backward()
    assert leaf.grad is not None
    entropy = -torch.where(mixed >= 0, plus, 1 - plus).log().mean()
    (entropy - weight * ((2 * plus - 1) * mixed.abs() * leaf.grad).sum()).backward()
    expected = [parameter.grad for parameter in game.parameters() if parameter.grad is not None]
    assert len(found) == len(expected) == len(list(game.parameters()))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-6)


def test_it_trains_against_a_discriminator_too() -> None:
    private, own = faces()
    release, _ = InstaHide(k=4).hide(private, None, seeded(0))
    assert RestoreSigns(rows=1600, adversarial=0.1).train(replace(release, own=own), seeded(1)).wrong < 0.45


def test_own_encodings_are_what_the_scheme_makes_of_images_kept_apart() -> None:
    """Every image is lit in a place of its own, so a mixture tells which images are in it."""
    images = Samples(torch.eye(24).reshape(24, 1, 4, 6), torch.ones(24, 1))
    release, _ = InstaHide(k=2, k_private=1).hide(images, images, seeded(0))
    training, trial = own_encodings(release, rows=640, batch=8, chance=seeded(1))
    stand_ins = []
    for encodings in (training, trial):
        batches = list(encodings.epoch(0, 0))
        assert len(batches) == encodings.steps == 80
        assert torch.equal(list(encodings.epoch(0, 78))[1][0], batches[79][0])
        encoded, mixed = (torch.cat(parts) for parts in zip(*batches, strict=True))
        assert torch.equal(encoded.abs(), mixed)
        signs = encoded[mixed > 0].sign()
        assert abs(float(signs.mean())) < 4 / len(signs) ** 0.5  # fair coins
        torch.testing.assert_close(mixed.sum((1, 2, 3)), torch.ones(640))
        inside = mixed.flatten(1) > 0
        # every other image is mixed in, the others stand in for private ones: one of each kind is in a row
        assert (inside[:, ::2].sum(1) == 1).all()
        assert (inside[:, 1::2].sum(1) == 1).all()
        assert inside[:, 1::2].any(0).all()
        stand_ins.append(inside[:, ::2].any(0))
    assert (stand_ins[0] ^ stand_ins[1]).all()
    assert int(stand_ins[1].sum()) == 2


def test_public_images_that_are_larger_are_cut() -> None:
    private, _ = faces()
    public = normalise(load("faces", labelled=False), private.normalisation)  # 25 × 25
    release, _ = InstaHide(k=3, k_private=2).hide(private, private, seeded(0))
    restore = RestoreSigns(rows=64, width=2).train(replace(release, public=public), seeded(1))
    assert 0 < restore.wrong < 1


def refused(release: EncodedRelease, **changes: Any) -> Refusal:
    with pytest.raises(Refused) as error:
        run(QUICK, replace(release, **changes), seeded(0))
    return error.value.refusal


def test_what_cannot_be_attacked_is_refused() -> None:
    private, own = faces()
    release, _ = InstaHide(k=4).hide(private, None, seeded(0))
    plain, _ = Mixup(k=4).hide(private, None, seeded(0))
    assert refused(plain, own=own) == Refusal(Reason.NOT_MASKED)
    assert refused(release) == Refusal(Reason.NO_OWN_IMAGES)
    assert refused(release, own=own.take(slice(7))) == Refusal(Reason.TOO_FEW_OWN_IMAGES, {"given": 7, "wanted": 8})
    assert "12×12 with 1 channel" in str(refused(release, own=load("faces", size=12)))


@pytest.mark.parametrize("own", [8, 16, 39])
def test_as_few_own_images_as_are_not_refused_will_do(own: int) -> None:
    """What `refuses` says is what can be run: with the least number of images, every batch can be made."""
    private, more = faces()
    release, _ = InstaHide(k=4).hide(private, None, seeded(0))
    release = replace(release, own=more.take(slice(own)))
    assert RestoreSigns().refuses(release) is None
    for encodings in own_encodings(release, rows=32, batch=16, chance=seeded(1)):
        assert len(list(encodings.epoch(0, 0))) == 2


@pytest.mark.parametrize(
    "settings",
    [{"rows": 15}, {"batch": 0}, {"width": 0}, {"guesses": 0}, {"rate": 0.0}, {"rate": np.inf}, {"adversarial": -1.0}],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="must"):
        Demask(**settings)
