"""With what weights images are mixed: against brute force, with stated error rates."""

import numpy as np
import pytest
import torch
from scipy import stats

from hideseek.chance import seeded
from hideseek.data import store
from hideseek.hide.mixing import draws
from hideseek.hide.mixing import partners as partners_module
from hideseek.hide.mixing.draws import Law, coefficients
from hideseek.hide.mixing.partners import partners

ERROR = 1e-6


def reference(law: Law, k: int, rows: int, largest: float, private: int, share: float) -> np.ndarray:
    """The same law by NumPy's generator, one row at a time, thrown away where it breaks a bound."""
    generator = np.random.default_rng(0)
    kept: list[np.ndarray] = []
    while len(kept) < rows:
        if law == "uniform":
            row = generator.random(k)
        elif law == "half-normal":
            row = np.abs(generator.standard_normal(k))
        else:
            row = generator.dirichlet([3.0] + [1.0] * (k - 1))
        row = row / row.sum()
        if row.max() <= largest and row[:private].sum() >= share:
            kept.append(row)
    return np.stack(kept)


@pytest.mark.parametrize("law", ["uniform", "half-normal", "dirichlet"])
@pytest.mark.parametrize(
    ("k", "largest", "private", "share"), [(2, 0.65, 2, 0.3), (4, 0.65, 2, 0.3), (6, 0.65, 2, 0.6), (3, 1.0, 3, 0.0)]
)
def test_coefficients_have_their_law(law: Law, k: int, largest: float, private: int, share: float) -> None:
    drawn = coefficients(20_000, k, seeded(4), law, largest, private, share).double().numpy()
    np.testing.assert_allclose(drawn.sum(1), 1, atol=1e-6)
    assert drawn.max() <= largest + 1e-6
    assert (drawn[:, :private].sum(1) >= share - 1e-6).all()
    expected = reference(law, k, 8_000, largest, private, share)
    for ours, theirs in [*zip(drawn.T, expected.T, strict=True), (drawn.max(1), expected.max(1))]:
        assert stats.ks_2samp(ours, theirs).pvalue > ERROR


@pytest.mark.parametrize(("k", "share"), [(2, 0.46), (4, 0.97)])
def test_how_many_draws_keep_to_the_bound(k: int, share: float) -> None:
    free = coefficients(100_000, k, seeded(5))
    assert float((free.max(1).values <= 0.65).double().mean()) == pytest.approx(share, abs=0.01)


def test_one_image_has_all_the_weight() -> None:
    assert torch.equal(coefficients(5, 1, seeded(6)), torch.ones(5, 1))


@pytest.mark.parametrize("law", ["uniform", "half-normal", "dirichlet"])
@pytest.mark.parametrize("bound", [1.0, 0.65])
def test_drawing_piece_by_piece_is_drawing_at_once(law: Law, bound: float, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = coefficients(50_000, 6, seeded(8), law, bound, 3, 0.4)
    assert 4 * draws.PIECE < 6 * 50_000
    monkeypatch.setattr(draws, "PIECE", 1 << 30)
    assert coefficients(50_000, 6, seeded(8), law, bound, 3, 0.4).equal(whole)


def test_weights_and_partners_of_many_rows_lie_in_a_file_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = coefficients(3000, 4, seeded(9), "uniform", 0.65), partners(3000, 4, seeded(9))
    made: list[np.ndarray] = []

    def allocate(shape: tuple[int, ...], dtype: type) -> np.ndarray:
        made.append(store.allocate(shape, dtype))
        return made[-1]

    monkeypatch.setattr(store, "MEMORY_LIMIT", 1000)
    monkeypatch.setattr(draws, "allocate", allocate)
    monkeypatch.setattr(partners_module, "allocate", allocate)
    assert coefficients(3000, 4, seeded(9), "uniform", 0.65).equal(expected[0])
    assert partners(3000, 4, seeded(9)).equal(expected[1])
    assert all(isinstance(each, np.memmap) and each.filename is None for each in made)
    assert len(made) > 2
