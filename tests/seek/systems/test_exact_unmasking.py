import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from hideseek.chance import seeded
from hideseek.records import Samples
from hideseek.seek.signals.public_sets import Found
from hideseek.seek.systems.byte_decoding import decode_row
from hideseek.seek.systems.confirmation import enough, least_support
from hideseek.seek.systems.exact_unmasking import exact_several, exact_single, fitted_sets
from hideseek.seek.systems.row_under_mask import ExactSet, RowUnderMask
from hideseek.seek.systems.signed_pairs import support
from hideseek.seek.systems.unmasked_rows import unambiguous
from hideseek.seek.systems.weight_lines import consensus
from masked_rows import SCALE, mixed, smooth

SHIFT = np.full(3, -2.0)


def under(count: int, seed: int, shown: int) -> tuple[RowUnderMask, np.ndarray]:
    """A row of two private and some public images, a label that shows so many weights, and all weights."""
    row, weights, public, _ = mixed(count, seed)
    images = Samples(torch.from_numpy(public.reshape(count, *row.shape)), torch.empty(count, 0))
    constants = SCALE.astype(np.float32), SHIFT.astype(np.float32)
    return RowUnderMask(torch.from_numpy(row), weights[:shown].astype(np.float32), 2, *constants, images), weights


@pytest.mark.parametrize("count", [1, 2, 4])
def test_all_weights_are_found_where_the_label_shows_none(count: int) -> None:
    row, weights = under(
        count, 8, 0
    )  # 5 has private weights of 8 : 11, whose solutions neighbours cannot all tell apart
    assert row.mass is None
    places = torch.arange(count)
    guess = torch.from_numpy(weights[2:] + 0.02 * np.array([1, -1, 1, -1])[:count])
    found = exact_several(row, fitted_sets(row, Found(places[None], guess[None])), seeded(0))
    assert found is not None
    np.testing.assert_allclose(found.weights, weights[2:], atol=1e-6)
    private = row.weights(found)
    assert private is not None
    np.testing.assert_allclose(np.sort(private.values), np.sort(weights[:2]), atol=1e-6)
    decoded = row.decode(found, None)
    assert decoded is not None
    assert decoded.sure


def test_the_weight_of_a_single_image_is_voted_for() -> None:
    row, weights = under(1, 4, 0)
    found = exact_single(row, torch.tensor([0]))
    assert found is not None
    np.testing.assert_allclose(found.weights, weights[2:], atol=1e-6)


def test_a_line_of_weights_and_votes_find_what_most_equations_agree_on() -> None:
    generator = np.random.default_rng(0)
    weights = np.array([0.2, 0.15, 0.1])
    seen = generator.normal(0, 1, (400, 3))
    targets = seen @ weights + generator.normal(0, 0.05, 400)
    targets[:25] = seen[:25] @ weights
    drawn = generator.integers(0, 60, (2000, 2))
    found, count = consensus(targets, seen, drawn, weights + 0.01, 1.0, 0.03, 1e-6)
    np.testing.assert_allclose(found, weights, atol=1e-7)
    assert count == (np.abs(targets - seen @ found) < 1e-6).sum() >= 25
    assert consensus(targets, seen, drawn, weights + 0.05, 1.0, 0.03, 1e-6)[1] < 6  # too far from the guess


def test_confirmations_are_wrong_as_seldom_as_is_stated() -> None:
    for expected in (0.1, 0.7, 3.0):
        least = least_support(expected, guesses=1e4, wrong=1e-2)
        tails = [
            1 - sum(math.exp(-expected) * expected**m / math.factorial(m) for m in range(most))
            for most in (least - 1, least)
        ]
        assert tails[1] <= 1e-6 < tails[0]
    drawn = np.random.default_rng(0).poisson(0.7, 2_000_000)  # as many wrong guesses, of which one a hundredth passes
    assert (drawn >= least_support(0.7, guesses=1e4, wrong=1e-2)).sum() <= 10


@pytest.mark.parametrize("shown", [0, 1, 2])
def test_wrong_weights_and_wrong_images_are_not_confirmed(shown: int) -> None:
    row, weights = under(3, 6, shown)
    if shown == 1:  # both images are of one class
        row = replace(row, private=weights[:2].sum(keepdims=True).astype(np.float32))
    right = weights[2:]
    generator = np.random.default_rng(1)
    pairs = row.pairs()
    differences = np.stack([pairs.of(image) for image in row.images([0, 1, 2])])
    assert row.confirmed(ExactSet([0, 1, 2], right, support(pairs, differences, right)))
    for scale in (1e-2, 1e-3, 1e-4):
        for _ in range(100):
            wrong = right + scale * generator.normal(0, 1, 3)
            assert not row.confirmed(ExactSet([0, 1, 2], wrong, support(pairs, differences, wrong)))
    order = [1, 0, 2]
    assert not row.confirmed(ExactSet(order, right, support(pairs, differences[order], right)))
    assert enough(pairs, differences, right, 50, 3)
    assert not enough(pairs, differences, right, 10, 3)


def test_weights_in_the_ratio_of_small_integers_leave_more_than_one_solution() -> None:
    images = smooth(np.random.default_rng(3), 2)
    scale, shift = SCALE.astype(np.float32), SHIFT.astype(np.float32)
    for weights, clear in (((0.4, 0.24), False), ((0.4123457, 0.2398761), True)):
        row = np.tensordot(weights, images * SCALE[:, None, None] + SHIFT[:, None, None], 1)
        decoded = decode_row(
            np.abs(row).astype(np.float32), np.array(weights, np.float32), scale, shift, np.zeros_like(row), masked=True
        )
        assert unambiguous(decoded) is clear
