"""What figures show, how they were scored, and what pictures are of."""

import re
from collections.abc import Sequence

from hideseek.records.result import Exhibit, Figure, Note, NoteKind
from hideseek.report.sentences.numbers import are, counted, number, parameter, sentence, span

PLACES = re.compile(r"\{(value|baseline|name|images)\}")
NOTHING_JUDGED = "nothing that it claims could be judged"


def found(figures: Sequence[Figure], images: int) -> str:
    """Say what figures show: all that beats its baseline, the worst first; else how near the attack came."""
    if clauses := _findings(figures, images):
        return sentence("; ".join(clauses))
    decisive = [figure for figure in figures if figure.decisive]
    if not decisive:
        return sentence(NOTHING_JUDGED)
    nearest = min(decisive, key=lambda figure: 1.0 if figure.p_value is None else figure.p_value)
    name = nearest.best_baseline or "chance"
    if nearest.advantage is not None and nearest.advantage.low > 0:
        return f"Better than {name}, but not significant among so many figures: {_beside(nearest)}."
    return f"Not shown to beat {name}: {_beside(nearest)}."


def worst_finding(figures: Sequence[Figure], images: int) -> str:
    """Say the worst of what figures show, as a clause; empty where nothing beats its baseline."""
    return next(iter(_findings(figures, images)), "")


def _findings(figures: Sequence[Figure], images: int) -> list[str]:
    """Say what each decisive figure shows that beats its baseline, the worst first.

    Where several claims have figures of one metric, the first of them counts.
    """
    beating = [figure for figure in figures if figure.decisive and figure.beats]
    beating.sort(key=lambda figure: -figure.harm.rank)
    firsts = {figure.metric: figure for figure in reversed(beating)}
    chosen = [figure for figure in beating if firsts[figure.metric] is figure]
    clauses = [_filled(figure, images) for figure in chosen if figure.finding]
    return clauses or [f"it beats {figure.best_baseline or 'chance'}: {_beside(figure)}" for figure in chosen[:1]]


def _filled(figure: Figure, images: int) -> str:
    """Fill in the numbers of a figure; whatever else a file has between braces stays as it is."""
    baseline = figure.baselines.get(figure.best_baseline)
    values = {
        "value": number(figure.found.mean, figure.unit),
        "baseline": "none" if baseline is None else number(baseline, figure.unit),
        "name": figure.best_baseline or "chance",
        "images": f"{images:,}",
    }
    return PLACES.sub(lambda place: values[place[1]], figure.finding)


def smallest(figures: Sequence[Figure], most: int | None = None) -> str:
    """Say the smallest effects that figures would have shown which beat nothing, the worst harm first; may be empty."""
    missed = [figure for figure in figures if figure.decisive and not figure.beats and figure.smallest is not None]
    missed.sort(key=lambda figure: -figure.harm.rank)
    firsts = {figure.metric: figure for figure in reversed(missed)}
    return "; ".join([_least(figure) for figure in missed if firsts[figure.metric] is figure][:most])


def _least(figure: Figure) -> str:
    """Write the least value that would have beaten the baseline, and the baseline."""
    baseline, name = figure.baselines.get(figure.best_baseline), figure.best_baseline
    beside = "" if baseline is None else f", {number(baseline, figure.unit)} by {name}"
    least = number(figure.smallest or 0.0, figure.unit)
    return f"{figure.metric} {'≥' if figure.higher_is_better else '≤'} {least}{beside}"


def _beside(figure: Figure) -> str:
    """Put a figure beside its baseline: metric value (low to high), baseline value."""
    baseline = figure.baselines.get(figure.best_baseline)
    beside = "" if baseline is None else f", baseline {number(baseline, figure.unit)}"
    return f"{figure.metric} {number(figure.found.mean, figure.unit)} ({span(figure.found, figure.unit)}){beside}"


NOTES = {
    NoteKind.EXACT: "{count:,} {are} exact: infinitely many {unit} count as {value}.",
    NoteKind.NO_GROUND_TRUTH: "There is no ground truth to judge {count:,} of {items} by.",
    NoteKind.FEW_IMAGES: "It is about {images} only: {of:,} at least are needed to beat a baseline.",
    NoteKind.ANSWERS_KEPT: "{answers} kept, and no more can be looked through.",
    NoteKind.ENLARGED: "Images were enlarged from {count:,} to {of:,} pixels.",
    NoteKind.REFUTED_EPSILON: (
        "A one-run audit of {count:,} candidates, {of:,} of them private, refutes every ε up to {value} at δ = {unit},"
        " with 95 % confidence."
    ),
}


def note(remark: Note) -> str:
    """Say what a reader must know of how a claim was scored.

    >>> note(Note(NoteKind.EXACT, 12, value=100.0, unit="dB"))
    '12 are exact: infinitely many dB count as 100.'
    >>> note(Note(NoteKind.FEW_IMAGES, 1, 5))
    'It is about 1 private image only: 5 at least are needed to beat a baseline.'
    """
    words = {
        "answers": f"{counted(remark.count, 'answer')} {'was' if remark.count == 1 else 'were'}",
        "are": are(remark.count),
        "images": counted(remark.count, "private image"),
        "items": counted(remark.of, "item"),
        "value": parameter(remark.value),
        "unit": remark.unit or "units",
    }
    return NOTES[remark.kind].format(count=remark.count, of=remark.of, **words)


def caption(exhibit: Exhibit) -> str:
    """Say what pictures are of, and how the attack did on them.

    >>> caption(Exhibit("best", "image", 12, "correlation", 0.93, "", ()))
    'Image 12: correlation 0.93.'
    """
    if not exhibit.metric:
        return sentence(f"{exhibit.subject} {exhibit.number}")
    return sentence(f"{exhibit.subject} {exhibit.number}: {exhibit.metric} {number(exhibit.value, exhibit.unit)}")
