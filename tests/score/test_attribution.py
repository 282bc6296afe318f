"""Attribution: accuracy against scikit-learn, what labels alone tell, the curve."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score

from hideseek.chance import seeded
from hideseek.hide import Mixup
from hideseek.records import Attribution
from hideseek.records.mixing_secret import MixingSecret
from hideseek.score.attribution import baselines, beyond_labels, curves
from hideseek.score.item_labels import item_labels
from hideseek.score.metrics import METRICS
from score.updates import updates_of
from toys import images


def test_accuracy(secret: MixingSecret) -> None:
    generator = np.random.default_rng(5)
    candidates = generator.permutation(24)[:20]
    scores = generator.random((48, 20)) + (candidates == secret.sources[:, :1].numpy())
    claim = Attribution(torch.arange(48), torch.from_numpy(candidates), torch.from_numpy(scores))
    found = METRICS["accuracy"].score(claim, secret)
    assert float(found.mean()) == accuracy_score(secret.sources[:, 0], candidates[scores.argmax(1)])
    ties = replace(claim, scores=torch.zeros(48, 20))
    among = np.isin(secret.sources[:, 0].numpy(), candidates)
    np.testing.assert_allclose(METRICS["accuracy"].score(ties, secret).numpy(), among / 20)
    nobody = Attribution(torch.arange(48), torch.empty(0, dtype=torch.int64), torch.empty(48, 0))
    assert METRICS["accuracy"].score(nobody, secret).tolist() == [0] * 48


def test_labels_alone_are_what_everybody_sees() -> None:
    """A row's image is of a class in its label: no image is needed to name some of them."""
    private = images(24, classes=3, stored=False)
    release, secret = Mixup(k=2).hide(private, None, seeded(0), rounds=2)
    claim = Attribution(torch.arange(48), torch.arange(24), torch.zeros(48, 24))
    guess, alone, sizes = baselines(claim, secret, seeded(0))
    assert (guess.name, guess.drawn, alone.name, alone.drawn) == ("random guess", True, "labels alone", False)
    assert isinstance(sizes.claim, Attribution)
    within = (release.encoded.labels > 0).double() @ private.labels.double().T
    torch.testing.assert_close(sizes.claim.scores.double(), within / 8)  # candidates of a class
    assert isinstance(alone.claim, Attribution)
    expected = release.encoded.labels.double() @ private.labels.double().T
    torch.testing.assert_close(alone.claim.scores.double(), expected, rtol=1e-5, atol=1e-6)
    assert METRICS["accuracy"].score(alone.claim, secret).mean() > 1.2 / 24


def test_labels_of_items_with_fewer_images() -> None:
    secret = updates_of(images(8, classes=4), (0, 1, 6), (3,))
    claim = Attribution(torch.arange(2), torch.arange(4), torch.zeros(2, 4))
    _, alone, _ = baselines(claim, secret, seeded(0))
    assert isinstance(alone.claim, Attribution)
    torch.testing.assert_close(alone.claim.scores, torch.tensor([[1 / 3, 1 / 3, 1 / 3, 0], [0, 0, 0, 1.0]]))


def test_the_test_is_a_permutation_test() -> None:
    """Against the accuracy by 20,000 shuffles of rows within classes, drawn by NumPy; two rows are asked twice."""
    generator = np.random.default_rng(0)
    private = images(12, classes=2)
    nothing = torch.empty(60, 0, dtype=torch.int64)
    secret = MixingSecret(private, torch.arange(60)[:, None] % 12, nothing, torch.ones(60, 1))
    rows = np.append(generator.permutation(60)[:40], [3, 5])
    scores = np.round(generator.random((42, 10)) + 0.1 * (np.arange(10) == secret.sources[rows].numpy()), 1)  # ties
    claim = Attribution(torch.from_numpy(rows), torch.arange(10), torch.from_numpy(scores))
    images_of, top = secret.sources[:, 0].numpy(), scores == scores.max(1, keepdims=True)
    credit = np.hstack([top / top.sum(1, keepdims=True), np.zeros((42, 2))])  # two images are no candidates
    asked, place = np.unique(rows, return_inverse=True)
    drawn = []
    for _ in range(20_000):
        own = images_of[asked]
        for label in range(2):
            members = np.flatnonzero(private.labels.argmax(1).numpy()[images_of[asked]] == label)
            own[members] = own[generator.permutation(members)]
        drawn.append(credit[np.arange(42), own[place]].mean())
    accuracy = float(METRICS["accuracy"].score(claim, secret).mean())
    assert accuracy == pytest.approx(credit[np.arange(42), images_of[rows]].mean())
    wanted = (np.array(drawn) >= accuracy - 1e-9).mean()
    assert 0.001 < wanted < 0.2
    found = beyond_labels(claim, secret, seeded(1)).p_value
    assert abs(found - wanted) < 4 * np.sqrt(wanted / 1999) + 0.001


def test_what_labels_tell_is_no_attribution_and_what_rows_tell_is() -> None:
    """At 5 %, 120 trials each by the label, by a favourite image and by chance: at most 13 err (three deviations).

    Ten images, 36 % of rows named right where labels give some 15 %: found in nine of ten trials at 1e-4.
    """
    errs, found = Counter[str](), 0
    for trial in range(120):
        generator = np.random.default_rng(trial)
        _, secret = Mixup().hide(images(10, classes=2), None, seeded(trial), rounds=20)
        noise = torch.from_numpy(generator.random((200, 10)))
        by_label = item_labels(secret) @ secret.private.labels.double().T + 0.01 * noise
        nulls = {"label": by_label, "chance": noise, "favourite": noise[:1].expand(200, -1)}
        for name, scores in nulls.items():
            claim = Attribution(torch.arange(200), torch.arange(10), scores)
            errs[name] += beyond_labels(claim, secret, seeded(trial)).p_value <= 0.05
        if trial < 20:
            known = torch.from_numpy(generator.random((200, 1)) < 0.25)
            claim = Attribution(
                torch.arange(200), torch.arange(10), by_label + 9 * known * torch.eye(10)[secret.sources[:, 0]]
            )
            found += beyond_labels(claim, secret, seeded(trial)).p_value <= 1e-4
    assert max(errs.values()) <= 13, errs
    assert found >= 18


def test_the_curve_is_how_often_the_image_is_among_the_first() -> None:
    _, secret = Mixup(k=2).hide(images(12), None, seeded(0), rounds=5)
    scores = seeded(2).uniforms(60, 12).float()
    (curve,) = curves(Attribution(torch.arange(60), torch.arange(12), scores), secret)
    for m, share in zip(curve.x, curve.y, strict=True):
        named = scores.argsort(1, descending=True)[:, : int(m)]
        right = np.mean([int(secret.sources[row, 0]) in named[row].tolist() for row in range(60)])
        assert abs(share - right) < 1e-4
    assert curve.y[-1] == 1
    nobody = Attribution(torch.arange(60), torch.empty(0, dtype=torch.int64), torch.empty(60, 0))
    assert curves(nobody, secret) == ()
