"""What an audit took, kept so that one that goes on after a pause says the whole of it."""

from dataclasses import dataclass
from datetime import UTC, datetime

from hideseek.records.result import StepKey


@dataclass(frozen=True)
class TimeSpent:
    """When an audit was begun, and what it took so far, before pauses too."""

    started: str
    work: float = 0.0
    """Seconds of its own work."""
    wall: float = 0.0
    """Seconds that passed while it was at work."""
    took: tuple[tuple[StepKey, float], ...] = ()
    """Seconds of work of each step."""


def now() -> str:
    """Tell the date and the time."""
    return datetime.now(UTC).isoformat(timespec="seconds")
