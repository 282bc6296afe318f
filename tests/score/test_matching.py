from itertools import permutations

import numpy as np
import pytest
import torch

from hideseek.errors import BadInput
from hideseek.score.matching import one_to_one, ranks


def test_one_to_one_against_trying_everything() -> None:
    generator = np.random.default_rng(0)
    for guesses, truths in ((5, 5), (3, 5), (5, 3)):
        likeness = generator.random((guesses, truths))
        chosen = one_to_one(torch.from_numpy(likeness)).numpy()
        got = sum(likeness[guess, truth] for guess, truth in enumerate(chosen) if truth >= 0)
        small, table = min(guesses, truths), likeness if guesses <= truths else likeness.T
        best = max(
            sum(table[i, order[i]] for i in range(small)) for order in permutations(range(max(guesses, truths)), small)
        )
        assert got == pytest.approx(best)
        used = [truth for truth in chosen if truth >= 0]
        assert len(set(used)) == len(used) == small


def test_ranks_against_sorting() -> None:
    likeness = torch.from_numpy(np.random.default_rng(1).random((50, 30)))
    truth = torch.arange(50) % 30
    order = likeness.argsort(1, descending=True)
    expected = [order[row].tolist().index(int(truth[row])) + 1 for row in range(50)]
    assert ranks(likeness, truth).tolist() == expected


def test_equal_likenesses_share_the_middle_rank() -> None:
    assert ranks(torch.ones(2, 9), torch.tensor([0, 8])).tolist() == [5.0, 5.0]


def test_chance_re_identifies_one_in_so_many() -> None:
    """2000 guesses among 20 candidates: 100 expected, deviation 9.7; within four."""
    likeness = torch.from_numpy(np.random.default_rng(2).random((2000, 20)))
    found = int((ranks(likeness, torch.zeros(2000, dtype=torch.int64)) == 1).sum())
    assert abs(found - 100) < 39


def test_what_is_not_finite_is_refused() -> None:
    with pytest.raises(BadInput, match="finite"):
        one_to_one(torch.tensor([[float("nan")]]))
