"""What charts share: scales, ticks, and text that stays in its frame."""

import math
from dataclasses import dataclass

from markupsafe import Markup

WIDE = 0.6  # of its size that a letter is about wide, in the widest of the system's fonts


@dataclass(frozen=True)
class Scale:
    """Where a value lies: `low` at `start`, `high` at `end`."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Give the place of a value."""
        low, high = (math.log10(self.low), math.log10(self.high)) if self.log else (self.low, self.high)
        value = math.log10(value) if self.log else value
        return self.start + (value - low) / (high - low) * (self.end - self.start)


def widened(low: float, high: float, share: float = 0.0) -> tuple[float, float]:
    """Give a range some room on both sides, and a width where it has none.

    >>> widened(0, 10, 0.1), widened(5, 5)
    ((-1.0, 11.0), (4.5, 5.5))
    """
    least = 1e-9 * max(abs(low), abs(high))
    room = share * (high - low) if high - low > least else 0.1 * abs(low) or 0.5
    return low - room, high + room


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Choose round values between two, 1, 2 or 5 times a power of ten apart.

    >>> ticks(0, 1), ticks(37, 72)
    ([0.0, 0.5, 1.0], [40.0, 50.0, 60.0, 70.0])
    """
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(power * times for times in (1, 2, 5, 10, 20) if (high - low) / (power * times) <= most - 1)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = max(0, -math.floor(math.log10(step)))
    return [round(number * step, digits) for number in range(first, last + 1)]


def decades(low: float, high: float) -> list[float]:
    """Choose powers of ten between two, a few, or round values where there are no two of them.

    >>> decades(0.0008, 1)
    [0.001, 0.01, 0.1, 1.0]
    """
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    step = 1 + max(0, last - first) // 5
    powers = [10.0**power for power in range(last, first - 1, -step)][::-1]
    return powers if len(powers) > 1 else [tick for tick in ticks(low, high, 4) if tick > 0]


def shortened(text: str, width: float, size: float) -> str:
    """Shorten a text until it fits.

    >>> shortened("instahide-cross", 60, 12)
    'instahi…'
    """
    most = max(1, int(width / (WIDE * size)))
    return text if len(text) <= most else text[: most - 1] + "…"


def text(x: float, y: float, words: str, *, kind: str = "", anchor: str = "middle", size: int = 12) -> Markup:
    """Draw words; `kind` is how the style sheet calls them."""
    return Markup('<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}" font-size="{}">{}</text>').format(
        kind, x, y, anchor, size, words
    )


def kept(x: float, words: str, size: float, left: float, right: float) -> float:
    """Give the nearest place to x where words, centred there, stay between left and right.

    >>> kept(10, "abcde", 10, 0, 100), kept(50, "abcde", 10, 0, 100), kept(99, "abcde", 10, 0, 100)
    (15.0, 50, 85.0)
    """
    half = len(words) * WIDE * size / 2
    return max(left + half, min(right - half, x)) if right - left >= 2 * half else (left + right) / 2


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    """Draw a straight line."""
    return Markup('<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>').format(kind, x1, y1, x2, y2)


def drawing(width: float, height: float, name: str, title: str, description: str, parts: list[Markup]) -> Markup:
    """Put parts together to a drawing that says in words what it shows; `name` sets its words apart from others'."""
    return Markup(
        '<svg class="chart" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" '
        'role="img" aria-labelledby="{name}-title {name}-desc">'
        '<title id="{name}-title">{title}</title><desc id="{name}-desc">{description}</desc>{parts}</svg>'
    ).format(width=width, height=height, name=name, title=title, description=description, parts=Markup("").join(parts))
