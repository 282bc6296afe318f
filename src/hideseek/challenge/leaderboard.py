"""The leaderboard: the published entries of the authors' challenge, and whatever was scored here, beside each other."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter

from hideseek.errors import BadInput
from hideseek.files import new_file, read_record

FORMAT = 1
AUTHORS = "the authors', 100 images, 5,000 rows, k = 6"
SOURCE = "https://github.com/Hazelsuko07/InstaHide_Challenge"
LONGEST = 200  # characters of a name


@dataclass(frozen=True)
class Entry:
    """An attack on a challenge, with its scores (challenge/score.py says how they are measured)."""

    attack: str
    challenge: str
    max_ssim: float
    mean_ssim: float
    min_l2: float
    mean_l2: float
    time: str = ""
    published: bool = False
    """Whether the figures are the authors', of their own challenge; else they were measured by this program."""


HOURS = "2 GPU hours and 2 CPU hours, after 10 GPU hours"
PUBLISHED = (
    Entry("Carlini et al., version 1", AUTHORS, 0.90, 0.43, 0.01, 0.31, HOURS, published=True),
    Entry("Carlini et al., version 2", AUTHORS, 0.79, 0.37, 0.05, 0.42, HOURS, published=True),
    Entry("random generator (Carlini et al.)", AUTHORS, 0.98, 0.47, 0.00, 0.27, "120 CPU hours", published=True),
)


def read_board(path: Path) -> list[Entry]:
    """Read the entries of a leaderboard that were measured here; none where there is no file yet."""
    if not path.exists():
        return []
    try:
        board = read_record(path)
        if set(board) != {"format", "source", "entries"} or board["format"] != FORMAT:
            raise ValueError
        entries = TypeAdapter(list[Entry]).validate_python(board["entries"])
    except (OSError, ValueError, TypeError, KeyError):
        raise BadInput(f"{path} is not a leaderboard that hideseek wrote: name another file.") from None
    return [entry for entry in entries if not entry.published]


def write_board(path: Path, entries: Iterable[Entry]) -> Path:
    """Write a leaderboard as JSON, and as Markdown beside it; gives the place of the latter."""
    ranked = sorted((*PUBLISHED, *entries), key=lambda entry: -entry.max_ssim)
    board = {"format": FORMAT, "source": SOURCE, "entries": [asdict(entry) for entry in ranked]}
    with new_file(path) as file:
        file.write(json.dumps(board, indent=1, ensure_ascii=False, allow_nan=False).encode())
    markdown = path.with_suffix(".md")
    with new_file(markdown) as file:
        file.write(as_markdown(ranked).encode())
    return markdown


def as_markdown(entries: Iterable[Entry]) -> str:
    """Draw the table, the largest Max SSIM first, as the authors rank."""
    head = ("Attack", "Challenge", "Max SSIM", "Mean SSIM", "Min L2", "Mean L2", "Time", "Figures")
    lines = [_line(head), _line(["---"] * len(head))]
    for entry in entries:
        figures = [f"{value:.2f}" for value in (entry.max_ssim, entry.mean_ssim, entry.min_l2, entry.mean_l2)]
        whose = f"[published]({SOURCE})" if entry.published else "measured by hideseek"
        lines.append(_line([_cell(entry.attack), _cell(entry.challenge), *figures, _cell(entry.time), whose]))
    return "\n".join(["# InstaHide challenge", "", *lines, ""])


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    """Give a name without what would end a cell, a line, or begin a tag."""
    plain = "".join(each if each.isprintable() else " " for each in text)[:LONGEST]
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace("|", "&#124;").replace("[", "&#91;")
