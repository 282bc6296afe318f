"""Rows assigned to images: against all assignments of a small round."""

from itertools import combinations, product

import numpy as np
import pytest
import torch

from hideseek.seek.systems.row_assignment import assigned, assignment_work


def best_of_all(scores: np.ndarray, per_row: int) -> float:
    """The largest sum of scores of all assignments in which every image is in as many rows as a row has images."""
    rows, images = scores.shape
    best = -np.inf
    for each in product(combinations(range(images), per_row), repeat=rows):
        counts = np.bincount(np.array(each).ravel(), minlength=images)
        if (counts == per_row).all():
            best = max(best, sum(scores[row, list(chosen)].sum() for row, chosen in enumerate(each)))
    return best


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_best_of_all(seed: int) -> None:
    scores = torch.from_numpy(np.random.default_rng(seed).standard_normal((8, 4)))
    found = assigned(scores, torch.ones(8, 1, dtype=torch.bool), torch.zeros(4, dtype=torch.int64), 2, 2)
    for part in (slice(0, 4), slice(4, 8)):
        chosen = found[part]
        assert (chosen.flatten().bincount(minlength=4) == 2).all()
        assert (chosen[:, 0] != chosen[:, 1]).all()
        total = float(scores[part].gather(1, chosen).sum())
        assert total == pytest.approx(best_of_all(scores[part].numpy(), 2), rel=1e-6)


def test_a_row_has_an_image_of_each_of_its_classes() -> None:
    generator = np.random.default_rng(1)
    of_class = torch.tensor([0, 0, 1, 1])
    truth = torch.tensor([[0, 2], [1, 3], [2, 1], [3, 0]])
    there = torch.ones(4, 2, dtype=torch.bool)
    scores = torch.from_numpy(generator.standard_normal((4, 4)))
    found = assigned(scores, there, of_class, 1, 2)
    assert (of_class[found].sort(1).values == torch.tensor([0, 1])).all()
    scores[torch.arange(4)[:, None], truth] += 10
    assert (assigned(scores, there, of_class, 1, 2).sort(1).values == truth.sort(1).values).all()


def test_one_class_in_the_label_may_be_both_images() -> None:
    there = torch.tensor([[True, False], [False, True], [True, False], [False, True]])
    found = assigned(torch.zeros(4, 4), there, torch.tensor([0, 0, 1, 1]), 1, 2)
    assert found.sort(1).values.tolist() == [[0, 1], [2, 3], [0, 1], [2, 3]]


def test_what_cannot_be_is_filled_as_well_as_may_be() -> None:
    nothing = assigned(torch.rand(3, 2), torch.zeros(3, 1, dtype=torch.bool), torch.tensor([0, 0]), 1, 3)
    assert nothing.shape == (3, 3)
    alone = torch.tensor([[True, False]] * 3)
    assert (assigned(torch.rand(3, 3), alone, torch.tensor([0, 1, 1]), 1, 2) == 0).any(1).all()


def test_more_is_more_work() -> None:
    assert assignment_work(10, 10) < assignment_work(20, 10) < assignment_work(20, 20)
