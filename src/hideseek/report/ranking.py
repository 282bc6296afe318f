"""Which attacks a reader wants to see first, and which did most harm."""

from hideseek.records.result import AttackResult, Harm, Outcome, SchemeResult


def reading_order(attack: AttackResult) -> tuple[int, int]:
    """Sort what broke first, the worst of it before all."""
    return attack.outcome.rank, -attack.harm.rank


def breaking(scheme: SchemeResult, threat: str | None = None) -> list[AttackResult]:
    """List the attacks that broke a scheme, of one attacker or of all."""
    return [each for each in scheme.attacks if each.outcome is Outcome.BROKEN and threat in (None, each.threat)]


def worst_attack(scheme: SchemeResult) -> AttackResult | None:
    """Give the attack that did most harm, or where none did, the one that a verdict names; None where none ran."""
    if broke := breaking(scheme):
        return max(broke, key=lambda each: each.harm.rank)
    named = [verdict.by for verdict in reversed(scheme.verdicts) if verdict.outcome is Outcome.RESISTED]
    return next((each for name in named for each in scheme.attacks if each.attack == name), None)


def worst_harm(scheme: SchemeResult) -> Harm:
    """Give how bad the worst finding is."""
    return max((each.harm for each in breaking(scheme)), key=lambda harm: harm.rank, default=Harm.NOTHING)


def is_judged(scheme: SchemeResult) -> bool:
    """Tell whether any attack ran to its end and is believed."""
    return any(each.outcome in (Outcome.BROKEN, Outcome.RESISTED) for each in scheme.attacks)
