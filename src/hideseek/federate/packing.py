"""Arrays of float32 in fewer bytes, bit by bit the same: zeros are not sent, and few levels are sent as their numbers.

Pruning leaves zeros, signs leave two values or three, quantising leaves some hundred; sent as they are they would take
as many bytes as if nothing had been left out. Whoever unpacks gets exactly the numbers that a defence left.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hideseek.errors import BadInput

FEWEST = 64  # entries from which on it is worth while
MOST_LEVELS = 256
SAMPLE = 1 << 14  # entries that are looked at first: if they have many values, all have
COUNT = 2  # bytes of the number of levels
WIDTHS = (1, 2, 4, 8)  # bits of the number of a level

Words = NDArray[np.uint32]


def packed(array: NDArray[Any]) -> tuple[str, bytes] | None:
    """Give how an array is packed, and its bytes; None where it is shortest as it is.

    >>> name, data = packed(np.zeros(8000, np.float32))
    >>> name, len(data)
    ('sparse', 1000)
    """
    if array.dtype != np.float32 or array.size < FEWEST:
        return None
    words = np.ascontiguousarray(array).reshape(-1).view(np.uint32)  # numbers by their bits: −0 is not 0
    ways = [way for way in (_levels(words), _sparse(words)) if way is not None]
    name, data = min(ways, key=lambda way: len(way[1]), default=("", b""))
    return (name, data) if name and len(data) < array.nbytes else None


def unpacked(name: str, data: bytes, entries: int) -> NDArray[np.float32]:
    """Give the entries again; bytes of anybody are checked, and give at most 32 times as many bytes."""
    if name not in _UNPACK or entries < FEWEST:
        raise BadInput("it is packed in a way that is unknown here")
    return _UNPACK[name](data, entries).view(np.float32)


def _sparse(words: Words) -> tuple[str, bytes] | None:
    """Write which entries are not 0, a bit each, and then those."""
    there = words != 0
    if np.count_nonzero(there) > (31 * words.size) // 32:
        return None
    return "sparse", np.packbits(there).tobytes() + words[there].astype("<u4").tobytes()


def _dense(data: bytes, entries: int) -> Words:
    head = -(-entries // 8)
    there = np.unpackbits(np.frombuffer(data[:head], np.uint8), count=entries) if len(data) >= head else None
    if there is None or len(data) != head + 4 * int(np.count_nonzero(there)):
        raise BadInput("it is packed wrongly")
    words = np.zeros(entries, np.uint32)
    words[there.view(bool)] = np.frombuffer(data[head:], "<u4")
    return words


def _levels(words: Words) -> tuple[str, bytes] | None:
    """Write the values that occur, and for every entry the number of its own."""
    if len(np.unique(words[:: max(1, words.size // SAMPLE)])) > MOST_LEVELS:
        return None
    values, places = np.unique(words, return_inverse=True)
    if len(values) > MOST_LEVELS:
        return None
    width = _width(len(values))
    few = np.zeros(-(-words.size * width // 8) * 8 // width, np.uint8)
    few[: words.size] = places.reshape(-1)
    together = np.zeros(len(few) * width // 8, np.uint8)
    for place in range(8 // width):
        together |= few[place :: 8 // width] << (8 - width * (place + 1))
    return "levels", len(values).to_bytes(COUNT, "little") + values.astype("<u4").tobytes() + together.tobytes()


def _from_levels(data: bytes, entries: int) -> Words:
    count = int.from_bytes(data[:COUNT], "little")
    start = COUNT + 4 * count
    if not 0 < count <= MOST_LEVELS or len(data) != start + -(-entries * _width(count) // 8):
        raise BadInput("it is packed wrongly")
    width, values = _width(count), np.frombuffer(data[COUNT:start], "<u4").astype(np.uint32)
    together = np.frombuffer(data[start:], np.uint8)
    places = np.empty((len(together), 8 // width), np.uint8)
    for place in range(8 // width):
        places[:, place] = (together >> (8 - width * (place + 1))) & ((1 << width) - 1)
    chosen = places.reshape(-1)[:entries]
    if int(chosen.max()) >= count:
        raise BadInput("it is packed wrongly")
    return values[chosen]


def _width(count: int) -> int:
    return next(width for width in WIDTHS if count <= 1 << width)


_UNPACK: dict[str, Callable[[bytes, int], Words]] = {"sparse": _dense, "levels": _from_levels}
