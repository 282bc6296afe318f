"""Charts of a page, as SVG: an attack's curve, and a figure beside its baseline. The style sheet gives the colours."""

from textwrap import wrap

from markupsafe import Markup

from hideseek.records.result import Curve, Figure
from hideseek.report.page.axes import Scale, decades, drawing, kept, line, text, ticks, widened
from hideseek.report.sentences import number, span

SIZE = 12  # of letters; drawings are never shown smaller than 5/6 of their size


def curve_chart(curve: Curve, name: str) -> Markup:
    """Draw a curve, and dashed beside it that of a baseline that ignores the release."""
    heads = wrap(curve.y_label, 46)
    width, left, right, top = 340, 46, 330, 34 + 16 * len(heads)
    bottom = top + 160
    height = bottom + 44
    baseline = curve.baseline or (None,) * len(curve.x)
    places = [point for point in zip(curve.x, curve.y, baseline, strict=True) if point[0] > 0 or not curve.log_x]
    if len(places) < 2:
        return Markup('<p class="note">{}: too few points to draw.</p>').format(curve.title)
    xs = [x for x, _, _ in places]
    heights = [value for _, y, below in places for value in (y, below) if value is not None]
    is_share = min(heights) >= 0 and max(heights) <= 1
    low, high = (0.0, 1.0) if is_share else widened(min(heights), max(heights), 0.05)
    from_x, to_x = (min(xs), max(xs)) if max(xs) > min(xs) else widened(min(xs), max(xs))
    from_x = 0.0 if not curve.log_x and 0 <= from_x < 0.1 * to_x else from_x
    across, up = Scale(from_x, to_x, left, right, curve.log_x), Scale(low, high, bottom, top)
    parts = []
    for tick in ticks(low, high, 6):
        parts.append(line(left, up(tick), right, up(tick), "grid"))
        parts.append(text(left - 6, up(tick) + 4, f"{tick:g}", kind="tick", anchor="end", size=SIZE))
    for tick in decades(from_x, to_x) if curve.log_x else ticks(from_x, to_x, 6):
        words = f"{tick:g}"
        parts.append(line(across(tick), bottom, across(tick), bottom + 4, "axis"))
        parts.append(text(kept(across(tick), words, SIZE, 0, width), bottom + 18, words, kind="tick", size=SIZE))
    parts.append(line(left, bottom, right, bottom, "axis"))
    if curve.baseline:
        parts.append(_path([(across(x), up(below)) for x, _, below in places if below is not None], "dashed"))
    parts.append(_path([(across(x), up(y)) for x, y, _ in places], "found"))
    for place, head in enumerate(heads):
        parts.append(text(2, 38 + 16 * place, head, kind="words", anchor="start", size=SIZE))
    parts.append(text((left + right) / 2, bottom + 38, curve.x_label, kind="words", size=SIZE))
    parts += [line(2, 12, 26, 12, "found"), text(32, 16, "this attack", kind="words", anchor="start", size=SIZE)]
    if curve.baseline:
        parts.append(line(130, 12, 154, 12, "dashed"))
        parts.append(text(160, 16, "baseline", kind="words", anchor="start", size=SIZE))
    first, last = places[0], places[-1]
    says = f"{curve.y_label} over {curve.x_label}: from {number(first[1])} at {number(first[0])} "
    says += f"to {number(last[1])} at {number(last[0])}."
    return drawing(width, height, name, curve.title, says, parts)


def _path(points: list[tuple[float, float]], kind: str) -> Markup:
    steps = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return Markup('<polyline class="{}" points="{}"/>').format(kind, steps)


def figure_chart(figure: Figure, name: str) -> Markup:
    """Draw where a figure lies with 95 % confidence, and where its best baseline."""
    width, height, left, right, middle = 300, 62, 10, 290, 30
    found, baseline = figure.found, figure.baselines.get(figure.best_baseline)
    values = [found.low, found.high, found.mean, *([] if baseline is None else [baseline])]
    is_share = figure.unit == "share" and min(values) >= 0 and max(values) <= 1
    low, high = (0.0, 1.0) if is_share else widened(min(values), max(values), 0.15)
    across = Scale(low, high, left, right)
    parts = [line(left, middle, right, middle, "axis")]
    for end in (low, high) if is_share else ():
        parts.append(line(across(end), middle - 4, across(end), middle + 4, "axis"))
    says = f"found {number(found.mean, figure.unit)}"
    if baseline is not None:
        words = f"{figure.best_baseline}: {number(baseline, figure.unit)}"
        parts.append(line(across(baseline), middle - 12, across(baseline), middle + 14, "dashed"))
        place = kept(across(baseline), words, SIZE, 2, width - 2)
        parts.append(text(place, middle + 28, words, kind="words", size=SIZE))
    parts.append(line(across(found.low), middle, across(found.high), middle, "whisker"))
    parts.append(Markup('<circle class="point" cx="{:.1f}" cy="{}" r="5"/>').format(across(found.mean), middle))
    parts.append(text(kept(across(found.mean), says, SIZE, 2, width - 2), middle - 16, says, kind="name", size=SIZE))
    beside = (
        "no baseline"
        if baseline is None
        else f"the baseline, {figure.best_baseline}, is at {number(baseline, figure.unit)}"
    )
    desc = f"{number(found.mean, figure.unit)}, with 95 % confidence {span(found, figure.unit)}; {beside}."
    return drawing(width, height, name, figure.metric, desc, parts)
