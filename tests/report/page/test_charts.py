"""Charts: well-formed, and everything where it should be."""

import math
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from hideseek.records.result import Curve, Harm, Range
from hideseek.report.page.axes import decades, ticks, widened
from hideseek.report.page.charts import curve_chart, figure_chart
from hideseek.report.page.trade_off import trade_off_chart
from report.pieces import NASTY, curve, figure
from report.results import sample


def _drawn(chart: str) -> ET.Element:
    return ET.fromstring(chart)  # noqa: S314 (ours)


def _parts(drawing: ET.Element, tag: str, kind: str) -> list[ET.Element]:
    return [each for each in drawing.iter(tag) if each.get("class", "").split()[:1] == [kind]]


def _numbers(part: ET.Element, *names: str) -> list[float]:
    return [float(part.get(name, "nan")) for name in names]


def _points(line: ET.Element) -> list[tuple[float, float]]:
    return [tuple(map(float, pair.split(","))) for pair in line.get("points", "").split()]  # type: ignore[misc]


@pytest.mark.parametrize("width", [328, 760])
def test_schemes_lie_at_their_accuracy_and_in_their_band(tmp_path: Path, width: int) -> None:
    result = sample(tmp_path)
    drawing = _drawn(trade_off_chart(result, "one", width))
    points = {each.get("data-scheme"): _numbers(each, "cx", "cy") for each in drawing.iter("circle")}
    accuracies = {scheme.name: scheme.accuracy.accuracy for scheme in result.schemes if scheme.accuracy}
    assert set(points) == set(accuracies)
    assert NASTY in points
    # two points give the place of all others, of whiskers, and of the dashed line
    first, second = "mixup", result.schemes[1].name
    scale = (points[second][0] - points[first][0]) / (accuracies[second].mean - accuracies[first].mean)

    def at(value: float) -> float:
        return points[first][0] + scale * (value - accuracies[first].mean)

    assert points[NASTY][0] == pytest.approx(at(accuracies[NASTY].mean), abs=0.2)
    ends = sorted(_numbers(each, "x1", "x2") for each in _parts(drawing, "line", "whisker"))
    assert ends == [
        pytest.approx([at(r.low), at(r.high)], abs=0.3) for r in sorted(accuracies.values(), key=lambda r: r.low)
    ]
    for dashed, value in zip(_parts(drawing, "line", "dashed"), (0.733, 0.5), strict=True):  # vanilla, largest class
        assert _numbers(dashed, "x1", "x2") == pytest.approx([at(value)] * 2, abs=0.3)
    bands = [_numbers(each, "y", "height") for each in _parts(drawing, "rect", "band")]  # from images recovered down
    for name, harm in (("mixup", Harm.RECOVERED), (result.schemes[1].name, Harm.PARTS), (NASTY, Harm.NOTHING)):
        top, height = bands[Harm.RECOVERED.rank - harm.rank]
        assert top < points[name][1] < top + height
    assert all(below[0] == pytest.approx(above[0] + above[1]) for above, below in pairwise(bands))


def test_what_breaks_and_what_leaks_have_bands_of_their_own_and_what_is_open_a_dashed_ring(tmp_path: Path) -> None:
    drawing = _drawn(trade_off_chart(sample(tmp_path), "one", 760))
    kinds = [each.get("class") for each in _parts(drawing, "rect", "band")]  # from images recovered down
    assert kinds == ["band broken"] * 2 + ["band leaks"] * 4 + ["band resisted"]
    points = {each.get("data-scheme"): each.get("class") for each in drawing.iter("circle")}
    assert (points["mixup"], points[NASTY]) == ("point", "point ring open")


@pytest.mark.parametrize("width", [328, 760])
def test_labels_of_equal_schemes_do_not_meet_or_leave(tmp_path: Path, width: int) -> None:
    result = sample(tmp_path)
    same = tuple(replace(result.schemes[0], name=f"{'a long name ' * 9}{number}") for number in range(7))
    drawing = _drawn(trade_off_chart(replace(result, schemes=same), "one", width))
    names = _parts(drawing, "text", "name")
    assert len(names) == 7
    heights = sorted(float(name.get("y", "nan")) for name in names)
    assert all(after - before >= 15 for before, after in pairwise(heights))
    assert heights[-1] < float(drawing.get("height", "nan"))
    for name in names:
        assert float(name.get("x", "nan")) - 0.3 * 13 * len(name.text or "") >= 0
        assert float(name.get("x", "nan")) + 0.3 * 13 * len(name.text or "") <= width


