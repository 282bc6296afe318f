"""Links: metrics against scikit-learn, what labels alone tell, the curve."""

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score, roc_curve

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide import Mixup
from hideseek.records import Links
from hideseek.records.mixing_secret import MixingSecret
from hideseek.score.links import baselines, curves, sharing
from hideseek.score.metrics import METRICS
from score.updates import updates_of
from toys import images


def test_metrics(secret: MixingSecret) -> None:
    generator = np.random.default_rng(4)
    first, second = (torch.from_numpy(ends) for ends in np.triu_indices(len(secret.sources), 1))
    sources = [set(row) for row in secret.sources.tolist()]
    truth = np.array([bool(sources[i] & sources[j]) for i, j in zip(first.tolist(), second.tolist(), strict=True)])
    scores = np.round(generator.standard_normal(len(truth)) + truth, 1)  # with ties
    order = generator.permutation(len(truth))  # and in no order
    claim = Links(first[order], second[order], torch.from_numpy(scores[order]))
    expected = []
    for row in range(len(sources)):
        own = first.numpy() == row
        if own.any() and 0 < truth[own].mean() < 1:
            expected.append(roc_auc_score(truth[own], scores[own]))
    np.testing.assert_allclose(METRICS["auc"].score(claim, secret).numpy(), expected)
    assert len(METRICS["auc"].groups(claim, secret)) == len(expected)
    false, true, _ = roc_curve(truth, scores, drop_intermediate=False)
    for name, alarms in (("tpr@fpr=0.01", 0.01), ("tpr@fpr=0.001", 0.001)):
        found = METRICS[name].score(claim, secret)
        assert len(found) == truth.sum() == len(METRICS[name].groups(claim, secret))
        assert float(found.mean()) == pytest.approx(true[false <= alarms].max())
    alone = Links(first[truth], second[truth], torch.zeros(int(truth.sum())))
    for name in ("auc", "tpr@fpr=0.01"):
        with pytest.raises(BadInput, match="both kinds"):
            METRICS[name].score(alone, secret)


def test_items_share_images_and_not_what_is_missing() -> None:
    secret = updates_of(images(8), (0, 1, 2), (3,), (4,), (2, 5), ())
    first, second = torch.triu_indices(5, 5, 1)
    found = sharing(Links(first, second, torch.zeros(10)), secret)
    assert [(a, b) for a, b, both in zip(first.tolist(), second.tolist(), found.tolist(), strict=True) if both] == [
        (0, 3)
    ]


def test_shuffled_scores_are_the_same_scores(secret: MixingSecret) -> None:
    first, second = torch.triu_indices(48, 48, 1)
    claim = Links(first, second, seeded(0).uniforms(len(first)))
    shuffled, labels = baselines(claim, secret, seeded(1))
    assert isinstance(shuffled.claim, Links)
    assert torch.equal(shuffled.claim.scores.sort().values, claim.scores.sort().values)
    assert not torch.equal(shuffled.claim.scores, claim.scores)
    assert (shuffled.drawn, labels.drawn) == (True, False)


def test_labels_alone_are_what_everybody_sees() -> None:
    """Rows that share an image share a class: no image is needed to tell some of them."""
    private = images(24, classes=3, stored=False)
    release, secret = Mixup(k=2).hide(private, None, seeded(0), rounds=2)
    labels = release.encoded.labels.double()
    first, second = torch.triu_indices(48, 48, 1)
    _, alone = baselines(Links(first, second, torch.zeros(len(first))), secret, seeded(0))
    assert alone.name == "labels alone"
    assert isinstance(alone.claim, Links)
    torch.testing.assert_close(alone.claim.scores.double(), (labels @ labels.T)[first, second], rtol=1e-5, atol=1e-6)
    assert METRICS["auc"].score(alone.claim, secret).mean() > 0.6


def test_the_curve_is_the_rate_of_pairs_that_are_found() -> None:
    _, secret = Mixup(k=2).hide(images(20), None, seeded(0), rounds=2)
    first, second = torch.triu_indices(40, 40, 1)
    scores = seeded(1).uniforms(len(first))
    (curve,) = curves(Links(first, second, scores), secret)
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
    assert curves(Links(torch.tensor([0]), torch.tensor([1]), torch.tensor([1.0])), secret) == ()  # pairs of one kind
