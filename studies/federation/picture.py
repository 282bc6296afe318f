"""Accuracy against leakage, as one picture: a number for every point, and a key beside it that says what it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, hypot, pi, sin
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

MARKERS = {"gradients": ("o", "black"), "encodings": ("s", "white")}  # by shape and filling: no colour is needed
NEAR, STEP, TURNS = 20.0, 9.0, 24  # pixels from a point to its number, further tries, and directions
ROOM = 20.0  # pixels that numbers keep from each other, and from points


@dataclass(frozen=True)
class Point:
    """A federation: what its model is worth, and what its server gets of a party beyond the best baseline, in %."""

    panel: str
    protocol: str
    label: str
    leak: float
    accuracy: float


def draw(points: Sequence[Point], path: Path) -> None:
    """Draw a panel for each set of images."""
    panels = list(dict.fromkeys(point.panel for point in points))
    figure = Figure(figsize=(6.2 * max(1, len(panels)), 7.2), dpi=120)
    for place, panel in enumerate(panels):
        some = [point for point in points if point.panel == panel]
        axes = figure.add_axes(((place + 0.11) / len(panels), 0.46, 0.84 / len(panels), 0.48))
        _panel(axes, some)
        axes.set_title(panel)
        for row, point in enumerate(some):
            shape = "●" if point.protocol == "gradients" else "□"
            figure.text(
                axes.get_position().x0, 0.365 - 0.0235 * row, f"{row + 1:>2} {shape} {point.label}", fontsize=8.5,
                family="DejaVu Sans",
            )  # fmt: skip
    figure.text(
        0.01,
        0.012,
        "● gradients   □ encodings   (in brackets: the attack; * knows what is mixed in every row)",
        fontsize=8.5,
        family="DejaVu Sans",
    )
    figure.savefig(path)


def _panel(axes: Axes, points: Sequence[Point]) -> None:
    axes.set(
        xlim=(-4, 104),
        ylim=(0, 100),
        xlabel="guesses that point to their image, beyond the best baseline (%)",
        ylabel="accuracy (%)",
    )
    axes.grid(alpha=0.25)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for protocol, (marker, filling) in MARKERS.items():
        some = [point for point in points if point.protocol == protocol]
        axes.plot(
            [point.leak for point in some], [point.accuracy for point in some], marker, color="black",
            markerfacecolor=filling, markersize=7, clip_on=False, zorder=3,
        )  # fmt: skip
    places = [tuple(axes.transData.transform((point.leak, point.accuracy))) for point in points]
    taken: list[tuple[float, float]] = []
    for number, place in enumerate(places, start=1):
        spot = _free(place, places, taken)
        taken.append(spot)
        offset = (spot[0] - place[0], spot[1] - place[1])
        axes.annotate(
            str(number), (points[number - 1].leak, points[number - 1].accuracy),
            offset, textcoords="offset pixels", ha="center", va="center", fontsize=9, annotation_clip=False,
            arrowprops={"arrowstyle": "-", "linewidth": 0.6, "shrinkA": 6, "shrinkB": 5, "zorder": 1},
        )  # fmt: skip


def _free(
    place: tuple[float, float], points: Sequence[tuple[float, float]], taken: Sequence[tuple[float, float]]
) -> tuple[float, float]:
    """Find a spot near a point where no other point or number is."""
    for ring in range(12):
        for turn in range(TURNS):
            angle = 2 * pi * turn / TURNS + pi / 4
            spot = (place[0] + (NEAR + STEP * ring) * cos(angle), place[1] + (NEAR + STEP * ring) * sin(angle))
            if all(hypot(spot[0] - x, spot[1] - y) >= ROOM for x, y in taken) and all(
                hypot(spot[0] - x, spot[1] - y) >= min(ROOM, NEAR) - 2 for x, y in points
            ):
                return spot
    return place[0] + NEAR, place[1] + NEAR
