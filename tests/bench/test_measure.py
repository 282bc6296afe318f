"""An entry is measured, goes on where it was stopped, and says what it rests on."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hideseek.bench.cost as costs
import hideseek.bench.measure as measuring
from hideseek.audit import utility
from hideseek.bench import QUICK, Evidence, Problem, flaws, measured, named, place_of, problem, read_entry, worst_of
from hideseek.bench.cost import cost
from hideseek.errors import BadInput
from hideseek.models import build
from hideseek.records.result import Outcome

pytestmark = pytest.mark.usefixtures("without_lpips")


def test_an_entry_is_whole_and_is_read_as_it_was_written(entry: Evidence) -> None:
    assert flaws(entry) == []
    read = read_entry(entry.folder)
    assert read.entry == entry.entry
    assert flaws(read) == []
    assert {path.name for path in entry.folder.iterdir()} == {"entry.json", "result.json", "found.png"}
    assert list(entry.folder.parent.iterdir()) == [entry.folder]  # nothing unfinished


def test_what_known_weights_solve_is_broken(entry: Evidence) -> None:
    assert entry.result is not None
    (scheme,) = entry.result.schemes
    outcomes = {each.attack: each.outcome for each in scheme.attacks}
    assert outcomes["linear-inversion"] is Outcome.BROKEN
    assert outcomes["phase-retrieval"] is Outcome.NOT_APPLICABLE
    assert worst_of(entry).startswith("broken by linear-inversion, an attacker who also knows the mix")


def test_costs_are_those_of_rows_of_floats(entry: Evidence) -> None:
    assert entry.result is not None
    labels = 4 * entry.result.private.classes / (3 * 32 * 32)
    assert 4 < entry.entry.cost.shared < 4 + labels  # most of a label's entries are 0
    assert entry.entry.cost.time > 0


def test_a_bit_an_entry_costs_a_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """LeNet's gradient in floats, in signs, and with one entry in ten left: a bit each, and those."""
    fixed = problem(replace(QUICK["updates"], private=2, own=4, tested=4, learnt=8))
    monkeypatch.setattr(costs, "_time", lambda *_: 1.0)
    ways = named("none,sign,gradient-pruning:p=0.9", fixed)
    floats, signs, pruned = (
        cost(fixed, scheme, fixed.question(name, scheme)).shared for name, scheme in ways.items() if scheme is not None
    )
    network = build("lenet", fixed.private.shape, fixed.private.labels.shape[1])
    assert floats == pytest.approx(4 * sum(each.numel() for each in network.parameters()) / (3 * 32 * 32))
    assert 1 / 32 <= signs / floats < 0.05
    assert 0.1 + 1 / 32 <= pruned / floats < 0.15


def test_what_is_there_is_not_measured_again(entry: Evidence, small: Problem) -> None:
    ((name, scheme),) = named("mixup", small).items()
    with pytest.raises(BadInput, match="exists already"):
        measured(name, scheme, small, entry.folder.parent)


def test_one_that_was_stopped_goes_on(small: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The training and the attacks before the stop are kept, and the whole is what it would have been."""
    ((name, scheme),) = named("mixup:k=3", small).items()
    trained: list[int] = []
    train = utility.measure

    def counted(*arguments: Any) -> Any:
        trained.append(1)
        return train(*arguments)

    def stopped(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(measuring, "measure", counted)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(measuring, "cost", stopped)
        measured(name, scheme, small, tmp_path)
    assert not place_of(tmp_path, name).exists()
    told: list[str] = []
    found = measured(name, scheme, small, tmp_path, told.append)
    assert len(trained) == 1
    assert told == []
    assert flaws(found) == []
    assert [path.name for path in tmp_path.iterdir()] == [found.folder.name]


def test_the_same_seed_measures_the_same(entry: Evidence, small: Problem, tmp_path: Path) -> None:
    ((name, scheme),) = named("mixup", small).items()
    again = measured(name, scheme, small, tmp_path)
    assert [each.accuracy for each in again.entry.accuracies] == [each.accuracy for each in entry.entry.accuracies]
    assert again.result is not None
    assert entry.result is not None
    figures, before = (
        {each.attack: each.figures for each in result.schemes[0].attacks} for result in (again.result, entry.result)
    )
    assert figures == before


def test_hiding_nothing_is_an_entry_of_its_own(small: Problem, tmp_path: Path) -> None:
    ((name, scheme),) = named("none", small).items()
    found = measured(name, scheme, small, tmp_path)
    assert flaws(found) == []
    assert (found.result, found.entry.cost.shared, found.entry.cost.time) == (None, 1.0, 1.0)
    assert worst_of(found) == "broken since everybody sees the images"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "damaged"),
        ('{"format": 1, "format": 1}', "damaged"),
        ('{"format": 2}', "damaged"),
    ],
)
def test_damaged_entries_are_refused(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "entry.json").write_text(text)
    with pytest.raises(BadInput, match=said):
        read_entry(tmp_path)


def test_numbers_that_are_none_are_refused(entry: Evidence, tmp_path: Path) -> None:
    described = json.loads((entry.folder / "entry.json").read_text())
    described["cost"]["time"] = float("nan")
    (tmp_path / "entry.json").write_text(json.dumps(described))
    with pytest.raises(BadInput, match="damaged"):
        read_entry(tmp_path)
