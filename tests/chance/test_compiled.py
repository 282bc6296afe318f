"""Compiled loops are there with and without a place for a cache, and run on as many threads as torch has."""

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import hideseek
from hideseek.chance.compiled import compiled, on_threads


def test_without_a_cache_a_function_is_compiled_in_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba refuses to cache where it finds no folder that it may write to."""
    asked = []

    def njit(**options: Any) -> Any:
        asked.append(options)
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return numba.njit(**options)

    monkeypatch.setattr("hideseek.chance.compiled.numba", SimpleNamespace(njit=njit))

    @compiled(fastmath=True)
    def double(value: int) -> int:
        return 2 * value

    assert double(21) == 42
    assert asked == [{"nogil": True, "cache": True, "fastmath": True}, {"nogil": True, "fastmath": True}]


@pytest.fixture(params=[1, 3])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("count", [1, 2, 10])
def test_a_loop_runs_once_for_every_piece_and_leaves_the_threads_of_torch_alone(threads: int, count: int) -> None:
    squares, ran_by = np.zeros(count), set()

    def loop(first: int, last: int, out: NDArray[np.float64]) -> None:
        ran_by.add(threading.get_ident())
        for piece in range(first, last):
            out[piece] += piece**2

    on_threads(loop, count, squares)
    assert squares.tolist() == [piece**2 for piece in range(count)]
    assert threading.get_ident() in ran_by
    assert torch.get_num_threads() == threads


def test_a_mistake_on_another_thread_is_raised(threads: int) -> None:
    def loop(first: int, last: int) -> None:
        if last == 3:
            raise ValueError("the last piece")

    with pytest.raises(ValueError, match="the last piece"):
        on_threads(loop, 3)


def test_no_loop_uses_the_threads_of_numba() -> None:
    """They would set the number of torch's threads for the rest of the process."""
    source = Path(hideseek.__file__).parent
    assert not [path.name for path in source.rglob("*.py") if "compiled(parallel" in path.read_text("utf-8")]
