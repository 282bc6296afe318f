"""The equations of a row's pixels: what Σ_j w_j b_j is, in bytes, and how far it may be off."""

import numpy as np
from numpy.typing import NDArray

from hideseek.seek.systems.byte_solutions import Array, Solutions, byte_solutions

ROUNDING, HALF = 2.0**-24, 2.0**-11  # of a float32 and of a float16, relative
LOOSE = 4.0  # roundings that a sum may be off by, with weights and offset that are rounded too

Floats = NDArray[np.float32]


def row_solutions(
    row: Floats,
    weights: Floats,
    scale: Floats,
    shift: Floats,
    room: int,
    *,
    known: Array | None = None,
    masked: bool = False,
    tolerance: float | None = None,
) -> tuple[Solutions, Array, bool]:
    """Give the solutions of all channels of a row, c × pixels, the tolerance in bytes, and whether rows are float16.

    Bytes are multiplied by the float32 nearest to w_j s, as most would: its rounding is seen in the row.
    """
    with np.errstate(over="ignore"):  # too large for float16: infinite there, so no float16
        halves = bool((row == row.astype(np.float16)).all())
    x, scales = row.astype(np.float64), scale.astype(np.float64)
    effective = (weights * scale[:, None]).astype(np.float64) / scales[:, None]
    offset = (weights * shift[:, None]).sum(1, dtype=np.float32).astype(np.float64)
    beside = np.zeros_like(x) if known is None else np.asarray(known, np.float64).reshape(x.shape)
    largest = max(1.0, float(np.abs(x).max()), float(np.abs(shift).max()))
    off = LOOSE * ROUNDING * largest if tolerance is None else tolerance
    found = []
    for c, values in enumerate(x):
        targets = np.stack([sign * values - beside[c] - offset[c] for sign in ((1, -1) if masked else (1,))])
        near = off + (HALF * np.abs(values) if halves else np.zeros(len(values)))
        found.append(byte_solutions(targets / scales[c], effective[c], near / scales[c], room))
    return Solutions.together(found), off / scales, halves
