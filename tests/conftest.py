"""What all tests share.

They compute on one thread each, and several run side by side: two threads that wait for each other are many times
slower on a busy machine.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is loaded
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Iterator
from dataclasses import replace

import pytest

EPOCHS = 4  # of a training in an audit
LONGEST = ("test_readme.py", "test_processes.py", "test_effects.py", "test_audit.py", "test_proofs.py")
"""Modules, the longest first."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest modules first: one that began last would run alone in the end."""
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))


@pytest.fixture
def short_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let audits train for a few epochs, however much time there is."""
    from hideseek.train.training import Training, automatic

    def few(rows: int, *, descends: bool = False) -> Training:
        return replace(automatic(rows, descends=descends), epochs=EPOCHS)

    for place in ("hideseek.audit.utility", "hideseek.audit.planning.plan"):
        monkeypatch.setattr(f"{place}.automatic", few)


@pytest.fixture(scope="module")
def without_lpips() -> Iterator[None]:
    """Let audits judge without LPIPS, whose weights lie with the data: it takes long, and tests/score has it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("HIDESEEK_DATA", raising=False)
        yield


@pytest.fixture(autouse=True)
def still_clock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let audits of the command line run by a clock that stands still: none is cut short on a busy machine."""
    if "cli" in request.path.parts:
        from clocks import VirtualClock

        monkeypatch.setattr("hideseek.audit.run.ProcessClock", VirtualClock)
