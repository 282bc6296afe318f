"""How a training went, as a picture."""

import warnings
from collections.abc import Mapping, Sequence
from typing import BinaryIO

from hideseek.escapes import escaped

LONGEST = 90  # characters of a title that fit
LOSS, TRAINING, TEST = "#b3482f", "#7a9cc6", "#1f4e8c"


def draw_curve(history: Sequence[Mapping[str, float]], title: str, file: BinaryIO) -> None:
    """Draw loss and accuracy over the epochs, as PNG."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    epochs = [epoch["epoch"] for epoch in history]
    figure = Figure(figsize=(8, 4), dpi=120, layout="constrained")
    left = figure.subplots()
    right = left.twinx()
    left.plot(epochs, [epoch["loss"] for epoch in history], color=LOSS, marker="o", markersize=3, label="loss")
    for name, colour, label in (("accuracy", TRAINING, "in training"), ("test_accuracy", TEST, "on test images")):
        points = [(epoch["epoch"], 100 * epoch[name]) for epoch in history if name in epoch]
        if points:
            right.plot(*zip(*points, strict=True), color=colour, marker="o", markersize=3, label=f"accuracy {label}")
    left.set(xlabel="epoch", ylabel="loss")
    left.set_title(shortened(escaped(title)), parse_math=False)  # a name may have dollars in it
    left.yaxis.label.set_color(LOSS)
    left.set_ylim(bottom=0)
    left.xaxis.set_major_locator(MaxNLocator(integer=True))
    right.set(ylabel="accuracy (%)", ylim=(0, 100))
    right.yaxis.label.set_color(TEST)
    left.grid(alpha=0.25)
    for axes in (left, right):
        axes.spines["top"].set_visible(False)
    lines = [line for axes in (left, right) for line in axes.get_lines()]
    names = [str(line.get_label()) for line in lines]
    figure.legend(lines, names, loc="outside lower center", ncols=len(lines), frameon=False)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # of names in other scripts: a box stands for each
        figure.savefig(file, format="png")


def shortened(title: str) -> str:
    """Leave out the middle of a title that is wider than the picture.

    >>> shortened(f"lenet on folder:/{'a' * 100}/xrays, hidden by mixup")
    'lenet on folder:/aaaaaaaaaaaaaaaaaaaaaaaaaaaa…aaaaaaaaaaaaaaaaaaaaa/xrays, hidden by mixup'
    """
    half = LONGEST // 2
    return title if len(title) <= LONGEST else f"{title[:half]}…{title[-half + 1 :]}"
