"""Work on many items on a few threads, results in order, however many items there are."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

TOGETHER = 64  # items that a thread takes at a time
AHEAD = 3  # such parts, for every thread, that are begun before their results are taken

T = TypeVar("T")


def in_order(work: Callable[[int], T], count: int, threads: int) -> Iterator[T]:
    """Yield work(0), work(1), … of `count` items; only a few hundred of them are under way, so memory stays bounded.

    >>> list(in_order(lambda number: number**2, 4, threads=2))
    [0, 1, 4, 9]
    """

    def part(start: int) -> list[T]:
        return [work(item) for item in range(start, min(start + TOGETHER, count))]

    under_way: deque[Future[list[T]]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for start in range(0, count, TOGETHER):
                under_way.append(pool.submit(part, start))
                if len(under_way) > AHEAD * threads:
                    yield from under_way.popleft().result()
            while under_way:
                yield from under_way.popleft().result()
        finally:  # after an error, or when nobody asks for more
            for each in under_way:
                each.cancel()
