"""Every committed entry has its evidence, and leaderboards are those of the entries."""

from pathlib import Path

import pytest

from hideseek.bench import BENCHMARKS, STANDARD, Evidence, Track, as_markdown, entries, flaws

ROOT = Path(__file__).parents[2] / "leaderboard"
COMMITTED = {f"{track}: {each.entry.name}": (track, each) for track in BENCHMARKS for each in entries(ROOT / track)}


@pytest.mark.parametrize(("track", "entry"), COMMITTED.values(), ids=COMMITTED)
def test_an_entry_has_its_evidence(track: Track, entry: Evidence) -> None:
    assert flaws(entry) == []
    assert entry.entry.protocol == BENCHMARKS[track].name


@pytest.mark.parametrize("track", BENCHMARKS)
def test_a_leaderboard_is_what_its_entries_give(track: Track) -> None:
    found = [entry for of, entry in COMMITTED.values() if of == track]
    assert (ROOT / f"{track}.md").read_text("utf-8") == as_markdown(BENCHMARKS[track], found, track)


@pytest.mark.parametrize("track", BENCHMARKS)
def test_every_standard_way_is_there(track: Track) -> None:
    there = {entry.entry.name for of, entry in COMMITTED.values() if of == track}
    assert set(STANDARD[track]) - there <= {"none"}  # of defences, it is called undefended
