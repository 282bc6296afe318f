"""How a federation went, as a picture: accuracy over rounds, and the bytes that went to and fro."""

from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

from hideseek.escapes import escaped
from hideseek.report.training_curve import LOSS, TEST, shortened


def draw_rounds(history: Sequence[Mapping[str, Any]], title: str, file: BinaryIO) -> None:
    """Draw the accuracy after every round or epoch, and megabytes so far, as PNG."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    what = "epoch" if any("epoch" in each for each in history) else "round"
    points = [each for each in history if what in each]
    figure = Figure(figsize=(8, 4), dpi=120, layout="constrained")
    left = figure.subplots()
    right = left.twinx()
    places = [each[what] for each in points]
    tested = [(each[what], 100 * each["test_accuracy"]) for each in points if "test_accuracy" in each]
    if tested:
        left.plot(*zip(*tested, strict=True), color=TEST, marker="o", markersize=3, label="accuracy on test images")
    for name, style, label in (("bytes_in", "-", "from parties"), ("bytes_out", ":", "to parties")):
        right.plot(places, [each[name] / 1e6 for each in points], color=LOSS, linestyle=style, label=f"MB {label}")
    if not tested:  # an empty scale of accuracies would look like a curve that is missing
        left.set_yticks([])
    left.set(xlabel=what, ylabel="accuracy (%)" if tested else "", ylim=(0, 100))
    left.set_title(shortened(escaped(title)), parse_math=False)
    left.yaxis.label.set_color(TEST)
    left.xaxis.set_major_locator(MaxNLocator(integer=True))
    right.set(ylabel="megabytes so far")
    right.set_ylim(bottom=0)
    right.yaxis.label.set_color(LOSS)
    left.grid(alpha=0.25)
    for axes in (left, right):
        axes.spines["top"].set_visible(False)
    lines = [line for axes in (left, right) for line in axes.get_lines()]
    figure.legend(lines, [str(line.get_label()) for line in lines], loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(file, format="png")
