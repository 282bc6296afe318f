"""What an audit comes to: the verdict in one sentence, and which attack did most harm."""

from hideseek.records.result import AttackResult, Result, SchemeResult
from hideseek.report.words import HARMS

ORDER = ("broken", "resisted", "withheld", "failed", "not applicable")


def headline(result: Result) -> str:
    """Give the verdict in one sentence of plain text."""
    count = len(result.schemes)
    ways = "the one way of sharing" if count == 1 else f"{count} ways of sharing"
    judged = [scheme for scheme in result.schemes if is_judged(scheme)]
    if not judged:
        return f"No attack ran to its end, so nothing is known of {ways}."
    left = count - len(judged)
    unjudged = f", and {left} could not be judged" if left else ""
    weakest = result.threats[0].name if result.threats else ""
    attacker = f"an attacker who {result.threats[0].title}" if result.threats else "an attacker"
    broken = [scheme for scheme in judged if _breaking(scheme)]
    by_weakest = [scheme for scheme in judged if _breaking(scheme, weakest)]
    if not broken:
        what = "The one way of sharing" if count == 1 else f"Each of {ways}"
        what = "Each way of sharing that could be judged" if left else what
        return f"{what} resisted these attacks at this budget, which proves nothing about others{unjudged}."
    if by_weakest:
        says = f"{_share(len(by_weakest), count)} broken by {attacker}"
        worst, scheme = _worst_of(by_weakest, weakest)
    elif any(_ran(scheme, weakest) for scheme in judged):
        says = f"{_share(0, count)} broken by {attacker}"
        worst, scheme = _worst_of(broken)
    else:
        says = f"{_share(len(broken), count)} broken by an attacker who knows more than what is shared"
        return f"{says}{unjudged}, and no other was tried; the worst, {_finding(*_worst_of(broken))}."
    more = len(broken) - len(by_weakest)
    says += f", {more}{' more' if by_weakest else ''} by one who knows more" if more else ""
    return f"{says}{unjudged}; the worst, {_finding(worst, scheme)}."


def _finding(worst: AttackResult, scheme: SchemeResult) -> str:
    """Say what was found, without all that was found besides."""
    return f"{scheme.name}: {worst.sentence.partition('; ')[0].rstrip('. ')}"


def _ran(scheme: SchemeResult, threat: str) -> bool:
    return any(tried.threat == threat and tried.outcome in ("broken", "resisted") for tried in scheme.attacks)


def worst_attack(scheme: SchemeResult) -> AttackResult | None:
    """Give the attack that did most harm, or where none did, the one that a verdict names; None where none ran."""
    if broke := _breaking(scheme):
        return max(broke, key=lambda tried: tried.harm)
    named = [verdict.by for verdict in reversed(scheme.verdicts) if verdict.outcome == "resisted"]
    return next((tried for name in named for tried in scheme.attacks if tried.attack == name), None)


def worst_harm(scheme: SchemeResult) -> int:
    """Give how bad the worst finding is, 0 where nothing was found."""
    return min(len(HARMS) - 1, max([0, *(tried.harm for tried in _breaking(scheme))]))


def is_judged(scheme: SchemeResult) -> bool:
    """Tell whether any attack ran to its end and is believed."""
    return any(tried.outcome in ("broken", "resisted") for tried in scheme.attacks)


def rank(tried: AttackResult) -> tuple[int, int]:
    """Sort what broke first, the worst of it before all."""
    return ORDER.index(tried.outcome), -tried.harm


def _breaking(scheme: SchemeResult, threat: str | None = None) -> list[AttackResult]:
    """List the attacks that broke a scheme, of one attacker or of all."""
    return [tried for tried in scheme.attacks if tried.outcome == "broken" and threat in (None, tried.threat)]


def _worst_of(schemes: list[SchemeResult], threat: str | None = None) -> tuple[AttackResult, SchemeResult]:
    pairs = [(tried, scheme) for scheme in schemes for tried in _breaking(scheme, threat)]
    return max(pairs, key=lambda pair: pair[0].harm)


def _share(count: int, of: int) -> str:
    if of == 1:
        return "The one way of sharing is" if count else "The one way of sharing is not"
    if count == of:
        return f"All {of} ways of sharing are"
    return f"{count or 'None'} of {of} ways of sharing {'are' if count > 1 else 'is'}"
