"""What the library logs, such as files that it passes over, told to the person at the keyboard."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager


class _Notes(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        print(f"hideseek: {record.getMessage()}", file=sys.stderr, flush=True)


@contextmanager
def notes_on_stderr() -> Iterator[None]:
    """Print what the library logs where errors go, and nowhere else."""
    logger, notes = logging.getLogger("hideseek"), _Notes(logging.WARNING)
    before, logger.propagate = logger.propagate, False
    logger.addHandler(notes)
    try:
        yield
    finally:
        logger.removeHandler(notes)
        logger.propagate = before
