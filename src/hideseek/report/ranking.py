"""Which attacks a reader wants to see first, which did most harm and by whom, and how a scheme stands in all."""

from collections.abc import Sequence

from hideseek.records.result import AttackResult, Exposed, Figure, Harm, Outcome, SchemeResult, Threat, weakest

FOUND = (Outcome.BROKEN, Outcome.LEAKS)


def reading_order(attack: AttackResult) -> tuple[int, int]:
    """Sort what broke first, the worst of it before all."""
    return attack.outcome.rank, -attack.harm.rank


def findings(attack: AttackResult, threat: Threat | None = None) -> list[Figure]:
    """List the decisive figures that beat their baselines, the worst first; of one attacker, those that he can make."""
    beating = [each for each in attack.figures if each.decisive and each.beats]
    made = [each for each in beating if threat is None or threat.has((*attack.given, *each.given))]
    return sorted(made, key=lambda figure: -figure.harm.rank)


def finder(attack: AttackResult, threats: Sequence[Threat]) -> Threat | None:
    """Give the weakest attacker who can make the worst finding of an attack; he may need more than the attack does."""
    of_worst = [each for each in findings(attack) if each.harm is attack.harm]
    able = [weakest(threats, {*attack.given, *each.given}) for each in of_worst]
    return weakest(threat for threat in able if threat is not None)


def worst_attack(scheme: SchemeResult) -> AttackResult | None:
    """Give the attack that did most harm, or where none did, the one that a verdict names; None where none ran.

    Of those that did as much, the one that was given least: what an outsider does is worse news than what others do.
    """
    if found := [each for each in scheme.attacks if each.outcome in FOUND]:
        return min(found, key=lambda each: (*reading_order(each), len(each.given)))
    named = [verdict.by for verdict in reversed(scheme.verdicts) if verdict.outcome is Outcome.RESISTED]
    return next((each for name in named for each in scheme.attacks if each.attack == name), None)


def most_exposed(attacks: Sequence[AttackResult], count: int = 10) -> list[tuple[Exposed, AttackResult]]:
    """Give the private images that attacks point to most clearly, each with the attack that does, the clearest first.

    An image's exposure is its largest over all attacks that found something. Each attack keeps its first ten, so that
    the first ten of all are among them. Of equal shares the attack comes first that was given least. Where patients are
    known, each stands once, by his most exposed image.
    """
    found: dict[int, tuple[Exposed, AttackResult]] = {}
    for attack in attacks:
        for each in attack.exposed:
            name = each.image if each.patient is None else each.patient
            before = found.get(name)
            if before is None or (each.share, -len(attack.given)) > (before[0].share, -len(before[1].given)):
                found[name] = (each, attack)
    return sorted(
        found.values(),
        key=lambda pair: (-pair[0].share, len(pair[1].given), -(pair[0].correlation or 0.0), pair[0].image),
    )[:count]


def worst_harm(scheme: SchemeResult) -> Harm:
    """Give how bad the worst finding is."""
    found = (each.harm for each in scheme.attacks if each.outcome in FOUND)
    return max(found, key=lambda harm: harm.rank, default=Harm.NOTHING)


def is_judged(scheme: SchemeResult) -> bool:
    """Tell whether any attack ran to its end and is believed."""
    return any(each.outcome in (*FOUND, Outcome.CONFIRMED, Outcome.RESISTED) for each in scheme.attacks)


def standing(scheme: SchemeResult, threats: Sequence[Threat]) -> tuple[Outcome, Threat | None]:
    """Say how a scheme stands against all attackers, and the weakest of them who finds that.

    Broken before leaks; else resisted, if attacks ran and none that applies was left untried; else it is open, which is
    said as NOT_TRIED.
    """
    said = {verdict.threat: verdict.outcome for verdict in scheme.verdicts}
    for outcome in FOUND:
        if who := weakest(threat for threat in threats if said.get(threat.name) is outcome):
            return outcome, who
    resisted = Outcome.RESISTED in said.values() and not any(verdict.open for verdict in scheme.verdicts)
    return (Outcome.RESISTED if resisted else Outcome.NOT_TRIED), None
