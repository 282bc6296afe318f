"""The inner loop of every mixing scheme, compiled: out_r = σ_r ∘ (noise_r + Σ_j λ_rj x_{s_rj}).

A row is built in the cache, piece by piece, from its sources where they lie (in memory or on disk, float or byte, in
either order of channels), and is written once. The mask costs one random bit a pixel, moved into the float's sign.
"""

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from hideseek.chance.compiled import compiled
from hideseek.hide.mixing.streaming import ALIGNED, FLOATS, stream

PIECE = 1024  # pixels, a multiple of eight: the sum and two sources fit into the first-level cache
SIGN, ZERO = np.uint32(0x80000000), np.float32(0)

Images = NDArray[Any]  # n × c × pixels, of float32 or uint8
Matrix = NDArray[np.float32]
Rows = NDArray[np.int64]


@compiled(inline="always")
def _sum(  # pragma: no cover (compiled)
    total: Matrix,
    images: Images,
    sources: Rows,
    weights: Matrix,
    scale: Matrix,
    several: int,
    channel: int,
    start: int,
    offset: np.float32,
    keep: bool,
) -> None:
    """Set a piece of a row's sum to `offset`, or add it where `keep`, and add the row's images, two at a time."""
    stop, count = start + len(total), len(sources)
    begin = 0
    if not keep:
        if count >= 2:
            s, t = sources[0], sources[1]
            v, w = weights[0] * scale[s * several, channel], weights[1] * scale[t * several, channel]
            x, y = images[s, channel, start:stop], images[t, channel, start:stop]
            for q in range(len(total)):
                total[q] = offset + v * np.float32(x[q]) + w * np.float32(y[q])
            begin = 2
        else:
            for q in range(len(total)):
                total[q] = offset
    elif offset != 0:
        for q in range(len(total)):
            total[q] += offset
    for j in range(begin, count - 1, 2):
        s, t = sources[j], sources[j + 1]
        v, w = weights[j] * scale[s * several, channel], weights[j + 1] * scale[t * several, channel]
        x, y = images[s, channel, start:stop], images[t, channel, start:stop]
        for q in range(len(total)):
            total[q] += v * np.float32(x[q]) + w * np.float32(y[q])
    if (count - begin) % 2:
        s = sources[count - 1]
        w, x = weights[count - 1] * scale[s * several, channel], images[s, channel, start:stop]
        for q in range(len(total)):
            total[q] += w * np.float32(x[q])


@compiled(inline="always")
def _offset(  # pragma: no cover (compiled)
    sources: Rows, weights: Matrix, shift: Matrix, several: int, channel: int
) -> np.float32:
    """Sum one row's shifts: images are scale · stored + shift."""
    total = np.float32(0)
    for j in range(len(sources)):
        total += weights[j] * shift[sources[j] * several, channel]
    return total


@compiled(inline="always")
def _store(  # pragma: no cover (compiled)
    total: Matrix, out: Matrix, mask: NDArray[np.uint8], fresh: bool
) -> None:
    """Write a finished piece, with the sign of pixel q flipped where bit q of the mask is set.

    In fresh memory nothing passes the cache by: the system has just cleared its pages, which are there.
    """
    target, source, flips = out.ctypes.data, total.ctypes.data, mask.ctypes.data
    streamed = 0 if fresh or target % ALIGNED != 0 else len(out) // FLOATS
    for i in range(streamed):
        stream(numba.uintp(target + 128 * i), numba.uintp(source + 128 * i), numba.uintp(flips + 4 * i))  # type: ignore[call-arg] # numba adds one
    values, bits = total.view(np.uint32), out.view(np.uint32)
    whole = len(out) // 8
    for i in range(FLOATS // 8 * streamed, whole):
        eight = np.uint32(mask[i])
        for t in range(8):
            bits[8 * i + t] = values[8 * i + t] ^ ((eight << np.uint32(31 - t)) & SIGN)
    for q in range(8 * whole, len(out)):
        bits[q] = values[q] ^ ((np.uint32(mask[q // 8]) << np.uint32(31 - q % 8)) & SIGN)


@compiled(fastmath={"contract"})
def mix_rows(  # pragma: no cover (compiled)
    out: Matrix,
    private: Images,
    public: Images,
    scales: tuple[Matrix, Matrix, Matrix, Matrix],
    sources: Rows,
    public_sources: Rows,
    weights: Matrix,
    mask: NDArray[np.uint8],
    noisy: bool,
    fresh: bool,
) -> None:
    """Write the mixture of every row into `out`, which holds the noise already where `noisy`; an empty mask is none.

    `fresh` says that nobody has touched the memory of `out` yet.

    The sum grows in a buffer of its own: a sum in `out` would wait for memory that is about to be overwritten.
    """
    rows, channels, pixels = out.shape
    own = sources.shape[1]
    scale, shift, public_scale, public_shift = scales
    several, public_several = int(len(scale) > 1), int(len(public_scale) > 1)
    buffer, none = np.empty(PIECE, np.float32), np.zeros(PIECE // 8, np.uint8)
    for r in range(rows):
        mine, others, first, rest = sources[r], public_sources[r], weights[r, :own], weights[r, own:]
        for channel in range(channels):
            offset = _offset(mine, first, shift, several, channel)
            offset += _offset(others, rest, public_shift, public_several, channel)
            for start in range(0, pixels, PIECE):
                piece = out[r, channel, start : min(start + PIECE, pixels)]
                total = buffer[: len(piece)]
                if noisy:
                    total[:] = piece
                _sum(total, private, mine, first, scale, several, channel, start, offset, noisy)
                if len(others):
                    _sum(total, public, others, rest, public_scale, public_several, channel, start, ZERO, True)
                _store(total, piece, mask[r, channel, start // 8 :] if len(mask) else none, fresh)
