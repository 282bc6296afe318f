"""The leaderboards of the fixed benchmark, as they are committed beside their entries."""

from collections.abc import Iterator
from pathlib import Path

from page import Page

BOARDS = Path(__file__).parents[2] / "leaderboard"


def board_pages() -> Iterator[Page]:
    """Give a page a leaderboard."""
    for path in sorted(BOARDS.glob("*.md")):
        yield Page(f"leaderboard/{path.name}", path.stem.capitalize(), path.read_text("utf-8"))
