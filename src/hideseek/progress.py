"""A progress bar for whatever takes longer than two seconds, on a terminal and nowhere else."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import TypeVar

from hideseek.escapes import escaped

DELAY = 2.0  # seconds before a bar is shown
TICK = 0.05  # seconds between updates

T = TypeVar("T")


def track(items: Iterable[T], what: str, total: float | None = None) -> Iterator[T]:
    """Yield `items`, and after two seconds show how far along they are.

    >>> list(track([1, 2, 3], "counting"))
    [1, 2, 3]
    """
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    if total is None and isinstance(items, Sized):
        total = len(items)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(escaped(what), total=total, visible=False)
        start = shown = time.monotonic()
        done = 0
        for item in items:
            yield item
            done += 1
            if (now := time.monotonic()) - shown > TICK:  # an update takes longer than many an item
                progress.update(task, completed=done, visible=now - start > DELAY)
                shown = now
        progress.update(task, completed=done, visible=time.monotonic() - start > DELAY)


@contextmanager
def meter(total: int) -> Iterator[Callable[[int, str], None]]:
    """Give a function that shows on one line how many of `total` steps are done, a text, and the time left.

    >>> with meter(2) as show:
    ...     show(1, "halfway")
    """
    if not sys.stderr.isatty():
        yield lambda done, text: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda done, text: progress.update(task, completed=done, description=escaped(text))
