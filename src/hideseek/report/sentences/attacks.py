"""What an attack found, why it did not, what it knew, and whether it may be believed."""

import re
from collections.abc import Sequence

from hideseek.records.refusal import Refusal
from hideseek.records.release import Contents
from hideseek.records.result import (
    AttackResult,
    Exhibit,
    Failure,
    FailureKind,
    Figure,
    Note,
    NoteKind,
    Outcome,
    Proof,
)
from hideseek.report.sentences.numbers import counted, duration, number, parameter, sentence, span

PLACES = re.compile(r"\{(value|baseline|name|images)\}")
GIVEN = {
    "made_for": "which image each row was made for",
    "sources": "which images are in each row",
    "weights": "the weights",
}
"""What an attacker knows who is given a field; the name of any other field is written with spaces."""


def attack(result: AttackResult, images: int) -> str:
    """Say what became of an attack on the release of so many private images."""
    if result.outcome is Outcome.NOT_APPLICABLE:
        return refusal(result.refusal) if result.refusal else "It does not apply."
    if result.outcome is Outcome.FAILED:
        return failure(result.failure) if result.failure else "It did not run to its end."
    if result.outcome is Outcome.WITHHELD:
        missed = [proof(each) for each in result.proofs if not each.passed]
        return " ".join(missed) or "It did not pass its proofs."
    return found(result.figures, images)


def found(figures: Sequence[Figure], images: int) -> str:
    """Say what figures show: all that beats its baseline, the worst first; else how near the attack came."""
    if clauses := _findings(figures, images):
        return sentence("; ".join(clauses))
    decisive = [figure for figure in figures if figure.decisive]
    if not decisive:
        return sentence(FAILURES[FailureKind.NOTHING_JUDGED])
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


def _beside(figure: Figure) -> str:
    """Put a figure beside its baseline: metric value (low to high), baseline value."""
    baseline = figure.baselines.get(figure.best_baseline)
    beside = "" if baseline is None else f", baseline {number(baseline, figure.unit)}"
    return f"{figure.metric} {number(figure.found.mean, figure.unit)} ({span(figure.found, figure.unit)}){beside}"


def refusal(refused: Refusal) -> str:
    """Say why an attack does not apply."""
    return sentence(str(refused))


FAILURES = {
    FailureKind.TIME_LIMIT: "it was stopped{after}, all that the budget gave it: give the audit more time",
    FailureKind.NO_TIME: "the budget left no time for it{needs}: give the audit more time",
    FailureKind.ERROR: "it failed{error}",
    FailureKind.REFUSED: "{text}",
    FailureKind.TOO_FEW_IMAGES: (
        "too few images could be judged for it to beat a baseline, whatever it found: hide more images"
    ),
    FailureKind.NOTHING_JUDGED: "nothing that it claims could be judged",
    FailureKind.NO_WEAK_CASE: "no weak case could be made for it, so nothing shows that it works here",
}


def failure(failed: Failure) -> str:
    """Say why something did not come to an end."""
    took = "" if failed.seconds is None else duration(failed.seconds)
    return sentence(
        FAILURES[failed.kind].format(
            after=f" after {took}" if took else "",
            needs=f", and it needs {took} at least" if took else "",
            error=f" ({failed.text})" if failed.text else "",
            text=failed.text or "it lacks something",
        )
    )


def proof(tried: Proof) -> str:
    """Say whether an attack breaks a weak case, or is at chance on noise."""
    images = tried.case.images if tried.case else max((each.found.images for each in tried.figures), default=0)
    said = failure(tried.failure) if tried.failure else found(tried.figures, images)
    if tried.kind == "noise":
        if tried.failure:
            judged = "it finds nothing that could be judged" if tried.passed else "it could not be run"
            return f"On noise {judged}: {said}"
        if tried.passed:
            return f"On noise it is at chance. {said}"
        return f"It claims to find something in pure noise, so its figures mean nothing. {said}"
    if tried.failure and tried.failure.kind is FailureKind.NO_WEAK_CASE:
        return said
    case = f"a weak case{_case(tried)}"
    if tried.failure:
        return f"On {case} it could not be run. {said}"
    return f"It {'breaks' if tried.passed else 'does not break'} {case}. {said}"


def _case(tried: Proof) -> str:
    if tried.case is None:
        return ""
    return f" ({tried.case.mechanism} of {tried.case.images:,} private images, {counted(tried.case.rounds, 'round')})"


def knew(contents: Contents, given: Sequence[str]) -> str:
    """Say what an attacker knew: what was shared, and the withheld fields that he was given.

    >>> knew(Contents("encoding", 3200, True, 400), ("made_for", "device_ids"))
    '3,200 encodings with labels, the scheme, 400 public images, which image each row was made for, device ids.'
    """
    parts = [f"{counted(contents.items, contents.item)}{' with labels' if contents.labelled else ''}", "the scheme"]
    if contents.public:
        parts.append(counted(contents.public, "public image"))
    if contents.own:
        parts.append(f"{counted(contents.own, 'image')} of the attacker's own")
    parts += [GIVEN.get(field, field.replace("_", " ")) for field in given]
    return sentence(", ".join(parts))


NOTES = {
    NoteKind.EXACT: "{count:,} are exact: infinitely many {unit} count as {value}.",
    NoteKind.NO_TRUTH: "{count:,} of {of:,} items have no ground truth to be judged by.",
    NoteKind.FEW_IMAGES: "It is about {count:,} private images only: {of:,} at least are needed to beat a baseline.",
    NoteKind.ANSWERS_KEPT: "{count:,} answers were kept, and no more can be looked through.",
    NoteKind.ENLARGED: "Images were enlarged from {count:,} to {of:,} pixels.",
}


def note(remark: Note) -> str:
    """Say what a reader must know of how a claim was scored.

    >>> note(Note(NoteKind.EXACT, 12, value=100.0, unit="dB"))
    '12 are exact: infinitely many dB count as 100.'
    """
    value = parameter(remark.value)
    return NOTES[remark.kind].format(count=remark.count, of=remark.of, value=value, unit=remark.unit or "units")


def caption(exhibit: Exhibit) -> str:
    """Say what pictures are of, and how the attack did on them.

    >>> caption(Exhibit("best", "image", 12, "correlation", 0.93, "", ()))
    'Image 12: correlation 0.93.'
    """
    return sentence(f"{exhibit.subject} {exhibit.number}: {exhibit.metric} {number(exhibit.value, exhibit.unit)}")
