"""Two audits side by side: what became of verdicts, accuracies and attacks."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from hideseek.records.result import Accuracy, AttackResult, DatasetSummary, Outcome, Range, Result, SchemeResult


class Compared(StrEnum):
    """What is compared of a scheme, or of an attack on it."""

    AUDITED = "audited"
    """Whether the scheme was audited."""
    ACCURACY = "accuracy"
    VERDICT = "verdict"
    """Against the attacker `name`."""
    OUTCOME = "outcome"
    FIGURE = "figure"
    """By the metric `name`."""


@dataclass(frozen=True)
class Difference:
    """One thing in both audits."""

    what: Compared
    scheme: str
    first: Range | Accuracy | Outcome | bool
    second: Range | Accuracy | Outcome | bool
    attack: str = ""
    name: str = ""
    unit: str = ""

    @property
    def differs(self) -> bool:
        """Tell whether it is not the same: another word, or intervals that lie apart."""
        first, second = (each.accuracy if isinstance(each, Accuracy) else each for each in (self.first, self.second))
        if isinstance(first, Range) and isinstance(second, Range):
            return first.low > second.high or second.low > first.high
        return first != second


class MismatchKind(StrEnum):
    """Why two audits do not compare like with like."""

    IMAGES = "images"
    ROUNDS = "rounds"
    TRAINED_ON = "trained on"
    TRUTH = "truth"
    BUDGET = "budget"
    VERSION = "version"


Value = DatasetSummary | tuple[int, ...] | float | str | None


@dataclass(frozen=True)
class Mismatch:
    """Something that two audits do not have in common."""

    kind: MismatchKind
    first: Value
    second: Value


def mismatches(first: Result, second: Result) -> list[Mismatch]:
    """Give the reasons why two audits do not compare like with like; none where they do."""
    pairs = zip(_circumstances(first), _circumstances(second), strict=True)
    return [Mismatch(kind, one, other) for (kind, one, same), (_, other, its) in pairs if same != its]


def _circumstances(result: Result) -> Iterator[tuple[MismatchKind, Value, object]]:
    """Give what an audit was made of, and that which must be equal."""
    origin = result.provenance
    rounds = tuple(sorted({scheme.rounds for scheme in result.schemes}))
    version = origin.versions.get("hideseek", "")
    yield MismatchKind.IMAGES, result.private, _set(result.private)
    yield MismatchKind.ROUNDS, rounds, rounds
    yield MismatchKind.TRAINED_ON, result.trained_on, _set(result.trained_on)
    yield MismatchKind.TRUTH, result.truth.value, result.truth
    yield MismatchKind.BUDGET, origin.budget, origin.budget
    yield MismatchKind.VERSION, version, version


def _set(images: DatasetSummary | None) -> tuple[int, str] | None:
    return None if images is None else (images.images, images.address)


def differences(first: Result, second: Result) -> list[Difference]:
    """Compare the schemes that both audits have: accuracy, verdicts, and every decisive figure of every attack."""
    ours, theirs = ({scheme.name: scheme for scheme in result.schemes} for result in (first, second))
    found: list[Difference] = []
    for name in dict.fromkeys([*ours, *theirs]):
        if name in ours and name in theirs:
            found += _scheme(ours[name], theirs[name])
        else:
            found.append(Difference(Compared.AUDITED, name, name in ours, name in theirs))
    return found


def _scheme(first: SchemeResult, second: SchemeResult) -> Iterator[Difference]:
    name = first.name
    if first.accuracy is not None and second.accuracy is not None:
        yield Difference(Compared.ACCURACY, name, first.accuracy, second.accuracy, unit="share")
    verdicts = {verdict.threat: verdict.outcome for verdict in second.verdicts}
    for verdict in first.verdicts:
        if verdict.threat in verdicts:
            other = verdicts[verdict.threat]
            yield Difference(Compared.VERDICT, name, verdict.outcome, other, name=verdict.threat)
    attacks = {each.attack: each for each in second.attacks}
    for attack in first.attacks:
        if attack.attack in attacks:
            yield from _attack(name, attack, attacks[attack.attack])


def _attack(scheme: str, first: AttackResult, second: AttackResult) -> Iterator[Difference]:
    if first.outcome is not second.outcome:
        yield Difference(Compared.OUTCOME, scheme, first.outcome, second.outcome, first.attack)
    others = {(figure.claim, figure.number, figure.metric): figure.found for figure in second.figures}
    for figure in first.figures:
        other = others.get((figure.claim, figure.number, figure.metric))
        if figure.decisive and other is not None:
            yield Difference(Compared.FIGURE, scheme, figure.found, other, first.attack, figure.metric, figure.unit)
