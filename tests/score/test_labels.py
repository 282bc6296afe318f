"""Labels of updates, judged against counting by hand."""

import numpy as np
import pytest
import torch

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.records import Evidence, Labels, Samples
from hideseek.records.update_secret import UpdateSecret
from hideseek.score.judge import judge
from hideseek.score.labels import baselines, labels_right

CLASSES = [0, 0, 1, 2, 2, 2]


def secret() -> UpdateSecret:
    """Give two updates of three images."""
    private = Samples(seeded(1).normals(6, 1, 4, 4), torch.eye(3)[CLASSES])
    return UpdateSecret(private, torch.arange(6).view(2, 3, 1), torch.ones(2, 3, 1), torch.zeros(2, dtype=torch.int64))


def test_labels_are_matched_one_to_one() -> None:
    draw = np.random.default_rng(1)
    for _ in range(20):
        guessed = draw.integers(0, 3, (2, 3))
        shares = torch.stack([torch.eye(3)[row].mean(0) for row in torch.from_numpy(guessed)])
        truth = [CLASSES[:3], CLASSES[3:]]
        right = [
            sum(min(list(g).count(c), t.count(c)) for c in range(3)) / 3 for g, t in zip(guessed, truth, strict=True)
        ]
        assert labels_right(Labels(torch.arange(2), shares), secret()).tolist() == pytest.approx(right)


def test_soft_labels_overlap() -> None:
    shares = torch.tensor([[0.5, 0.5, 0.0]])
    assert labels_right(Labels(torch.tensor([0]), shares), secret()).tolist() == pytest.approx([0.5 + 1 / 3])


def test_the_baselines_know_how_frequent_classes_are() -> None:
    claim = Labels(torch.arange(2), torch.eye(3)[:2])
    found = {each.name: each.claim for each in baselines(claim, secret(), seeded(1))}
    assert found["most frequent class"].parts()["shares"].tolist() == [[0, 0, 1], [0, 0, 1]]
    assert found["all classes as they are"].parts()["shares"][0].tolist() == pytest.approx([1 / 3, 1 / 6, 1 / 2])


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        (Labels(torch.tensor([2]), torch.eye(3)[:1]), "speaks of update 2"),
        (Labels(torch.tensor([0]), torch.eye(4)[:1]), "labels of 4 classes, not of 3"),
        (Labels(torch.tensor([0]), torch.ones(1, 3)), "shares that sum to one"),
    ],
)
def test_what_cannot_be_is_refused(claim: Labels, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        judge(Evidence((claim,)), secret(), seeded(1))
