"""Matrices of low rank from some of their entries."""

import numpy as np
import torch

from hideseek.seek.systems.completion import completed


def test_missing_entries_follow_from_the_rank() -> None:
    draw = np.random.default_rng(1)
    truth = torch.from_numpy(draw.normal(size=(80, 4)) @ draw.normal(size=(4, 100)))
    known = truth.abs() > truth.abs().quantile(0.5)
    found, error = completed(truth * known, known, 4, 40)
    assert error < 1e-6
    filled = found.any(1)
    assert int(filled.sum()) > 70
    assert float((found - truth)[filled].norm() / truth.norm()) < 1e-5


def test_what_is_of_no_low_rank_does_not_fit() -> None:
    truth = torch.from_numpy(np.random.default_rng(1).normal(size=(80, 100)))
    known = truth.abs() > truth.abs().quantile(0.5)
    assert completed(truth * known, known, 4, 40)[1] > 0.1


def test_rows_with_too_few_entries_are_left_out() -> None:
    draw = np.random.default_rng(1)
    truth = torch.from_numpy(draw.normal(size=(80, 2)) @ draw.normal(size=(2, 100)))
    known = torch.ones_like(truth, dtype=torch.bool)
    known[3, 1:] = False
    found, _ = completed(truth * known, known, 2, 20)
    assert not bool(found[3].any())
    assert torch.allclose(found[4:], truth[4:])
    assert completed(torch.zeros(5, 6), torch.zeros(5, 6, dtype=torch.bool), 2, 20)[1] == 1.0
