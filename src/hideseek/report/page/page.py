"""An audit as one page: nothing in it comes from elsewhere, and private images are blurred unless asked for."""

from collections.abc import Mapping, Sequence
from importlib import resources
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from hideseek.escapes import escaped
from hideseek.files import new_file
from hideseek.records.result import Curve, Exhibit, Figure, Result
from hideseek.report import sentences
from hideseek.report.epochs import EpochPoint, metrics_over_epochs, over_epochs
from hideseek.report.page.anchors import anchor, placed, subjects
from hideseek.report.page.pictures import Gallery
from hideseek.report.ranking import most_exposed, worst_harm

if TYPE_CHECKING:
    from jinja2 import Environment

NAME = "report.html"
PLACES = ("main", "verdict", "schemes", "flags", "epochs", "trade-off", "threats", "plan", "provenance")
OWN = ("contents", "theme", "zoom", "scheme-table")  # names of the page that no link leads to
FEW = 3  # pictures of an attack that are shown unfolded, where none is best or worst
WIDE, NARROW = 760, 328  # drawings for a screen and for a telephone


def write_page(result: Result, folder: Path, *, show_private: bool = False) -> Path:
    """Write report.html into an audit's folder; with private images, only its owner may read it."""
    from hideseek.report.page.trade_off import drawable, trade_off_chart

    schemes = placed(result, (*PLACES, *OWN, *(f"{place}-name" for place in PLACES)))
    drawn = {scheme.name for scheme, _ in drawable(result)}
    epochs = over_epochs(result)
    titles = {threat.name: threat.title for threat in result.threats}
    text = (
        _environment(Gallery(folder, show_private))
        .get_template("page.html")
        .render(
            result=result,
            images=result.private.images,
            headline=sentences.headline(result),
            alarms=sentences.alarms(result.schemes),
            attackers=sentences.attackers(result.threats),
            flags=sentences.flags(result.flags),
            outcomes=sentences.outcomes(result.truth),
            truth=sentences.truth(result.truth),
            schemes=schemes,
            subjects=subjects(schemes),
            titles=titles,
            knows={threat.name: threat.knows for threat in result.threats},
            charts={name: trade_off_chart(result, f"chart-{name}", width) for name, width in _widths(bool(drawn))},
            epochs=epochs,
            epoch_metrics=metrics_over_epochs(result),
            epochs_new=any(point.state.new_accuracy for points in epochs.values() for point in points),
            epochs_told=sentences.over_epochs(epochs),
            undrawn=[scheme.name for scheme in result.schemes if scheme.name not in drawn],
            no_verdict=sentences.NO_VERDICT,
            show_private=show_private,
            style=_asset("style.css"),
            script=_asset("script.js"),
        )
    )
    path = folder / NAME
    with new_file(path, 0o600 if show_private else 0o644) as file:
        file.write("\n".join(map(escaped, text.split("\n"))).encode())  # names in it may turn lines around
    return path


def _widths(any_drawn: bool) -> list[tuple[str, int]]:
    return [("wide", WIDE), ("narrow", NARROW)] if any_drawn else []


def _environment(gallery: Gallery) -> "Environment":
    """Give what templates are filled with: everything is escaped but what we drew ourselves."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from hideseek.report.page.charts import curve_chart, figure_chart
    from hideseek.report.page.epochs_chart import epochs_chart

    numbers = count()

    def draw_curve(curve: Curve) -> str:
        return curve_chart(curve, f"chart-{next(numbers)}")

    def draw_epochs(series: Mapping[str, Sequence[EpochPoint]], metric: str) -> str:
        return epochs_chart(series, metric, f"chart-{next(numbers)}")

    def draw_figure(figure: Figure) -> str:
        return figure_chart(figure, f"chart-{next(numbers)}")

    loader = PackageLoader("hideseek.report.page", "templates")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(
        advice=sentences.advice,
        most_exposed=lambda scheme: most_exposed(scheme.attacks),
        share=lambda value: sentences.number(value, "share"),
        anchor=anchor,
        arrow=lambda figure: "↑" if figure.higher_is_better else "↓",
        attack=sentences.attack,
        beside=sentences.beside,
        beside_accuracy=sentences.beside_accuracy,
        bound=sentences.bound,
        by_whom=sentences.by_whom,
        caption=sentences.caption,
        correlated=sentences.correlated,
        counted=sentences.counted,
        change=sentences.change,
        curve_chart=draw_curve,
        dataset=sentences.dataset,
        duration=sentences.duration,
        exposed=sentences.exposed,
        effect=sentences.effect,
        epochs_chart=draw_epochs,
        figure_chart=draw_figure,
        firsts=_firsts,
        knew=sentences.knew,
        largest_class=sentences.largest_class,
        lost=sentences.lost,
        meaning=sentences.outcome,
        no_accuracy=sentences.no_accuracy,
        note=sentences.note,
        number=sentences.number,
        parameter=sentences.parameter,
        picture=gallery.picture,
        plain=sentences.plain,
        proof=sentences.proof,
        scale=_scale,
        shared=sentences.shared,
        size=sentences.size,
        smallest=sentences.smallest,
        span=sentences.span,
        step=sentences.step,
        verdict=sentences.verdict,
        worst_harm=worst_harm,
    )
    return environment


def _asset(name: str) -> str:
    from markupsafe import Markup

    return Markup(resources.files("hideseek.report.page").joinpath("templates", name).read_text("utf-8"))  # noqa: S704 (ours)


def _scale(metric: str, series: Mapping[str, Sequence[EpochPoint]]) -> str:
    """Say how a chart over epochs is read, by any of its figures."""
    figures = [each.figures[metric][1] for points in series.values() for each in points if metric in each.figures]
    return sentences.scale(figures[0])


def _firsts(exhibits: tuple[Exhibit, ...]) -> tuple[list[Exhibit], list[Exhibit]]:
    """Divide exhibits into the first of each kind, or a few where nothing was judged, and the rest."""
    firsts = list({exhibit.kind: exhibit for exhibit in reversed(exhibits)}.values())[::-1]
    if len(firsts) == 1:
        firsts = list(exhibits[:FEW])
    return firsts, [exhibit for exhibit in exhibits if not any(exhibit is first for first in firsts)]
