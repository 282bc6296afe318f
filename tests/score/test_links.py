"""Links: metrics against scikit-learn, what labels alone tell, the permutation test, the curve."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.metrics import roc_auc_score, roc_curve
from torch import Tensor

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide import Mixup
from hideseek.records import Links, Samples
from hideseek.records.mixing_secret import MixingSecret
from hideseek.score.item_labels import classes_by_size, item_labels
from hideseek.score.link_test import _clustered, beyond_labels
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
    shuffled, labels, sizes = baselines(claim, secret, seeded(1))
    assert isinstance(shuffled.claim, Links)
    assert torch.equal(shuffled.claim.scores.sort().values, claim.scores.sort().values)
    assert not torch.equal(shuffled.claim.scores, claim.scores)
    assert (shuffled.drawn, labels.drawn, sizes.drawn) == (True, False, False)


def test_labels_alone_are_what_everybody_sees() -> None:
    """Rows that share an image share a class: no image is needed to tell some of them."""
    private = images(24, classes=3, stored=False)
    release, secret = Mixup(k=2).hide(private, None, seeded(0), rounds=2)
    labels = release.encoded.labels.double()
    first, second = torch.triu_indices(48, 48, 1)
    _, alone, sizes = baselines(Links(first, second, torch.zeros(len(first))), secret, seeded(0))
    assert (alone.name, sizes.name) == ("labels alone", "classes by size")
    assert isinstance(alone.claim, Links)
    assert isinstance(sizes.claim, Links)
    common = (labels > 0)[first] & (labels > 0)[second]
    torch.testing.assert_close(sizes.claim.scores.double(), common.sum(1).double() / 8)  # of 24 images in 3 classes
    torch.testing.assert_close(alone.claim.scores.double(), (labels @ labels.T)[first, second], rtol=1e-5, atol=1e-6)
    assert METRICS["auc"].score(alone.claim, secret).mean() > 0.6


def everything(secret: MixingSecret, scores: Tensor) -> Links:
    first, second = torch.meshgrid(torch.arange(len(scores)), torch.arange(len(scores)), indexing="ij")
    return Links(first[first != second], second[first != second], scores[first != second])


def alone(private: Samples, rounds: int) -> MixingSecret:
    rows = len(private) * rounds
    nothing = torch.empty(rows, 0, dtype=torch.int64)
    return MixingSecret(private, torch.arange(rows)[:, None] % len(private), nothing, torch.ones(rows, 1))


def test_the_error_of_rows_that_share_images() -> None:
    """Σ e_i e_j over all pairs of rows with a common image, counted once for each image, by its definition."""
    generator = np.random.default_rng(0)
    areas, own = generator.random(30), np.array([generator.permutation(9)[:2] for _ in range(30)])
    areas[7] = np.nan
    own[3, 1] = -1
    both = np.isfinite(areas)
    mean = areas[both].mean()
    total = 0.0
    for i, j in np.ndindex(30, 30):
        if both[i] and both[j]:
            common = len((set(own[i]) & set(own[j])) - {-1})
            total += (1 if i == j else common) * (areas[i] - mean) * (areas[j] - mean)
    squares = np.square(areas[both] - mean).sum()
    found = _clustered(areas, own, 9)
    assert found == pytest.approx((mean, np.sqrt(max(total, squares)) / 29))


def test_the_test_is_a_permutation_test() -> None:
    """Against 60 shuffles of rows within classes, drawn by NumPy: statistic and least AUC to half a deviation."""
    generator = np.random.default_rng(1)
    private = images(30, classes=2)
    secret = alone(private, 3)
    scores = generator.normal(size=(90, 90))
    claim = everything(secret, torch.from_numpy(scores))
    classes, images_of = private.labels.argmax(1).numpy(), secret.sources[:, 0].numpy()

    def mean(own: NDArray[np.int64]) -> float:
        same = own[:, None] == own[None, :]
        areas = [roc_auc_score(np.delete(same[row], row), np.delete(scores[row], row)) for row in range(90)]
        return float(np.mean(areas))

    drawn = []
    for _ in range(60):
        own = images_of.copy()
        for label in range(2):
            members = np.flatnonzero(classes[images_of] == label)
            own[members] = own[generator.permutation(members)]
        drawn.append(mean(own))
    means = np.array(drawn)
    found = beyond_labels(claim, secret, seeded(2))
    statistic = (mean(images_of) - means.mean()) / means.std()
    assert norm.ppf(1 - found.p_value) == pytest.approx(statistic, abs=0.5)  # errors are near the deviation here
    least = found.least(0.025)
    assert least is not None
    assert least == pytest.approx(means.mean() + 1.96 * means.std(), abs=0.5 * means.std())


def test_what_labels_tell_is_no_link_and_a_link_is() -> None:
    """Scores by labels, in two ways, by noise and by how bright a row is: of 120 trials each at 5 %, at most 13 err.

    That is 5 % and three and a half deviations. Where a shared image adds one deviation, nine of ten are found.
    """
    errs, found = Counter[str](), 0
    for trial in range(120):
        generator = np.random.default_rng(trial)
        labels = torch.eye(4)[torch.from_numpy(generator.choice(4, 24, p=[0.5, 0.3, 0.15, 0.05]))]
        _, secret = Mixup().hide(replace(images(24), labels=labels), None, seeded(trial), rounds=2)
        ours = item_labels(secret)
        within, by_size = classes_by_size(ours, secret)
        noise = torch.from_numpy(generator.normal(size=(48, 48)))
        bright = (torch.from_numpy(generator.normal(size=24))[secret.sources] * secret.weights).sum(1)
        nulls = {"labels": ours @ ours.T, "sizes": within @ by_size.T, "noise": noise, "bright": bright.expand(48, 48)}
        for name, scores in nulls.items():
            errs[name] += beyond_labels(everything(secret, scores), secret, seeded(trial)).p_value <= 0.05
        if trial < 20:
            shares = (secret.sources[:, None, :, None] == secret.sources[None, :, None, :]).flatten(2).any(2)
            linked = everything(secret, noise + shares)
            found += beyond_labels(linked, secret, seeded(trial)).p_value <= 1e-4
    assert max(errs.values()) <= 13, errs
    assert found >= 18


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
