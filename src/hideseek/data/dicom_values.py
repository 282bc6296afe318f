"""From the numbers that a DICOM file stores to grey values: rescaled, windowed, black 0 and white 1.

Part 3 of the standard: the modality transformation (C.11.1), the values of interest (C.11.2: a table, else a window,
the first of several), and MONOCHROME1, whose lowest value is white (C.7.6.3.1.2). Files of many frames may have each
frame's in functional groups (C.7.6.16).
Deviation: where there is neither a table nor a window, the whole range that the stored bits can have is shown, since a
range of each image's own would make the same tissue another grey in every image.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float64
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pydicom.dataset import Dataset

Values = Float64[np.ndarray, "h w"]


def grey_values(stored: NDArray[Any], header: "Dataset", frame: int) -> Values:
    """Give what is seen of one frame, from 0 to 1."""
    signed = int(header.get("PixelRepresentation", 0)) == 1
    bits = int(header.BitsStored)
    low, high = (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1) if signed else (0.0, 2.0**bits - 1)
    values = stored.astype(np.float64)
    if modality := header.get("ModalityLUTSequence"):
        values, high = looked_up(values, modality[0], header, signed=signed)
        low = 0.0
    else:
        rescale = _group(header, frame, "PixelValueTransformationSequence")
        slope, intercept = float(rescale.get("RescaleSlope") or 1), float(rescale.get("RescaleIntercept") or 0)
        values = slope * values + intercept
        low, high = sorted((slope * low + intercept, slope * high + intercept))
    shown = _group(header, frame, "FrameVOILUTSequence")
    if table := shown.get("VOILUTSequence"):
        values, high = looked_up(values, table[0], header, signed=low < 0)
        seen = values / high
    elif has_window(shown):
        function = str(shown.get("VOILUTFunction") or "LINEAR")
        seen = windowed(values, _first(shown.WindowCenter), _first(shown.WindowWidth), function)
    else:
        seen = (values - low) / (high - low)
    seen = seen.clip(0, 1)
    return 1 - seen if header.PhotometricInterpretation == "MONOCHROME1" else seen


def is_plain(header: "Dataset") -> bool:
    """Tell whether what is stored are bytes, shown as they are: then nothing need be made floats."""
    groups = ("ModalityLUTSequence", "VOILUTSequence", "SharedFunctionalGroupsSequence")
    unscaled = float(header.get("RescaleSlope") or 1) == 1 and float(header.get("RescaleIntercept") or 0) == 0
    bytes_ = int(header.BitsAllocated) == int(header.BitsStored) == 8 and not int(header.get("PixelRepresentation", 0))
    return bytes_ and unscaled and not any(header.get(each) for each in groups) and not has_window(header)


def has_window(header: "Dataset") -> bool:
    """Tell whether a window is given."""
    return all(header.get(each) not in (None, "", []) for each in ("WindowCenter", "WindowWidth"))


def windowed(values: Values, centre: float, width: float, function: str = "LINEAR") -> Values:
    """Show the values of a window: a line from black to white, or a sigmoid (C.11.2.1.2 and C.11.2.1.3).

    LINEAR: (x − (c − ½)) / (w − 1) + ½; LINEAR_EXACT: (x − c) / w + ½; SIGMOID: 1 / (1 + exp(−4 (x − c) / w)).

    >>> windowed(np.array([[0.0, 99.5, 300.0]]), 100, 201).tolist()
    [[0.0025000000000000022, 0.5, 1.0]]
    """
    if function == "SIGMOID":
        with np.errstate(over="ignore"):
            return np.asarray(1 / (1 + np.exp(-4 * (values - centre) / max(width, np.finfo(float).tiny))))
    exact = function == "LINEAR_EXACT"
    middle, span = (centre, width) if exact else (centre - 0.5, width - 1)
    if span <= 0:
        return (values > middle).astype(np.float64)
    return ((values - middle) / span + 0.5).clip(0, 1)


def looked_up(values: Values, table: "Dataset", header: "Dataset", *, signed: bool) -> tuple[Values, float]:
    """Apply a table, whose ends stand for all values beyond (C.11.1.1 and C.11.2.1.1); give its white, too."""
    count, first, bits = (int(each) for each in table.LUTDescriptor)
    count = count or 1 << 16
    if signed and first >= 1 << 15:
        first -= 1 << 16
    data = table.LUTData
    if isinstance(data, bytes):
        little = header.original_encoding[1] is not False
        words = np.frombuffer(data, "<u2" if little else ">u2") if len(data) >= 2 * count else np.frombuffer(data, "u1")
    else:
        words = np.asarray(data)
    entries = words[:count].astype(np.float64)
    places = (np.rint(values).astype(np.int64) - first).clip(0, len(entries) - 1)
    return entries[places], float(max(2**bits - 1, entries.max()))


def _group(header: "Dataset", frame: int, name: str) -> "Dataset":
    """Give the attributes of one frame: of its own group, of the group that all share, or of the file."""
    for groups, place in (("PerFrameFunctionalGroupsSequence", frame), ("SharedFunctionalGroupsSequence", 0)):
        found = header.get(groups)
        if found and place < len(found) and (inner := found[place].get(name)):
            return inner[0]  # type: ignore[no-any-return] # of a sequence
    return header


def _first(value: Any) -> float:
    """Give the first of several values."""
    several = isinstance(value, list | tuple) or (hasattr(value, "__getitem__") and not isinstance(value, str))
    return float(value[0]) if several else float(value)
