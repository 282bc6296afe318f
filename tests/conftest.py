"""Fixtures for all tests."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch

EPOCHS = 4


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Compute on one thread.

    Small networks are no slower so, and on a busy machine two threads that wait for each other are many times slower.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def short_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let audits train for a few epochs, however much time there is."""
    from hideseek.train.training import Training, automatic

    def few(rows: int) -> Training:
        return replace(automatic(rows), epochs=EPOCHS)

    for place in ("hideseek.audit.utility", "hideseek.audit.planning.plan"):
        monkeypatch.setattr(f"{place}.automatic", few)
