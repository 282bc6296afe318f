"""The leaderboard: entries beside each other, those first that fewest attackers break."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from hideseek.bench.entry import PICTURE, Entry, Evidence
from hideseek.bench.protocol import Protocol
from hideseek.escapes import escaped
from hideseek.hide.privacy.gaussian import gaussian_epsilon
from hideseek.records.result import AttackResult, Outcome, Result, SchemeResult, Threat, Verdict
from hideseek.report import sentences
from hideseek.report.ranking import findings, standing
from hideseek.report.sentences.numbers import counted, parameter
from hideseek.score.metrics import METRICS

TIMES = "\N{NO-BREAK SPACE}×"
DELTA = 1e-5  # at which ε is given, where any can be
FOUND = (Outcome.BROKEN, Outcome.LEAKS)
ORDER = (Outcome.RESISTED, Outcome.NOT_TRIED, Outcome.LEAKS, Outcome.BROKEN)


@dataclass(frozen=True)
class Line:
    """An entry on the board."""

    evidence: Evidence
    outcome: Outcome
    """The worst that any attacker does."""
    by: Threat | None
    """The weakest attacker who does it."""

    @property
    def entry(self) -> Entry:
        """Give what was measured."""
        return self.evidence.entry

    @property
    def scheme(self) -> SchemeResult | None:
        """Give what attacks came to; None where nothing is hidden."""
        return None if self.evidence.result is None else self.evidence.result.schemes[0]


def ranked(found: Iterable[Evidence]) -> list[Line]:
    """Put entries into their order.

    What learns nothing comes last. Else resisted comes before leaks, and leaks before broken; of what is broken, that
    comes first which takes the attacker who is given most; then the more accurate.
    """
    return sorted((_line(each) for each in found), key=_place)


def _line(evidence: Evidence) -> Line:
    result = evidence.result
    if result is None:
        return Line(evidence, Outcome.BROKEN, None)
    return Line(evidence, *standing(result.schemes[0], result.threats))


def _place(line: Line) -> tuple[bool, int, int, float]:
    entry = line.entry
    given = -1 if line.by is None else len(line.by.gives)
    return not entry.learns, ORDER.index(line.outcome), -given, -entry.accuracy


def as_markdown(protocol: Protocol, found: Sequence[Evidence], place: str = ".") -> str:
    """Write a leaderboard; `place` is where the entries lie, seen from where it is written."""
    lines = ranked(found)
    plain = next((line.entry for line in lines if line.entry.name in ("none", "undefended")), None)
    head = ("#", "way of sharing", "accuracy, %", "the weakest who does the worst", "shared", "time", "proved")
    rows = [_row(number, line, plain, place) for number, line in enumerate(lines, 1)]
    parts = [f"# Leaderboard of {protocol.track}", _about(protocol), _table(head, rows)]
    return "\n\n".join([*parts, "## By attacker", _attackers(lines), "## Figures", _figures(lines)]) + "\n"


def _about(protocol: Protocol) -> str:
    """Say what was measured."""
    return (
        f"Measured by `hideseek bench {protocol.track}` ({protocol.name}): {protocol.private} private images,"
        f" {counted(protocol.rounds, 'round')}, {len(protocol.attacks)} attacks, each with its own settings;"
        f" accuracy is the mean of {counted(len(protocol.seeds), 'training')} and its standard deviation,"
        " and in brackets the points that are lost. Of several that are broken, what takes an attacker who is given"
        " more comes first. Resisted is not safe: only what is proved holds against every attack."
    )


def _row(number: int, line: Line, plain: Entry | None, place: str) -> list[str]:
    entry = line.entry
    name = f"`{_cell(entry.name)}`"
    accuracy = f"{100 * entry.accuracy:.1f}" + (f" ± {100 * entry.spread:.1f}" if len(entry.accuracies) > 1 else "")
    if plain is not None and plain is not entry:
        accuracy += f" ({sentences.gained(entry.accuracy - plain.accuracy)})"
    if not entry.learns:
        accuracy += ", learns nothing"
    return [
        str(number),
        name,
        accuracy,
        _worst(line, place),
        f"{entry.cost.shared:.2f}{TIMES}",
        f"{entry.cost.time:.2f}{TIMES}",
        _proved(line),
    ]


def worst_of(evidence: Evidence) -> str:
    """Say the worst that is done to a scheme, by the weakest attacker who does it, and by which attack."""
    line, result = _line(evidence), evidence.result
    if result is None:
        return "broken since everybody sees the images"
    if line.by is None:
        return line.outcome.value if line.outcome is Outcome.RESISTED else "open: not all that applies came to its end"
    (scheme,) = result.schemes
    verdict = next(each for each in scheme.verdicts if each.threat == line.by.name)
    found = findings(_attack(scheme, verdict), line.by)
    finding = sentences.worst_finding(found, result.private.images)
    return f"{line.outcome.value} by {verdict.by}, an attacker who {line.by.title}{f': {finding}' if finding else ''}"


def _attack(scheme: SchemeResult, verdict: Verdict) -> AttackResult:
    """Give the attack that a verdict rests on."""
    return next(each for each in scheme.attacks if each.attack == verdict.by)


def _worst(line: Line, place: str) -> str:
    """Name the weakest attacker who does the worst, with his attack and its figure, and link the picture."""
    result = line.evidence.result
    if result is None or line.by is None:
        outcome, _, how = worst_of(line.evidence).partition(" ")
        said = f"**{outcome}** {how}".rstrip()
    else:
        said = f"**{line.outcome.value}** for *{line.by.name}*: {_by_attack(result, line.by)}"
    if (line.evidence.folder / PICTURE).is_file():
        said += f" ([picture]({quote(f'{place}/{line.evidence.folder.name}/{PICTURE}')}))"
    return said


def _proved(line: Line) -> str:
    """Give ε of all that is attacked, where one is proved; else what else is."""
    spent, scheme = line.entry.spent, line.scheme
    if spent.epsilon is not None:
        return f"ε ≤ {parameter(spent.epsilon)} (δ = {parameter(spent.delta)})"
    if spent.mu2 is not None:
        epsilon = float(f"{gaussian_epsilon(math.sqrt(spent.mu2), DELTA):.3g}")
        return f"ε ≤ {parameter(epsilon)} (δ = {parameter(DELTA)})"
    if scheme is None or not scheme.bounds:
        return "–"
    return f"{scheme.bounds[0].quantity} ≤ {parameter(scheme.bounds[0].value)}"


def _attackers(lines: Sequence[Line]) -> str:
    """Say for every attacker what he comes to, and by which attack."""
    results = [line.evidence.result for line in lines if line.evidence.result is not None]
    threats = list({threat.name: threat for result in results for threat in result.threats}.values())
    head = ["way of sharing", *(threat.name for threat in threats)]
    rows = [
        [f"`{_cell(line.entry.name)}`", *(_verdict(line.evidence.result, threat) for threat in threats)]
        for line in lines
        if line.evidence.result is not None
    ]
    legend = "\n".join(f"- **{threat.name}** {threat.title}." for threat in threats)
    return f"{_table(head, rows)}\n\n{legend}"


def _verdict(result: Result, threat: Threat) -> str:
    (scheme,) = result.schemes
    verdict = next((each for each in scheme.verdicts if each.threat == threat.name), None)
    if verdict is None or verdict.outcome is Outcome.NOT_APPLICABLE:
        return "–"
    if verdict.outcome not in FOUND:
        return verdict.outcome.value
    return f"{verdict.outcome.value}: {_by_attack(result, threat)}"


def _by_attack(result: Result, threat: Threat) -> str:
    """Name the attack of an attacker, with the worst figure that he can make."""
    (scheme,) = result.schemes
    attack = _attack(scheme, next(each for each in scheme.verdicts if each.threat == threat.name))
    worst = next(iter(findings(attack, threat)), None)
    value = "" if worst is None else f" ({worst.metric} {sentences.number(worst.found.mean, worst.unit)})"
    return f"{_cell(attack.attack)}{value}"


def _figures(lines: Sequence[Line]) -> str:
    """Say what the figures of a leaderboard mean."""
    results = [line.evidence.result for line in lines if line.evidence.result is not None]
    shown = {
        worst.metric
        for result in results
        for scheme in result.schemes
        for verdict in scheme.verdicts
        if verdict.outcome in FOUND
        for threat in result.threats
        if threat.name == verdict.threat
        for worst in findings(_attack(scheme, verdict), threat)[:1]
    }
    return "\n".join(f"- {name}: {_cell(METRICS[name].meaning)}." for name in sorted(shown & METRICS.keys()))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *rows])


def _cell(text: str) -> str:
    """Give a text without what would end a cell or a line, or begin a tag."""
    return escaped(text).replace("&", "&amp;").replace("<", "&lt;").replace("|", "&#124;").replace("`", "'")
