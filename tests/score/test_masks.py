"""Masks: signs one by one, and what is shown."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide import InstaHide
from hideseek.records import Masks
from hideseek.records.mixing_secret import MixingSecret
from hideseek.score.masks import baselines, check, examples
from hideseek.score.metrics import METRICS
from score.updates import Updates, updates_of
from toys import images


def test_wrong_signs(secret: MixingSecret) -> None:
    assert secret.mask is not None
    signs = seeded(2).signs(10, 3, 16, 16)
    signs[0], signs[1], signs[2] = secret.signs()[30], -secret.signs()[31], 0
    claim = Masks(torch.arange(30, 40), signs)
    expected = []
    for number, row in enumerate(range(30, 40)):
        wrong = 0.0
        for c, q in np.ndindex(3, 256):
            truth = -1 if secret.mask[row, c, q // 8].item() >> (q % 8) & 1 else 1
            wrong += (1 - truth * signs[number, c, q // 16, q % 16].item()) / 2
        expected.append(wrong / 768)
    scores = METRICS["wrong-signs"].score(claim, secret)
    np.testing.assert_allclose(scores.numpy(), expected)
    assert scores[:3].tolist() == [0, 1, 0.5]
    flipped = METRICS["wrong-signs-flipped"].score(claim, secret)
    np.testing.assert_allclose(flipped.numpy(), np.minimum(expected, 1 - np.array(expected)))
    with pytest.raises(BadInput, match="no masks"):
        METRICS["wrong-signs"].score(claim, replace(secret, mask=None))
    with pytest.raises(BadInput, match="speaks of mixed rows, and this release has none"):
        check(claim, updates_of(secret.private, (0, 1), (2, 3)))


def test_coins_are_wrong_half_of_the_time(secret: MixingSecret) -> None:
    (coins,) = baselines(Masks(torch.arange(48), secret.signs()), secret, seeded(0))
    assert coins.drawn  # half of the signs is the exact chance; they are used where that is not known
    chance = METRICS["wrong-signs"].chance
    assert chance is not None
    assert chance(coins.claim, secret).tolist() == [0.5] * 48
    assert METRICS["wrong-signs-flipped"].chance is None
    assert abs(float(METRICS["wrong-signs"].score(coins.claim, secret).mean()) - 0.5) < 0.012  # 4.6 deviations


def test_rows_are_shown_with_their_signs_and_with_those_that_were_found() -> None:
    private, public = images(20, stored=False), images(25, stored=False, seed=4)
    release, secret = InstaHide(k=4, k_private=2).hide(private, public, seeded(0))
    rows, signs = torch.tensor([5, 9, 2, 7]), secret.signs()
    flips = torch.tensor([0.3, 0.0, 0.6, 0.1])[:, None, None, None]
    found = torch.where(seeded(1).uniforms(4, 3, 7, 5) < flips, -signs[rows], signs[rows])
    shown = examples(Masks(rows, found), release, secret)
    assert [(each.kind, each.subject, each.number, each.metric, each.unit) for each in shown] == [
        (kind, "row", row, "wrong-signs", "share") for kind, row in (("best", 9), ("median", 5), ("worst", 2))
    ]
    assert shown[0].value == 0
    assert 0.45 < shown[2].value < 0.75
    assert [(label, hidden) for label, _, hidden in shown[2].panels] == [
        ("under the mask", True), ("shared", False), ("signs restored", True)
    ]  # fmt: skip
    row = release.encoded.images[2]
    for (_, picture, _), sign in zip(shown[2].panels, (signs[2], torch.tensor(1), found[2]), strict=True):
        torch.testing.assert_close(picture, row * sign)
    assert examples(Masks(rows, found), release, replace(secret, mask=None)) == []
    assert examples(Masks(rows, found), Updates(20), secret) == []
