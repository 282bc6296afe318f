"""Names come back as they were, wherever they are packed."""

import os
from pathlib import Path

import pytest

from hideseek.data.file_names import TOGETHER, FileNames

FOLDER = Path("scans")


def listed(*names: str) -> FileNames:
    files = FileNames(FOLDER)
    for name in names:
        files.add(Path(FOLDER, name))
    return files


@pytest.mark.parametrize("count", [0, 1, TOGETHER - 1, TOGETHER, TOGETHER + 1, 3 * TOGETHER + 7])
def test_names_come_back_in_their_order(count: int) -> None:
    names = [f"sick/{number:05}.png" for number in range(count)]
    files = listed(*names)
    assert len(files) == count
    assert [files.relative(place) for place in range(count)] == names
    assert list(files) == [Path(FOLDER, name) for name in names]
    assert files[-3:] == [Path(FOLDER, name) for name in names[-3:]]
    with pytest.raises(IndexError):
        files.relative(count)


def test_lists_are_joined_one_after_another() -> None:
    parts = [[f"{kind}/{number}.png" for number in range(TOGETHER + 5)] for kind in "abc"]
    whole = FileNames.joined(FOLDER, (listed(*part) for part in [*parts, []]))
    whole.add(Path(FOLDER, "d.png"))
    names = [*(name for part in parts for name in part), "d.png"]
    assert [whole.relative(place) for place in reversed(range(len(whole)))] == names[::-1]


def test_names_of_any_bytes_are_kept() -> None:
    names = [os.fsdecode(b"\xff\xfe.png"), "two\nlines.png", "Ärztin/1 2.png"]
    assert [listed(*names).relative(place) for place in range(3)] == names


def test_a_million_names_take_little_memory() -> None:
    files = listed(*(f"sick/patient-{number // 9:06}/scan-{number:07}.png" for number in range(50 * TOGETHER)))
    assert sum(map(len, files._blocks)) < 8 * len(files)