@pytest.mark.parametrize("log_x", [True, False])
def test_a_curve_goes_through_its_points(log_x: bool) -> None:
    drawn = curve(log_x)
    drawing = _drawn(curve_chart(drawn, "one"))
    (found,), (baseline,) = _parts(drawing, "polyline", "found"), _parts(drawing, "polyline", "dashed")
    places = [math.log(x) if log_x else x for x in drawn.x]
    (x0, y0), (x1, y1) = _points(found)[0], _points(found)[-1]
    for line, heights in ((found, drawn.y), (baseline, drawn.baseline)):
        for (x, y), place, height in zip(_points(line), places, heights, strict=True):
            assert x == pytest.approx(x0 + (place - places[0]) / (places[-1] - places[0]) * (x1 - x0), abs=0.11)
            assert y == pytest.approx(y0 + (height - drawn.y[0]) / (drawn.y[-1] - drawn.y[0]) * (y1 - y0), abs=0.11)
    assert (x1 > x0, y1 < y0) == (True, True)


def test_odd_curves_are_drawn_or_said_to_be_too_short() -> None:
    flat = Curve(NASTY, "x", "y", (3.0, 3.0), (-5.0, -5.0), ())
    assert len(_parts(_drawn(curve_chart(flat, "one")), "polyline", "found")) == 1
    zero = Curve("t", "x", "y", (0.0, 0.1, 1.0), (0.0, 2e9, 3e9), (0.0, 0.1, 1.0), log_x=True)
    (found,) = _parts(_drawn(curve_chart(zero, "one")), "polyline", "found")
    assert len(_points(found)) == 2  # zero has no logarithm
    assert "too few points" in curve_chart(replace(flat, x=(), y=()), "one")


def test_a_figure_lies_between_its_ends_and_beside_its_baseline() -> None:
    drawn = figure("re-identified", 0.5, 0.25, unit="share")
    drawing = _drawn(figure_chart(drawn, "one"))
    (point,), (whisker,), (baseline,) = (
        drawing.iter("circle"),
        _parts(drawing, "line", "whisker"),
        _parts(drawing, "line", "dashed"),
    )
    middle, quarter = _numbers(point, "cx")[0], _numbers(baseline, "x1")[0]
    assert middle == 150  # a share of one half lies in the middle of 300
    assert quarter == pytest.approx(10 + 280 / 4)
    assert _numbers(whisker, "x1", "x2") == pytest.approx([middle - 0.03 * 280, middle + 0.03 * 280])
    for odd in (
        replace(drawn, baselines={}, best_baseline=""),
        replace(drawn, unit="", found=Range(7, 7, 7, 1), baselines={"mean image": 7}),
    ):
        assert "nan" not in figure_chart(odd, "one")
        _drawn(figure_chart(odd, "one"))


def test_names_are_escaped() -> None:
    for drawn in (figure_chart(figure(NASTY), "one"), curve_chart(replace(curve(), title=NASTY, x_label=NASTY), "one")):
        assert "<script" not in drawn
        assert (_drawn(drawn).findtext("title") or "") == NASTY


@pytest.mark.parametrize(("low", "high"), [(0, 1), (37.2, 71.9), (-3, 1e6), (1e-7, 2e-7), (5, 5), (1e99, 1e99), (0, 0)])
def test_ticks_are_a_few_and_inside(low: float, high: float) -> None:
    low, high = widened(low, high)
    chosen = ticks(low, high, 6)
    assert 2 <= len(chosen) <= 7
    assert all(low - 1e-9 * abs(low) <= tick <= high + 1e-9 * abs(high) for tick in chosen)
    assert chosen == sorted(set(chosen))


def test_decades_are_a_few() -> None:
    assert decades(1, 400) == [1, 10, 100]
    assert decades(2, 7) == ticks(2, 7, 4)
    assert 2 <= len(decades(1e-30, 1e12)) <= 7
