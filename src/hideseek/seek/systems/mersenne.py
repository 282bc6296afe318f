"""Searching the seed of a Mersenne Twister, which has 32 bits, by what its first bits would make of a row.

NumPy's `random.seed` and torch's `manual_seed` on a processor fill the same 624 words from 32 bits (Matsumoto and
Nishimura 1998). Output j needs words j, j + 1 and j + 397 alone, so that a seed is tried without filling all of them.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hideseek.chance.compiled import compiled

LANES = 32  # seeds that are tried together: their words lie side by side, for vector instructions
WORDS, MIDDLE = 624, 397
MOST_OUTPUTS = WORDS - MIDDLE  # that need no word that was made before
SPACE = 1 << 32

Words = NDArray[np.uint32]
Draw = Literal["randint", "torch.rand", "numpy.rand"]


class BitOf(NamedTuple):
    """Which bit of an output becomes a sign, and how many outputs a number takes."""

    bit: int
    outputs: int


DRAWS: dict[Draw, BitOf] = {
    "randint": BitOf(0, 1),  # of NumPy and torch: an output modulo 2
    "torch.rand": BitOf(23, 1),  # above ½: the first of 24 bits
    "numpy.rand": BitOf(31, 2),  # above ½: the first of 53 bits, of two outputs
}


def signs_from(seed: int, draw: Draw, before: int, count: int) -> NDArray[np.int8]:
    """Give so many signs, −1 where the bit is 0, as a program draws them after `before` outputs.

    >>> signs_from(7, "randint", 0, 5).tolist() == (2 * np.random.RandomState(7).randint(0, 2, 5) - 1).tolist()
    True
    """
    bit, outputs = DRAWS[draw]
    stream = np.random.RandomState(seed)
    words = stream.randint(0, SPACE, before + outputs * count, dtype=np.uint32)[before::outputs]
    return (2 * ((words >> np.uint32(bit)) & np.uint32(1)).astype(np.int8) - 1).astype(np.int8)


@compiled(fastmath=True, error_model="numpy", boundscheck=False)
def smooth_seeds(  # pragma: no cover (compiled)
    first: int,
    count: int,
    weights: NDArray[np.float32],
    bit: int,
    outputs: int,
    before: int,
    lag: int,
    least: float,
    found: NDArray[np.int64],
) -> int:
    """Try `count` seeds from `first` on: keep those whose signs make neighbours agree, Σ_p w_p s_p s_{p+lag} ≥ least.

    `weights` are those of neighbouring pixels of a run, with the sign of their product in the row; 0 where two are no
    neighbours. Gives how many seeds are kept, in `found`.
    """
    pixels = len(weights) + lag
    last = before + outputs * (pixels - 1) + 1  # outputs that are needed
    state = np.empty((MIDDLE + last, LANES), np.uint32)
    sums, drawn = np.empty(LANES, np.float32), np.zeros((lag, LANES), np.uint32)
    kept, shift = 0, np.uint32(bit)
    for block in range(0, count, LANES):
        for lane in range(LANES):
            state[0, lane] = np.uint32(first + block + lane)
            sums[lane] = 0
        for j in range(1, MIDDLE + last):
            number = np.uint32(j)
            before_it, it = state[j - 1], state[j]
            for lane in range(LANES):
                word = before_it[lane]
                mixed = np.uint32(word ^ np.uint32(word >> np.uint32(30)))
                it[lane] = np.uint32(np.uint32(mixed * np.uint32(1812433253)) + number)
        for p in range(pixels):
            j = before + outputs * p
            weight = np.float32(0) if p < lag else weights[p - lag]
            previous = drawn[p % lag]
            here, after, far = state[j], state[j + 1], state[j + MIDDLE]
            for lane in range(LANES):
                y = np.uint32((here[lane] & np.uint32(0x80000000)) | (after[lane] & np.uint32(0x7FFFFFFF)))
                odd = np.uint32(np.uint32(0) - np.uint32(y & np.uint32(1)))
                y = np.uint32(far[lane] ^ np.uint32(y >> np.uint32(1)) ^ np.uint32(odd & np.uint32(0x9908B0DF)))
                y = np.uint32(y ^ np.uint32(y >> np.uint32(11)))
                y = np.uint32(y ^ (np.uint32(y << np.uint32(7)) & np.uint32(0x9D2C5680)))
                y = np.uint32(y ^ (np.uint32(y << np.uint32(15)) & np.uint32(0xEFC60000)))
                y = np.uint32(y ^ np.uint32(y >> np.uint32(18)))
                now = np.uint32(np.uint32(y >> shift) & np.uint32(1))
                differs = np.int32(np.uint32(now ^ previous[lane]) & np.uint32(1))
                sums[lane] += weight * np.float32(1 - 2 * differs)
                previous[lane] = now
        for lane in range(LANES):
            if sums[lane] >= least and block + lane < count and kept < len(found):
                found[kept] = first + block + lane
                kept += 1
    return kept
