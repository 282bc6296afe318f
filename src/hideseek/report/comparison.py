"""Two audits side by side: what became of verdicts, accuracies and attacks."""

from collections.abc import Iterator
from dataclasses import dataclass

from hideseek.records.result import AttackResult, Figure, Range, Result, SchemeResult


@dataclass(frozen=True)
class Difference:
    """One thing in both audits; `differs` says that it is not the same: other words, or intervals that lie apart."""

    subject: str
    what: str
    first: str
    second: str
    differs: bool


def comparable(first: Result, second: Result) -> list[str]:
    """Say why two audits do not compare like with like; nothing where they do."""
    reasons = []
    for what, one, other in (
        ("private images", _set(first), _set(second)),
        ("rounds", _rounds(first), _rounds(second)),
        ("accuracy's images", _trained(first), _trained(second)),
        ("budgets", f"{first.provenance.budget:,.0f} s", f"{second.provenance.budget:,.0f} s"),
        ("versions", first.provenance.versions.get("hideseek", ""), second.provenance.versions.get("hideseek", "")),
    ):
        if one != other:
            reasons.append(f"their {what} differ: {one} and {other}")
    return reasons


def differences(first: Result, second: Result) -> list[Difference]:
    """Compare the schemes that both audits have: accuracy, verdicts, and every decisive figure of every attack."""
    ours, theirs = ({scheme.name: scheme for scheme in result.schemes} for result in (first, second))
    found: list[Difference] = []
    for name in dict.fromkeys([*ours, *theirs]):
        if name in ours and name in theirs:
            found += _scheme(ours[name], theirs[name])
        else:
            there = ("audited", "not audited") if name in ours else ("not audited", "audited")
            found.append(Difference(name, "", *there, differs=True))
    return found


def _scheme(first: SchemeResult, second: SchemeResult) -> Iterator[Difference]:
    name = first.name
    if first.accuracy is not None and second.accuracy is not None:
        yield _ranges(name, "accuracy", "share", first.accuracy.accuracy, second.accuracy.accuracy)
    other = {verdict.threat: verdict for verdict in second.verdicts}
    for verdict in first.verdicts:
        if verdict.threat in other:
            yield _words(name, f"against {verdict.threat}", verdict.outcome, other[verdict.threat].outcome)
    tried = {each.attack: each for each in second.attacks}
    for attack in first.attacks:
        if attack.attack in tried:
            yield from _attack(name, attack, tried[attack.attack])


def _attack(scheme: str, first: AttackResult, second: AttackResult) -> Iterator[Difference]:
    subject = f"{scheme}, {first.attack}"
    if first.outcome != second.outcome:
        yield _words(subject, "outcome", first.outcome, second.outcome)
    other = {(figure.claim, figure.metric): figure for figure in second.figures}
    for figure in first.figures:
        same: Figure | None = other.get((figure.claim, figure.metric))
        if figure.decisive and same is not None:
            yield _ranges(subject, figure.metric, figure.unit, figure.found, same.found)


def _ranges(subject: str, what: str, unit: str, first: Range, second: Range) -> Difference:
    apart = first.low > second.high or second.low > first.high
    return Difference(subject, what, _limits(first, unit), _limits(second, unit), apart)


def _limits(found: Range, unit: str) -> str:
    """Write a mean with its interval.

    >>> _limits(Range(0.5, 0.4, 0.6, 9), "share"), _limits(Range(0.5, 0.4, 0.6, 9), "")
    ('50.0 % (40.0 to 60.0)', '0.50 (0.40 to 0.60)')
    """
    if unit == "share":
        return f"{100 * found.mean:.1f} % ({100 * found.low:.1f} to {100 * found.high:.1f})"
    return f"{found.mean:.2f} ({found.low:.2f} to {found.high:.2f})"


def _words(subject: str, what: str, first: str, second: str) -> Difference:
    return Difference(subject, what, first, second, first != second)


def _set(result: Result) -> str:
    return f"{result.private.images:,} of {result.private.address or 'a set without a name'}"


def _rounds(result: Result) -> str:
    return ", ".join(sorted({str(scheme.rounds) for scheme in result.schemes}))


def _trained(result: Result) -> str:
    return "none" if result.trained_on is None else f"{result.trained_on.images:,} of {result.trained_on.address}"
