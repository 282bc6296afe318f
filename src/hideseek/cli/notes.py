"""What the library logs, such as files that it passes over, told to the person at the keyboard."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from hideseek.cli.terminal import complain


class _Notes(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        complain(f"hideseek: {record.getMessage()}")


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
