"""Accuracy against ε, as a picture to choose by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from hideseek.escapes import escaped
from hideseek.report.training_curve import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STYLES = (("o", "-"), ("s", "--"), ("^", "-."), ("D", ":"), ("v", (0, (5, 1))), ("P", (0, (1, 1))))
COLOURS = ("#1f4e8c", "#b3482f", "#3b7d4f", "#7a5195", "#8a6d1d", "#444444")
GREY = "#888888"
APART = 1.03  # times the ε of the way before


@dataclass(frozen=True)
class Panel:
    """One set of images: for each way, accuracies (mean, deviation) by ε; and those that promise no ε."""

    title: str
    proved: Mapping[str, Mapping[float, tuple[float, float]]]
    unproved: Mapping[str, float]
    largest_class: float


def draw_privacy_utility(panels: Sequence[Panel], file: BinaryIO) -> None:
    """Draw a panel for each set of images, as PNG: lines of what is proved, and levels of what is not."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.4 * max(1, len(panels)) + 0.6, 5.2), dpi=120, layout="constrained")
    names = list(dict.fromkeys(name for panel in panels for name in panel.proved))
    found = [figure.add_subplot(1, len(panels), place + 1) for place in range(len(panels))]
    for axes, panel in zip(found, panels, strict=True):
        _draw(axes, panel, names)
    found[0].set_ylabel("accuracy on new images (%)")
    handles = {name: handle for axes in found for handle, name in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(file, format="png")


def _draw(axes: "Axes", panel: Panel, names: Sequence[str]) -> None:
    for name, values in panel.proved.items():
        place = names.index(name)
        marker, line = STYLES[place % len(STYLES)]
        epsilons = sorted(values)
        apart = APART ** (place - (len(names) - 1) / 2)  # so that equal ways stand side by side
        axes.errorbar(
            [apart * each for each in epsilons],
            [100 * values[each][0] for each in epsilons],
            [100 * values[each][1] for each in epsilons],
            marker=marker,
            linestyle=line,
            color=COLOURS[place % len(COLOURS)],
            markersize=5,
            capsize=2,
            label=name,
        )
    taken: list[float] = []
    levels = {
        **{f"{name} (no ε)": level for name, level in panel.unproved.items()},
        "largest class": panel.largest_class,
    }
    for name, level in sorted(levels.items(), key=lambda item: item[1]):
        axes.axhline(100 * level, color=GREY, linewidth=0.8, linestyle=":")
        height = max([100 * level, *(each + 4 for each in taken)])
        taken.append(height)
        axes.annotate(name, (0.99, height), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=7.5)
    axes.set_xscale("log")
    ticks = sorted({epsilon for values in panel.proved.values() for epsilon in values})
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set(xlabel="ε (smaller: proved to tell less)", ylim=(0, 100), xlim=(ticks[0] / 1.5, ticks[-1] * 2.5))
    axes.set_title(shortened(escaped(panel.title)), parse_math=False, fontsize=10)
    axes.grid(alpha=0.25)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
