"""Numbers, times, sizes, lists and sentences, as people read them."""

import json
import math
from collections.abc import Sequence
from typing import Any

from hideseek.records.result import Range


def number(value: float, unit: str = "") -> str:
    """Write a number with its unit; a share is written in percent.

    >>> number(0.9625, "share"), number(-3.14159, "dB"), number(12345.6), number(0.00012)
    ('96.2 %', '−3.1 dB', '12,346', '0.00012')
    >>> number(0.3), number(123.4), number(4, "place"), number(0), number(-0.0), number(-0.04, "dB")
    ('0.30', '123.4', '4.00 place', '0.00', '0.00', '0.0 dB')
    >>> number(20, "rows")
    '20 rows'
    """
    return f"{_digits(value, unit)}{_suffix(unit)}"


def span(found: Range, unit: str = "") -> str:
    """Write the interval of a range, with its unit once.

    >>> span(Range(0.5, 0.41, 0.59, 100), "share"), span(Range(-1, -1.5, 0.5, 100))
    ('41.0 to 59.0 %', '−1.50 to 0.50')
    """
    return f"{_digits(found.low, unit)} to {number(found.high, unit)}"


def _digits(value: float, unit: str) -> str:
    if unit == "share":
        text = f"{100 * value:.1f}" if abs(value) >= 0.001 or value == 0 else f"{100 * value:.2g}"
    elif unit == "dB":
        text = f"{value:.1f}"
    elif unit == "rows":
        text = f"{value:,.0f}"
    elif 0 < abs(value) < 0.01:
        text = f"{value:.2g}"
    else:
        text = f"{value:,.{2 if abs(value) < 100 else 1 if abs(value) < 1000 else 0}f}"
    return _minus(text)


def _suffix(unit: str) -> str:
    return " %" if unit == "share" else f" {unit}" if unit else ""


def _minus(text: str) -> str:
    """Write a minus, but none before nothing."""
    return text.replace("-", "−" if set(text) & set("123456789") else "")


def points(value: float) -> str:
    """Write a difference of shares in percentage points.

    >>> points(0.083), points(-0.01), points(-0.0)
    ('8.3', '−1.0', '0.0')
    """
    return _minus(f"{100 * value:.1f}")


def parameter(value: float) -> str:
    """Write the value of a parameter, which may be of any size.

    >>> parameter(20), parameter(0.0001), parameter(2.63491), parameter(1e-6)
    ('20', '0.0001', '2.635', '1e-06')
    """
    return f"{value:.4g}"


def duration(seconds: float) -> str:
    """Write how long something took.

    >>> duration(0.042), duration(1.23), duration(12.3), duration(120), duration(200.3), duration(7500)
    ('0.04 s', '1.2 s', '12 s', '2 min', '3 min 20 s', '2 h 5 min')
    """
    if 0 < seconds < 0.01:
        return "under 0.01 s"
    if seconds < 59.5:
        return f"{seconds:.{2 if 0 < seconds < 0.095 else 1 if seconds < 9.95 else 0}f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min" if minutes else f"{hours:,} h"


def size(count: float) -> str:
    """Write how much memory something took.

    >>> size(9000), size(300 * 2**20), size(2.5 * 2**30)
    ('9 KiB', '300 MiB', '2.5 GiB')
    """
    if count < 2**20:
        return f"{count / 2**10:.0f} KiB"
    return f"{count / 2**20:,.0f} MiB" if count < 2**30 else f"{count / 2**30:,.1f} GiB"


def cost(seconds: float, memory: float) -> str:
    """Write what something took.

    >>> cost(42.0, 312 * 2**20)
    '42 s, 312 MiB'
    """
    return f"{duration(seconds)}, {size(memory)}"


def plain(value: Any) -> str:
    """Write a setting or a remark, whatever it is.

    >>> plain(True), plain(0.30000000000000004), plain(["a", 1]), plain("as it is"), plain(None)
    ('yes', '0.3', '["a", 1]', 'as it is', 'none')
    >>> plain([{"mechanism": "gradient-pruning", "p": 0.9}, {"mechanism": "sign"}]), plain([])
    ('gradient-pruning (p = 0.9), sign', 'none')
    """
    if isinstance(value, list) and all(isinstance(each, dict) and "mechanism" in each for each in value):
        return ", ".join(map(plain, value)) or "none"
    if isinstance(value, dict) and isinstance(value.get("mechanism"), str):
        settings = ", ".join(f"{name} = {plain(each)}" for name, each in value.items() if name != "mechanism")
        return f"{value['mechanism']} ({settings})" if settings else str(value["mechanism"])
    if value is None or isinstance(value, bool):
        return "none" if value is None else "yes" if value else "no"
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.6g}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def listing(names: Sequence[str]) -> str:
    """List names in words.

    >>> listing(["a", "b", "c"]), listing(["a", "b"]), listing(["a"]), listing([])
    ('a, b and c', 'a and b', 'a', '')
    """
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def counted(count: int, thing: str) -> str:
    """Count things.

    >>> counted(3200, "encoding"), counted(1, "round")
    ('3,200 encodings', '1 round')
    """
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def are(count: int) -> str:
    """Give the verb for so many.

    >>> are(1), are(0), are(2)
    ('is', 'are', 'are')
    """
    return "is" if count == 1 else "are"


def sentence(text: str) -> str:
    """Begin with a capital letter, and end with a full stop.

    >>> sentence("it restores signs"), sentence("50 % of rows."), sentence("")
    ('It restores signs.', '50 % of rows.', '')
    """
    text = f"{text[:1].upper()}{text[1:]}"
    return text if not text or text[-1] in ".!?" else f"{text}."


def joined(*sentences: str) -> str:
    """Put sentences one after another; some may be empty."""
    return " ".join(filter(None, sentences))
