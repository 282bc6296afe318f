"""Standard normals from random words, by the ziggurat method (Marsaglia and Tsang 2000), 256 layers.

The area under f(x) = exp(−x²/2) is cut into 256 layers of equal area. A word picks a layer (8 bits), a sign (1 bit)
and a point in the layer (23 bits); 99 % of the points lie wholly under the curve and are done.

Deviation: the original takes layer and point from the same bits, which correlates them (Doornik 2005); not so here.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hideseek.chance.compiled import compiled

LAYERS = 256
EDGE = 3.6541528853610088  # where the lowest layer's tail begins
AREA = 0.00492867323399  # of every layer
STEP = 2.0**-23


def _layers() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Widths of the layers from the lowest up, and the curve's height at each."""
    widths = np.zeros(LAYERS + 1)
    widths[0], widths[1] = AREA / math.exp(-(EDGE**2) / 2), EDGE
    for i in range(2, LAYERS):
        widths[i] = math.sqrt(-2 * math.log(AREA / widths[i - 1] + math.exp(-(widths[i - 1] ** 2) / 2)))
    return widths, np.exp(-(widths**2) / 2)


WIDTHS, HEIGHTS = _layers()
INNER = np.floor(WIDTHS[1:] / WIDTHS[:-1] / STEP).astype(np.int32)  # points below this are under the curve
SCALE = (WIDTHS[:-1] * STEP).astype(np.float32)
LAYER, SIGN, POINT = np.uint32(255), np.uint32(256), np.uint32(9)  # masks of two fields of a word, shift of the third
BLOCK = 1 << 16  # words at a time: they stay in the cache


@compiled(fastmath=True)
def try_all(
    words: NDArray[np.uint32], out: NDArray[np.float32], outside: NDArray[np.int32]
) -> int:  # pragma: no cover (compiled)
    """Write the point that every word picks, and list those that are not surely under the curve; returns how many.

    Three plain loops, of which the compiler makes vector instructions; one loop takes four times as long.
    """
    for i in range(len(words)):
        out[i] = (np.float32(np.int32(words[i] >> POINT)) + np.float32(0.5)) * SCALE[words[i] & LAYER]
    bits = out.view(np.uint32)
    for i in range(len(words)):
        bits[i] |= (words[i] & SIGN) << np.uint32(23)
    count = 0
    for i in range(len(words)):
        if np.int32(words[i] >> POINT) >= INNER[words[i] & LAYER]:
            outside[count] = i
            count += 1
    return count


@compiled()
def keep_or_drop(
    words: NDArray[np.uint32], out: NDArray[np.float32], outside: NDArray[np.int32], more: NDArray[np.uint32]
) -> int:  # pragma: no cover (compiled)
    """Decide on the listed points with two more words each; returns how many are dropped, now first in the list."""
    dropped = 0
    for j in range(len(outside)):
        i = outside[j]
        layer = words[i] & LAYER
        first, second = (more[2 * j] + 0.5) * 2.0**-32, (more[2 * j + 1] + 0.5) * 2.0**-32
        if layer == 0:  # the tail beyond EDGE (Marsaglia 1964); refused, it repeats in itself
            beyond = -math.log(first) / EDGE
            if -2 * math.log(second) > beyond * beyond:
                out[i] = math.copysign(EDGE + beyond, out[i])
                continue
        else:  # the wedge between this layer's corner and the curve
            height = HEIGHTS[layer] + first * (HEIGHTS[layer + 1] - HEIGHTS[layer])
            if height < math.exp(-0.5 * out[i] * out[i]):
                continue
        outside[dropped] = i
        dropped += 1
    return dropped


def _fill(out: NDArray[np.float32], draw: Callable[[int], NDArray[np.uint32]]) -> None:
    words, outside = draw(len(out)), np.empty(len(out), np.int32)
    pending = outside[: try_all(words, out, outside)]
    while len(pending):
        pending = pending[: keep_or_drop(words, out, pending, draw(2 * len(pending)))]
        in_tail = (words[pending] & LAYER) == 0
        again = pending[~in_tail]  # a refused wedge starts over with a new word
        words[again] = draw(len(again))
        values, unsure = np.empty(len(again), np.float32), np.empty(len(again), np.int32)
        still = unsure[: try_all(words[again], values, unsure)]
        out[again] = values
        pending = np.concatenate([pending[in_tail], again[still]])


def normals(count: int, draw: Callable[[int], NDArray[np.uint32]]) -> NDArray[np.float32]:
    """Turn words, of which `draw(n)` gives n fresh ones, into `count` standard normals."""
    out = np.empty(count, np.float32)
    for start in range(0, count, BLOCK):
        _fill(out[start : start + BLOCK], draw)
    return out
