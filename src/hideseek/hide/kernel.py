"""The inner loop of every mixing scheme, compiled: out_r = σ_r ∘ (noise_r + Σ_j λ_rj x_{s_rj}).

A row is built in the cache, piece by piece, from its sources where they lie (in memory or on disk, float or byte, in
either order of channels), and is written once. The mask costs one random bit a pixel, moved into the float's sign.
"""

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

PIECE = 1024  # pixels, a multiple of eight: the sum and two sources fit into the first-level cache
SIGN = np.uint32(0x80000000)

Images = NDArray[Any]  # n × c × pixels, of float32 or uint8
Matrix = NDArray[np.float32]
Rows = NDArray[np.int64]


@numba.njit(nogil=True, cache=True, inline="always")
def _add(  # pragma: no cover (compiled)
    total: Matrix, images: Images, sources: Rows, weights: Matrix, scale: Matrix, channel: int, start: int
) -> None:
    """Add one row's images to a piece of its sum, two at a time: half the passes over the sum."""
    stop, count = start + len(total), len(sources)
    for j in range(0, count - 1, 2):
        s, t = sources[j], sources[j + 1]
        v, w = weights[j] * scale[s % len(scale), channel], weights[j + 1] * scale[t % len(scale), channel]
        x, y = images[s, channel, start:stop], images[t, channel, start:stop]
        for q in range(len(total)):
            total[q] += v * np.float32(x[q]) + w * np.float32(y[q])
    if count % 2:
        s = sources[count - 1]
        w, x = weights[count - 1] * scale[s % len(scale), channel], images[s, channel, start:stop]
        for q in range(len(total)):
            total[q] += w * np.float32(x[q])


@numba.njit(nogil=True, cache=True, inline="always")
def _offset(  # pragma: no cover (compiled)
    sources: Rows, weights: Matrix, shift: Matrix, channel: int
) -> np.float32:
    """Sum one row's shifts: images are scale · stored + shift."""
    total = np.float32(0)
    for j in range(len(sources)):
        total += weights[j] * shift[sources[j] % len(shift), channel]
    return total


@intrinsic
def _stream(_: Any, target: Any, source: Any, byte: Any) -> Any:
    """Copy eight floats past the cache, from and to addresses that 16 divides, flipping signs by the bits of a byte.

    An ordinary store first reads what it overwrites; where nobody needs the old content, that is a read for nothing.
    """
    signature = types.void(types.uintp, types.uintp, types.uint8)

    def generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        word = ir.IntType(32)
        eight = ir.VectorType(word, 8)
        to, at, flips = arguments
        lane = builder.insert_element(ir.Constant(eight, ir.Undefined), builder.zext(flips, word), ir.Constant(word, 0))
        spread = builder.shuffle_vector(lane, lane, ir.Constant(eight, [0] * 8))
        shifted = builder.shl(spread, ir.Constant(eight, [31 - t for t in range(8)]))
        signs = builder.and_(shifted, ir.Constant(eight, [0x80000000] * 8))
        values = builder.load(builder.inttoptr(at, eight.as_pointer()), align=16)
        store = builder.store(builder.xor(values, signs), builder.inttoptr(to, eight.as_pointer()), align=16)
        store.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(word, 1)]))
        return context.get_dummy_value()

    return signature, generate


@numba.njit(nogil=True, cache=True, inline="always")
def _store(total: Matrix, out: Matrix, mask: NDArray[np.uint8]) -> None:  # pragma: no cover (compiled)
    """Write a finished piece, with the sign of pixel q flipped where bit q of the mask is set; an empty mask is none."""
    target, source = out.ctypes.data, total.ctypes.data
    done = len(out) // 8 if (target | source) % 16 == 0 else 0
    for i in range(done):
        byte = mask[i] if len(mask) else np.uint8(0)
        _stream(numba.uintp(target + 32 * i), numba.uintp(source + 32 * i), byte)
    values, bits = total.view(np.uint32), out.view(np.uint32)
    for q in range(8 * done, len(out)):
        flip = np.uint32(mask[q // 8]) << np.uint32(31 - q % 8) if len(mask) else np.uint32(0)
        bits[q] = values[q] ^ (flip & SIGN)


@numba.njit(nogil=True, cache=True, fastmath={"contract"})
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
) -> None:
    """Write the mixture of every row into `out`, which holds the noise already where `noisy`; an empty mask is none.

    The sum grows in a buffer of its own: a sum in `out` would wait for memory that is about to be overwritten.
    """
    rows, channels, pixels = out.shape
    own = sources.shape[1]
    scale, shift, public_scale, public_shift = scales
    buffer = np.empty(PIECE, np.float32)
    none = np.empty(0, np.uint8)
    for r in range(rows):
        for channel in range(channels):
            offset = _offset(sources[r], weights[r, :own], shift, channel)
            offset += _offset(public_sources[r], weights[r, own:], public_shift, channel)
            for start in range(0, pixels, PIECE):
                piece = out[r, channel, start : min(start + PIECE, pixels)]
                total = buffer[: len(piece)]
                total[:] = offset
                if noisy:
                    total += piece
                _add(total, private, sources[r], weights[r, :own], scale, channel, start)
                _add(total, public, public_sources[r], weights[r, own:], public_scale, channel, start)
                _store(total, piece, mask[r, channel, start // 8 :] if len(mask) else none)
