"""Privacy against utility: what each scheme leaks at worst, over the accuracy of a model that was trained on it.

Leaks are of kinds, not of a measure, so each kind is a band, and each scheme has a line of its own in its band: labels
cannot meet, however alike two schemes are.
"""

from collections.abc import Sequence

from markupsafe import Markup

from hideseek.records.result import Accuracy, Harm, Result, SchemeResult
from hideseek.report.page.axes import Scale, drawing, kept, line, shortened, text, ticks, widened
from hideseek.report.ranking import is_judged, worst_harm
from hideseek.report.sentences import number, trade_off

SIZE, LINE, EMPTY = 13, 40, 24
Placed = tuple[SchemeResult, Accuracy]


def drawable(result: Result) -> list[Placed]:
    """List the schemes that have a place: their accuracy was measured, and an attack ran to its end."""
    return [(scheme, scheme.accuracy) for scheme in result.schemes if scheme.accuracy and is_judged(scheme)]


def trade_off_chart(result: Result, name: str, width: int) -> Markup:
    """Draw the schemes; a narrow drawing has the kinds of leak inside, a wide one beside."""
    schemes, narrow = drawable(result), width < 500
    baseline = next((each.largest_class for _, each in schemes if each.largest_class is not None), None)
    left, right, top = 10 if narrow else 140, width - 14, 34 if baseline is None else 50
    across = _scale(schemes, result.vanilla, baseline, left, right)
    parts: list[Markup] = []
    points: list[Markup] = []
    y = float(top)
    for harm in reversed(Harm):
        mine = [(scheme, accuracy) for scheme, accuracy in schemes if worst_harm(scheme) is harm]
        head = 20 if narrow else 0
        height = head + (LINE * len(mine) if mine else 4 if narrow else EMPTY)
        parts.append(_band(left, y, right - left, height, harm))
        words_at = (left + 6, y + 15, "start") if narrow else (left - 10, y + height / 2 + 4, "end")
        parts.append(text(*words_at[:2], harm.value, kind="words", anchor=words_at[2], size=SIZE))
        for index, (scheme, accuracy) in enumerate(mine):
            points += _point(scheme, accuracy, across, y + head + LINE * (index + 0.7), (left, right))
        y += height
    for tick in ticks(across.low, across.high, 4 if narrow else 7):
        parts.append(line(across(tick), top, across(tick), y + 4, "grid"))
        words = f"{tick:g}"
        parts.append(text(kept(across(tick), words, SIZE, 0, width), y + 20, words, kind="tick", size=SIZE))
    parts.append(text((left + right) / 2, y + 40, "accuracy of a trained model, %", kind="words", size=SIZE))
    if result.vanilla:
        at, words = across(100 * result.vanilla.accuracy.mean), f"not hidden: {_percent(result.vanilla)}"
        parts.append(line(at, top - 6, at, y, "dashed"))
        parts.append(text(kept(at, words, SIZE, left, right), top - 12, words, kind="words", size=SIZE))
    if baseline is not None:
        at, words = across(100 * baseline), f"largest class: {number(baseline, 'share')}"
        parts.append(line(at, top - 22, at, y, "dashed"))
        parts.append(text(kept(at, words, SIZE, left, right), top - 28, words, kind="words", size=SIZE))
    title = "What each scheme leaks at worst, over the accuracy of a model trained on it"
    return drawing(width, y + 52, name, title, trade_off(schemes, result.vanilla), parts + points)


def _percent(accuracy: Accuracy) -> str:
    return number(accuracy.accuracy.mean, "share")


def _scale(
    schemes: Sequence[Placed], vanilla: Accuracy | None, baseline: float | None, left: float, right: float
) -> Scale:
    ranges = [accuracy.accuracy for _, accuracy in schemes] + ([vanilla.accuracy] if vanilla else [])
    ends = [end for each in ranges for end in (each.low, each.high)] + ([] if baseline is None else [baseline])
    low, high = widened(min(ends), max(ends), 0.1)
    return Scale(100 * low, 100 * high, left, right)


def _band(x: float, y: float, width: float, height: float, harm: Harm) -> Markup:
    return Markup(
        '<rect class="band {}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" fill-opacity="{:.2f}"/>'
    ).format(_kind(harm), x, y, width, height, 0.03 + 0.029 * harm.rank)


def _kind(harm: Harm) -> str:
    """Name the outcome of a scheme by the worst that was found."""
    return "broken" if harm.breaks else "resisted" if harm is Harm.NOTHING else "leaks"


def _point(
    scheme: SchemeResult, accuracy: Accuracy, across: Scale, y: float, frame: tuple[float, float]
) -> list[Markup]:
    """Draw a scheme on its line, its name above; a ring where nothing was found, dashed where it is open."""
    found, (left, right) = accuracy.accuracy, frame
    name = shortened(scheme.name, right - left - 12, SIZE)
    untried = any(verdict.open for verdict in scheme.verdicts)
    ring = "point ring open" if untried else "point ring"
    kind = ring if worst_harm(scheme) is Harm.NOTHING else "point"
    at = kept(across(100 * found.mean), name, SIZE, left + 4, right - 4)
    return [
        line(across(100 * found.low), y, across(100 * found.high), y, "whisker"),
        Markup('<circle class="{}" data-scheme="{}" cx="{:.1f}" cy="{:.1f}" r="6"/>').format(
            kind, scheme.name, across(100 * found.mean), y
        ),
        text(at, y - 11, name, kind="name", size=SIZE),
    ]
