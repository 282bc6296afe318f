"""What leaks over epochs, as one chart a metric: a line for each way of sharing."""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from hideseek.report.epochs import EpochPoint
from hideseek.report.page.axes import Scale, drawing, kept, line, shortened, text, ticks, widened
from hideseek.report.sentences import number

SIZE, ROW = 12, 18
WIDTH, LEFT, RIGHT, TALL = 340, 46, 330, 160
LINES = 6  # colours of the style sheet


def epochs_chart(series: Mapping[str, Sequence[EpochPoint]], metric: str, name: str) -> Markup:
    """Draw a metric over epochs; states in which nothing could be judged leave a gap."""
    drawn = {each: [p for p in points if metric in p.figures] for each, points in series.items()}
    drawn = {each: points for each, points in drawn.items() if points}
    figures = [point.figures[metric][1] for points in drawn.values() for point in points]
    ranges = [value for figure in figures for value in (figure.found.low, figure.found.mean, figure.found.high)]
    is_share = figures[0].unit == "share"
    low, high = (0.0, 1.0) if is_share else widened(min(ranges), max(ranges), 0.1)
    epochs = sorted({point.state.epoch for points in drawn.values() for point in points})
    top = 14 + ROW * len(drawn) + 14
    bottom = top + TALL
    up = Scale(low, high, bottom, top)
    across = Scale(0, max(1, len(epochs) - 1), LEFT + 16, RIGHT - 16)  # states are as far apart as others
    parts = []
    for tick in ticks(low, high, 6):
        parts.append(line(LEFT, up(tick), RIGHT, up(tick), "grid"))
        words = f"{tick * 100:.0f} %" if is_share else f"{tick:g}"
        parts.append(text(LEFT - 6, up(tick) + 4, words, kind="tick", anchor="end", size=SIZE))
    for place, epoch in enumerate(epochs):
        parts.append(line(across(place), bottom, across(place), bottom + 4, "axis"))
        x = kept(across(place), str(epoch), SIZE, 0, WIDTH)
        parts.append(text(x, bottom + 18, str(epoch), kind="tick", size=SIZE))
    parts.append(line(LEFT, bottom, RIGHT, bottom, "axis"))
    says = []
    for row, (label, points) in enumerate(drawn.items()):
        kind = f"series-{row % LINES}"
        places = [(across(epochs.index(p.state.epoch)), p.figures[metric][1]) for p in points]
        steps = " ".join(f"{x:.1f},{up(figure.found.mean):.1f}" for x, figure in places)
        parts.append(Markup('<polyline class="line {}" points="{}"/>').format(kind, steps))
        for x, figure in places:
            parts.append(line(x, up(max(low, figure.found.low)), x, up(min(high, figure.found.high)), f"bar {kind}"))
            circle = '<circle class="dot {}" cx="{:.1f}" cy="{:.1f}" r="4"/>'
            parts.append(Markup(circle).format(kind, x, up(figure.found.mean)))  # noqa: S704 (ours)
        height = 12 + ROW * row
        parts.append(line(2, height, 26, height, f"line {kind}"))
        parts.append(text(32, height + 4, shortened(label, WIDTH - 36, SIZE), kind="words", anchor="start", size=SIZE))
        ends = zip(places, points, strict=True)
        told = (f"{number(each.found.mean, each.unit)} at {point.state.epoch}" for (_, each), point in ends)
        says.append(f"{label}: {', '.join(told)}")
    parts.append(text((LEFT + RIGHT) / 2, bottom + 38, "epochs of training before", kind="words", size=SIZE))
    return drawing(WIDTH, bottom + 44, name, f"{metric} over epochs", f"{'; '.join(says)}.", parts)
