"""A benchmark small enough for a test, and an entry of it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hideseek.bench import PROTOCOLS, QUICK, Evidence, Problem, measured, named, problem

SMALL = replace(
    QUICK["rows"],
    name="rows-small",
    private=12,
    tested=40,
    learnt=64,
    public=30,
    own=30,
    attacks=("linear-inversion", "average-known", "phase-retrieval"),
)


@pytest.fixture(scope="package")
def small() -> Iterator[Problem]:
    """Load the small benchmark, which is known by its name here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PROTOCOLS, SMALL.name, SMALL)
        yield problem(SMALL)


@pytest.fixture(scope="package")
def entry(small: Problem, tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """Measure Mixup by it."""
    ((name, scheme),) = named("mixup", small).items()
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("HIDESEEK_DATA", raising=False)  # LPIPS takes long, and tests/score has it
        return measured(name, scheme, small, tmp_path_factory.mktemp("entries"))


@pytest.fixture
def place(entry: Evidence) -> Path:
    """Give the folder of the entry."""
    return entry.folder
