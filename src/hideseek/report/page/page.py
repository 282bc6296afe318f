"""An audit as one page: nothing in it comes from elsewhere, and private images are blurred unless asked for."""

from importlib import resources
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from hideseek.files import new_file
from hideseek.records.result import Advice, Curve, Exhibit, Figure, Result, SchemeResult, Verdict
from hideseek.report import words
from hideseek.report.headline import ORDER, headline, worst_harm
from hideseek.report.page.anchors import placed, subjects
from hideseek.report.page.pictures import Gallery

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["headline", "write_page"]
NAME = "report.html"
PLACES = ("main", "verdict", "schemes", "flags", "trade-off", "threats", "plan", "provenance")
OWN = ("contents", "theme", "zoom", "scheme-table")  # names of the page that no link leads to
WIDE, NARROW = 760, 328  # drawings for a screen and for a telephone


def write_page(result: Result, folder: Path, *, show_private: bool = False) -> Path:
    """Write report.html into an audit's folder; with private images, only its owner may read it."""
    from hideseek.report.page.trade_off import drawable, trade_off_chart

    schemes = placed(result, (*PLACES, *OWN, *(f"{place}-name" for place in PLACES)))
    drawn = {scheme.name for scheme, _ in drawable(result)}
    titles = {threat.name: threat.title for threat in result.threats}
    text = (
        _environment(Gallery(folder, show_private))
        .get_template("page.html")
        .render(
            result=result,
            headline=headline(result),
            schemes=schemes,
            subjects=subjects(schemes),
            titles=titles,
            knows={threat.name: threat.knows for threat in result.threats},
            ranks={outcome: len(ORDER) - place for place, outcome in enumerate(ORDER)},
            charts={name: trade_off_chart(result, f"chart-{name}", width) for name, width in _widths(bool(drawn))},
            undrawn=[scheme.name for scheme in result.schemes if scheme.name not in drawn],
            show_private=show_private,
            style=_asset("style.css"),
            script=_asset("script.js"),
        )
    )
    path = folder / NAME
    with new_file(path, 0o600 if show_private else 0o644) as file:
        file.write(text.encode())
    return path


def _widths(any_drawn: bool) -> list[tuple[str, int]]:
    return [("wide", WIDE), ("narrow", NARROW)] if any_drawn else []


def _environment(gallery: Gallery) -> "Environment":
    """Give what templates are filled with: everything is escaped but what we drew ourselves."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from hideseek.report.page.charts import curve_chart, figure_chart

    numbers = count()

    def draw_curve(curve: Curve) -> str:
        return curve_chart(curve, f"chart-{next(numbers)}")

    def draw_figure(figure: Figure) -> str:
        return figure_chart(figure, f"chart-{next(numbers)}")

    loader = PackageLoader("hideseek.report.page", "templates")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(
        arrow=lambda figure: "↑" if figure.higher_is_better else "↓",
        curve_chart=draw_curve,
        described=words.described,
        duration=words.duration,
        figure_chart=draw_figure,
        firsts=_firsts,
        harm=words.harm,
        number=words.number,
        picture=gallery.picture,
        plain=words.plain,
        points=words.points,
        capital=words.capital,
        sentence=words.sentence,
        size=words.size,
        slug=words.slug,
        span=words.span,
        told_by=_told_by,
        unit_of=_unit_of,
        worst_harm=worst_harm,
    )
    return environment


def _asset(name: str) -> str:
    from markupsafe import Markup

    return Markup(resources.files("hideseek.report.page").joinpath("templates", name).read_text("utf-8"))  # noqa: S704 (ours)


def _firsts(exhibits: tuple[Exhibit, ...]) -> tuple[list[Exhibit], list[Exhibit]]:
    """Divide exhibits into the first of each kind, and the rest."""
    firsts = list({exhibit.kind: exhibit for exhibit in reversed(exhibits)}.values())[::-1]
    return firsts, [exhibit for exhibit in exhibits if not any(exhibit is first for first in firsts)]


def _told_by(verdict: Verdict) -> str:
    """Give a verdict's sentence without the name of the attack before it, which the page has as a link."""
    return words.sentence(verdict.sentence.removeprefix(f"{verdict.by}:").strip() if verdict.by else verdict.sentence)


def _unit_of(advice: Advice, audited: SchemeResult) -> str:
    """Find the unit of the metric that an advice was measured by."""
    figures = (figure for tried in audited.attacks for figure in tried.figures if tried.attack == advice.attack)
    return next((figure.unit for figure in figures if figure.metric == advice.metric), "")
