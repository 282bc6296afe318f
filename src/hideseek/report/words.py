"""Figures in words: what a reader sees of a number, a duration, a setting."""

import json
import math
import re
from typing import Any

from hideseek.records.result import DatasetSummary, Range

HARMS = (
    "nothing found",
    "parts found",
    "rows linked",
    "likeness found",
    "told apart",
    "re-identified",
    "images recovered",
)
"""What is at stake, by `AttackResult.harm`."""


def number(value: float, unit: str = "") -> str:
    """Write a number as people read it.

    >>> number(0.9625, "share"), number(-3.14159, "dB"), number(12345.6), number(0.00012)
    ('96.2 %', '−3.1 dB', '12,346', '0.00012')
    >>> number(0.3), number(123.4), number(4, "place"), number(0)
    ('0.30', '123.4', '4.00 place', '0.00')
    """
    if unit == "share":
        text = f"{100 * value:.1f} %" if abs(value) >= 0.001 or value == 0 else f"{100 * value:.2g} %"
    elif unit == "dB":
        text = f"{value:.1f} dB"
    else:
        small = 0 < abs(value) < 0.01
        text = f"{value:.2g}" if small else f"{value:,.{2 if abs(value) < 100 else 1 if abs(value) < 1000 else 0}f}"
        text += f" {unit}" * bool(unit)
    return text.replace("-", "−")


def span(found: Range, unit: str = "") -> str:
    """Write the interval of a range.

    >>> span(Range(0.5, 0.41, 0.59, 100), "share"), span(Range(-1, -1.5, 0.5, 100))
    ('41.0 to 59.0 %', '−1.50 to 0.50')
    """
    low, high = number(found.low, unit), number(found.high, unit)
    suffix = " %" if unit == "share" else f" {unit}"
    return f"{low.removesuffix(suffix) if unit else low} to {high}"


def points(value: float) -> str:
    """Write a difference of shares in percentage points.

    >>> points(0.083), points(-0.01)
    ('8.3', '−1.0')
    """
    return f"{100 * value:.1f}".replace("-", "−")


def duration(seconds: float) -> str:
    """Write how long something took.

    >>> duration(0.042), duration(1.23), duration(12.3), duration(120), duration(200.3), duration(7500)
    ('0.04 s', '1.2 s', '12 s', '2 min', '3 min 20 s', '2 h 5 min')
    """
    if 0 < seconds < 0.01:
        return "under 0.01 s"
    if seconds < 59.5:
        return f"{seconds:.{2 if 0 < seconds < 0.095 else 1 if seconds < 9.95 else 0}f} s"
    seconds = round(seconds)
    if seconds < 3600:
        return f"{seconds // 60:.0f} min {seconds % 60:.0f} s".removesuffix(" 0 s")
    return f"{seconds // 3600:,.0f} h {seconds % 3600 // 60:.0f} min".removesuffix(" 0 min")


def size(count: float) -> str:
    """Write how much memory something took.

    >>> size(9000), size(300 * 2**20), size(2.5 * 2**30)
    ('9 KiB', '300 MiB', '2.5 GiB')
    """
    if count < 2**20:
        return f"{count / 2**10:.0f} KiB"
    return f"{count / 2**20:,.0f} MiB" if count < 2**30 else f"{count / 2**30:,.1f} GiB"


def plain(value: Any) -> str:
    """Write a setting or a remark, whatever it is.

    >>> plain(True), plain(0.30000000000000004), plain(["a", 1]), plain("as it is"), plain(None)
    ('yes', '0.3', '["a", 1]', 'as it is', 'none')
    """
    if value is None or isinstance(value, bool):
        return "none" if value is None else "yes" if value else "no"
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.6g}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def slug(text: str) -> str:
    """Make a name that an address may hold.

    >>> slug("Mixup (k = 4)"), slug("<b>&")
    ('mixup-k-4', 'b')
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def harm(level: int) -> str:
    """Say how bad a finding is."""
    return HARMS[min(max(level, 0), len(HARMS) - 1)]


def sentence(text: str) -> str:
    """Begin a sentence with a capital letter, and end it with a full stop.

    >>> sentence("it restores signs"), sentence("50 % of rows."), sentence("")
    ('It restores signs.', '50 % of rows.', '')
    """
    text = capital(text.strip())
    return text + "." * (bool(text) and text[-1] not in ".!?")


def capital(text: str) -> str:
    """Begin with a capital letter, unless with the name of an attack or a scheme.

    >>> capital("it broke"), capital("mixup-pairs broke it"), capital("laplace: it broke")
    ('It broke', 'mixup-pairs broke it', 'laplace: it broke')
    """
    first = text.partition(" ")[0]
    return text if set(first) & set("-:=") else text[:1].upper() + text[1:]


def described(images: DatasetSummary) -> str:
    """Describe a set of images.

    >>> described(DatasetSummary("faces", 1600, (3, 32, 32), 10, "channel", 2))
    '1,600 images of 3×32×32 in 10 classes, normalised by channel; 2 of them are private images too.'
    """
    classes = f" in {images.classes} classes" if images.classes > 1 else ""
    normalised = f", normalised by {images.normalisation}" if images.normalisation in ("channel", "image") else ""
    overlap = f"; {images.overlap:,} of them are private images too" if images.overlap else ""
    return f"{images.images:,} images of {'×'.join(map(str, images.shape))}{classes}{normalised}{overlap}."
