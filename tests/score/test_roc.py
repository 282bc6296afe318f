import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score, roc_curve

from hideseek.errors import BadInput
from hideseek.score.roc import auc, roc, tpr_at_fpr


@pytest.mark.parametrize("rounded", [False, True], ids=["distinct", "ties"])
def test_against_scikit_learn(rounded: bool) -> None:
    generator = np.random.default_rng(0)
    members = generator.random(400) < 0.3
    scores = generator.standard_normal(400) + members
    scores = np.round(scores, 0 if rounded else 9)
    ours = torch.from_numpy(scores), torch.from_numpy(members)
    assert auc(*ours) == pytest.approx(roc_auc_score(members, scores))
    false, true, _ = roc_curve(members, scores, drop_intermediate=False)
    for mine, theirs in zip(roc(*ours), (false, true), strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs, atol=1e-12)
    for alarms in (0.001, 0.01, 0.1):
        assert tpr_at_fpr(*ours, alarms) == pytest.approx(true[false <= alarms].max())


def test_perfect_reversed_and_constant() -> None:
    members = torch.tensor([True, True, False, False])
    assert auc(torch.tensor([4.0, 3, 2, 1]), members) == 1
    assert auc(torch.tensor([1.0, 2, 3, 4]), members) == 0
    assert auc(torch.zeros(4), members) == 0.5
    assert tpr_at_fpr(torch.tensor([4.0, 3, 2, 1]), members, 0.001) == 1
    assert tpr_at_fpr(torch.zeros(4), members, 0.001) == 0


def test_random_scores_are_at_chance() -> None:
    """2000 + 2000 items: the AUC's deviation is about 0.0091, the TPR's at 1 % about 0.003; four of each."""
    scores = torch.from_numpy(np.random.default_rng(1).random(4000))
    members = torch.arange(4000) % 2 == 0
    assert abs(auc(scores, members) - 0.5) < 0.037
    assert tpr_at_fpr(scores, members, 0.01) < 0.025


def test_one_kind_alone_is_refused() -> None:
    with pytest.raises(BadInput, match="both needed"):
        auc(torch.zeros(3), torch.ones(3, dtype=torch.bool))
    with pytest.raises(BadInput, match="finite"):
        auc(torch.tensor([1.0, float("nan")]), torch.tensor([True, False]))
