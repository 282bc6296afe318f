"""Curves, each against its definition."""

from math import comb

import numpy as np
import torch

from hideseek.audit.findings.curves import curves
from hideseek.chance import seeded
from hideseek.hide import Mixup
from hideseek.records import Attribution, Evidence, Links, PublicImagesFound, Reconstruction
from toys import images


def test_hit_rate_among_the_first_m() -> None:
    private, public = images(30), images(40, seed=1)
    _, secret = Mixup(k=3, k_private=1).hide(private, public, seeded(0))
    order = torch.stack([seeded(row).permutation(40) for row in range(30)])
    (curve,) = curves(Evidence((PublicImagesFound(torch.arange(30), order, torch.zeros(30, 40), 40),)), secret)
    for m, share, baseline in zip(curve.x, curve.y, curve.baseline, strict=True):
        hits = [set(order[row, : int(m)].tolist()) & set(secret.public_sources[row].tolist()) for row in range(30)]
        assert share == np.float64(f"{np.mean([bool(hit) for hit in hits]):.5g}")
        assert abs(baseline - (1 - comb(38, int(m)) / comb(40, int(m)))) < 1e-4
    assert (curve.x[0], curve.x[-1], curve.y[-1]) == (1, 40, 1)


def test_rows_that_share_an_image() -> None:
    _, secret = Mixup(k=2).hide(images(20), None, seeded(0), rounds=2)
    first, second = torch.triu_indices(40, 40, 1)
    scores = seeded(1).uniforms(len(first))
    (curve,) = curves(Evidence((Links(first, second, scores),)), secret)
    shares = np.array(
        [
            bool(set(secret.sources[a].tolist()) & set(secret.sources[b].tolist()))
            for a, b in zip(first, second, strict=True)
        ]
    )
    others = np.sort(scores.numpy()[~shares])[::-1]
    for x, y in zip(curve.x, curve.y, strict=True):
        allowed = int(x * len(others) * (1 + 1e-4))  # false alarms; x was rounded
        threshold = others[allowed] if allowed < len(others) else -1
        assert abs(y - (scores.numpy()[shares] > threshold).mean()) < 0.02
    assert curve.log_x
    assert curve.baseline == curve.x


def test_whose_encoding_it_is() -> None:
    _, secret = Mixup(k=2).hide(images(12), None, seeded(0), rounds=5)
    scores = seeded(2).uniforms(60, 12).float()
    claim = Attribution(torch.arange(60), torch.arange(12), scores)
    (curve,) = curves(Evidence((claim,)), secret)
    for m, share in zip(curve.x, curve.y, strict=True):
        named = scores.argsort(1, descending=True)[:, : int(m)]
        right = np.mean([int(secret.sources[row, 0]) in named[row].tolist() for row in range(60)])
        assert abs(share - right) < 1e-4
    assert curve.y[-1] == 1


def test_claims_without_a_curve_have_none() -> None:
    _, secret = Mixup(k=2).hide(images(12), None, seeded(0))
    nothing = torch.empty(0, dtype=torch.int64)
    one_kind = Links(torch.tensor([0]), torch.tensor([1]), torch.tensor([1.0]))
    guesses = Reconstruction(secret.private.pixels(), torch.arange(12), "images")
    empty = PublicImagesFound(nothing, torch.empty(0, 3, dtype=torch.int64), torch.empty(0, 3), 10)
    assert curves(Evidence((one_kind, guesses, empty)), secret) == ()
