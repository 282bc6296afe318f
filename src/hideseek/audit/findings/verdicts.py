"""What is said of a scheme against each kind of attacker, from what every attack came to."""

from collections.abc import Sequence

from hideseek.records.result import AttackResult, Harm, Outcome, Threat, Verdict

MISSING = (Outcome.FAILED, Outcome.WITHHELD)


def worst_first(results: Sequence[AttackResult]) -> tuple[AttackResult, ...]:
    """Put attacks into the order in which people want to read of them: what broke, by kind and extent of the harm."""

    def extent(result: AttackResult) -> float:
        """Give the first figure of the worst harm: the share of images, the similarity."""
        if result.harm is Harm.NOTHING:
            return 0.0
        of_harm = (figure for figure in result.figures if figure.harm is result.harm and figure.higher_is_better)
        return next((figure.found.mean for figure in of_harm), 0.0)

    return tuple(sorted(results, key=lambda each: (each.outcome.rank, -each.harm.rank, -extent(each))))


def verdicts(results: Sequence[AttackResult], threats: Sequence[Threat]) -> tuple[Verdict, ...]:
    """Say for each attacker whether the scheme is broken; one who knows more can do all that others can."""
    by_name = {threat.name: threat for threat in threats}
    known = [each for each in results if each.threat in by_name]  # others are attacks on another kind of release
    return tuple(
        _verdict(threat, [each for each in known if threat.covers(by_name[each.threat])]) for threat in threats
    )


def _verdict(threat: Threat, results: Sequence[AttackResult]) -> Verdict:
    broke = [each.attack for each in worst_first(results) if each.outcome is Outcome.BROKEN]
    ran = [each for each in results if each.outcome is Outcome.RESISTED]
    missing = [each.attack for each in results if each.outcome in MISSING]
    if broke:
        outcome, by = Outcome.BROKEN, broke[0]
    elif ran:
        outcome, by = Outcome.RESISTED, min(ran, key=_least_p_value).attack
    else:
        outcome, by = (Outcome.FAILED if missing else Outcome.NOT_APPLICABLE), ""
    resisted = tuple(each.attack for each in ran)
    return Verdict(threat.name, outcome, by, tuple(broke), resisted, tuple(missing), sum(each.seconds for each in ran))


def _least_p_value(result: AttackResult) -> float:
    """Tell how near an attack came: the least p-value of its decisive figures."""
    values = [figure.p_value for figure in result.figures if figure.decisive and figure.p_value is not None]
    return min(values, default=1.0)
