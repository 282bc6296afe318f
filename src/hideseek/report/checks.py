"""Is this audit sound? Checks that distrust it: each that fails is a flag in the report, beside the figures.

The facts of a flag are those that its sentence needs (report/sentences/flags.py).
"""

from collections.abc import Iterator
from itertools import product

from hideseek.records.result import AttackResult, Figure, Flag, FlagKind, Harm, Outcome, Result, SchemeResult

Facts = dict[str, str | int | float]
FEW, VERY_FEW = 20, 10  # images; with fewer, a bootstrap's 95 % interval errs more often than it says
FACTOR = 1.5  # between a parameter as stated and as it comes to, beyond which they are not the same
COMPARED = (Harm.LIKENESS, Harm.REIDENTIFIED)  # by whose figures attackers are compared
MISSING = {
    Outcome.FAILED: FlagKind.FAILED,
    Outcome.WITHHELD: FlagKind.WITHHELD,
    Outcome.NOT_TRIED: FlagKind.NOT_TRIED,
}
"""Attacks that apply and say nothing: what they would have found is not known."""


def flags(result: Result) -> tuple[Flag, ...]:
    """Give every reason to distrust a part of the audit."""
    return (*_whole(result), *(flag for scheme in result.schemes for flag in _scheme(scheme, result)))


def _whole(result: Result) -> Iterator[Flag]:
    """Check what concerns all schemes."""
    if result.provenance.seed is not None:
        yield Flag(FlagKind.REPRODUCIBLE, facts={"seed": result.provenance.seed})
    for name, other in (("public", result.public), ("own", result.own)):
        if other is not None and other.overlap:
            yield Flag(FlagKind.OVERLAP, facts={"set": name, "overlap": other.overlap, "images": other.images})
    if result.private.images < FEW:
        yield Flag(FlagKind.FEW_IMAGES, facts={"images": result.private.images})
    vanilla, data = result.vanilla, result.trained_on
    if (
        vanilla is not None
        and data is not None
        and vanilla.accuracy.low <= max(1 / max(1, data.classes), vanilla.largest_class or 0.0)
    ):
        yield Flag(FlagKind.NOTHING_LEARNT)


def _scheme(scheme: SchemeResult, result: Result) -> Iterator[Flag]:
    """Check one scheme."""
    for each in scheme.effective:
        low, high = sorted((each.stated, each.effective))
        if high > FACTOR * low:
            values = {"stated": each.stated, "effective": each.effective}
            facts: Facts = {"name": each.name, "meaning": each.meaning, **values}
            yield Flag(FlagKind.EFFECTIVE_VALUE, scheme.name, facts=facts)
    for outcome, kind in MISSING.items():
        for attack in scheme.attacks:
            if attack.outcome is outcome:
                yield Flag(kind, scheme.name, attack.attack)
    yield from _weaker_beats_stronger(scheme, result)
    for attack in scheme.attacks:
        yield from _attack(scheme, attack, result)


def _weaker_beats_stronger(scheme: SchemeResult, result: Result) -> Iterator[Flag]:
    """Flag an attacker who knows less and does better: then those who know more are understated.

    Of several metrics of one harm, the first that shows it is told.
    """
    for harm, threat in product(COMPARED, result.threats):
        below = {each.name for each in result.threats if threat.covers(each) and not each.covers(threat)}
        found = [(attack, figure) for attack in scheme.attacks for figure in attack.figures if figure.harm is harm]
        for metric in dict.fromkeys(figure.metric for _, figure in found):
            weaker = [pair for pair in found if pair[1].metric == metric and pair[0].threat in below]
            stronger = [pair for pair in found if pair[1].metric == metric and pair[0].threat == threat.name]
            if not weaker or not stronger:
                continue
            (best, more), (least, less) = max(weaker, key=_advantage), max(stronger, key=_advantage)
            if more.beats and _apart(more, less):
                values = {"more": more.found.mean, "found": less.found.mean}
                facts: Facts = {"weaker": best.attack, "metric": metric, "unit": less.unit, **values}
                yield Flag(FlagKind.WEAKER_BEATS_STRONGER, scheme.name, least.attack, facts)
                break


def _advantage(pair: tuple[AttackResult, Figure]) -> float:
    return pair[1].advantage.mean if pair[1].advantage is not None else 0.0


def _apart(more: Figure, less: Figure) -> bool:
    """Tell whether one figure's advantage over its baseline is surely above another's."""
    return more.advantage is not None and less.advantage is not None and more.advantage.low > less.advantage.high


def _attack(scheme: SchemeResult, attack: AttackResult, result: Result) -> Iterator[Flag]:
    """Check one attack."""
    decisive = [figure for figure in attack.figures if figure.decisive]
    few = min((figure.found.images for figure in decisive), default=FEW)
    if few < VERY_FEW and result.private.images >= FEW:
        yield Flag(FlagKind.FEW_IMAGES, scheme.name, attack.attack, {"images": few})
    if attack.outcome is not Outcome.RESISTED:
        return
    known = [(figure, figure.advantage) for figure in decisive if figure.advantage is not None]
    near = [figure for figure, advantage in known if advantage.low > 0 and not figure.beats]
    if near:
        yield Flag(FlagKind.NOT_SIGNIFICANT, scheme.name, attack.attack, _beside(near[0]))
    if known and all(advantage.high < 0 for _, advantage in known):
        yield Flag(FlagKind.UNDER_BASELINE, scheme.name, attack.attack, _beside(known[0][0]))


def _beside(figure: Figure) -> Facts:
    """Give the facts of a figure beside its best baseline."""
    return {
        "metric": figure.metric,
        "unit": figure.unit,
        "found": figure.found.mean,
        "best_baseline": figure.best_baseline,
        "baseline": figure.baselines.get(figure.best_baseline, 0.0),
    }
