"""Sharing out the time of an audit."""

import numpy as np
import pytest

from hideseek.audit.planning.budget import Piece, share
from hideseek.errors import BadInput


def pieces(seed: int) -> list[Piece]:
    generator = np.random.default_rng(seed)
    made = [Piece("a/hide", "", 0.5, needed=True), Piece("accuracy", "", 1.0, 3.0, 90.0)]
    for number in range(8):
        fixed, least, more = generator.exponential([2.0, 3.0, 40.0])
        made.append(Piece(f"a/{number}", "", fixed, least, least + more))
    return made


@pytest.mark.parametrize("seed", range(5))
def test_what_is_planned_fits_the_budget(seed: int) -> None:
    whole = pieces(seed)
    for budget in np.geomspace(10, 2000, 30):
        shared = share(whole, budget)
        assert [piece.key for piece in shared] == [piece.key for piece in whole]
        assert sum(piece.expected for piece in shared) <= budget * (1 + 1e-9)
        kept = [piece for piece in shared if not piece.left_out]
        assert all(piece.least <= piece.scaled <= piece.full * (1 + 1e-9) for piece in kept)
        cut = [piece for piece in kept if piece.key != "accuracy" and piece.share < 1 and piece.scaled > piece.least]
        assert np.ptp([piece.scaled for piece in cut] or [0]) < 1e-6  # no attack is favoured …
        whole_ones = [piece.full for piece in kept if piece.key != "accuracy" and piece.share == 1]
        assert not cut or max(whole_ones, default=0) <= cut[0].scaled + 1e-6  # … and none is cut that needs less
    assert all(piece.share == 1 and not piece.left_out for piece in share(whole, 1e6))


def test_more_time_leaves_nothing_out_that_less_time_had() -> None:
    before: set[str] = set()
    for budget in np.geomspace(10, 500, 40):
        kept = {piece.key for piece in share(pieces(0), budget) if not piece.left_out}
        assert before <= kept
        before = kept


def test_training_takes_what_attacks_leave_or_a_quarter() -> None:
    whole = [Piece("accuracy", "", 0, 1, 100), Piece("a/x", "", 0, 1, 40)]
    assert [piece.expected for piece in share(whole, 100)] == pytest.approx([60, 40])
    assert [piece.expected for piece in share(whole, 42)] == pytest.approx([1 + 10.5, 42 - 11.5])
    assert [piece.expected for piece in share(whole, 300)] == [100, 40]


def test_the_costliest_is_left_out_first() -> None:
    whole = [Piece("a/hide", "", 1, needed=True), Piece("a/x", "", 0, 2, 9), Piece("a/y", "", 0, 7, 9)]
    assert [piece.left_out for piece in share(whole, 9)] == [False, False, True]


def test_a_budget_too_small_for_anything_says_the_least_that_works() -> None:
    whole = [Piece("a/hide", "", 1, needed=True), Piece("a/x", "", 1, 2, 9), Piece("a/y", "", 0, 70, 90)]
    with pytest.raises(BadInput, match=r"a budget of 3 s is too small .* least that works is 5 s;") as caught:
        share(whole, 3)
    assert "--budget" in str(caught.value)
    assert not share(whole, 5)[1].left_out  # and it does
    assert share([whole[0]], 0.5)  # no attack applies: there is nothing to be too small for
