"""Guesses to look at."""

import pytest
import torch

from hideseek.chance import seeded
from hideseek.hide import Mixup
from hideseek.records import Reconstruction
from hideseek.records.mixing_secret import MixingSecret
from hideseek.score.gallery import gallery, usual_item
from score.updates import updates_of
from toys import images


def test_the_gallery_has_the_best_and_the_worst(secret: MixingSecret) -> None:
    pixels = secret.private.pixels()
    levels = torch.linspace(0, 5, 24)[:, None, None, None]
    claim = Reconstruction(-2 * pixels + 1 + levels * seeded(2).normals(*pixels.shape), torch.arange(24), "images")
    shown = gallery(claim, secret, 3)
    assert [example.image for example in shown["best"]] == [0, 1, 2]
    assert {example.image for example in shown["worst"]} <= set(range(12, 24))
    best = shown["best"][0]
    assert best.likeness == pytest.approx(1, abs=1e-5)
    torch.testing.assert_close(best.guess, best.truth, atol=0.03, rtol=0)  # turned, but for the offsets of channels
    torch.testing.assert_close(best.truth, secret.private.images[0] / 255)
    rows = Reconstruction(secret.private.pixels(secret.sources[:, 0]), torch.arange(48))
    assert [len(examples) for examples in gallery(rows, secret).values()] == [6, 6, 6]


def test_what_has_no_image_is_not_shown() -> None:
    private = images(6, stored=False)
    secret = updates_of(private, (0, 1), (2,), ())
    claim = Reconstruction(private.images[[1, 2, 3]], torch.tensor([0, 1, 2]))
    shown = gallery(claim, secret)
    assert {example.image for kind in shown.values() for example in kind} == {1, 2}


def test_a_usual_item_has_the_median_share() -> None:
    _, secret = Mixup().hide(images(12), None, seeded(0), rounds=5)
    for image in range(12):
        has = [(float(secret.weights[r, j]), r) for r in range(60) for j in range(2) if secret.sources[r, j] == image]
        assert usual_item(secret, image) == sorted(has)[len(has) // 2][1]
    assert usual_item(updates_of(images(3), (0, 1), (0,)), 2) is None
