"""Compiled loops are there with and without a place for a cache."""

from types import SimpleNamespace
from typing import Any

import numba
import pytest

from hideseek.chance.compiled import compiled


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
