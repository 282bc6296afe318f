"""What is said of a scheme against each kind of attacker, from what every attack came to."""

from collections.abc import Sequence

from hideseek.records.result import AttackResult, Threat, Verdict

ORDER = ("broken", "resisted", "withheld", "failed", "not applicable")
EXTENT = {6: "recovered", 5: "re-identified", 4: "accuracy", 3: "fitted-ssim", 2: "auc", 1: "hit@1"}  # of each harm


def worst(tried: Sequence[AttackResult]) -> AttackResult | None:
    """Give the attack that did most harm."""
    return next((each for each in worst_first(tried) if each.outcome == "broken"), None)


def worst_first(tried: Sequence[AttackResult]) -> tuple[AttackResult, ...]:
    """Put attacks into the order in which people want to read of them: what broke, by kind and extent of the harm."""

    def extent(each: AttackResult) -> float:
        found = (figure.found.mean for figure in each.figures if figure.metric == EXTENT.get(each.harm))
        return next(found, 0.0)

    return tuple(sorted(tried, key=lambda each: (ORDER.index(each.outcome), -each.harm, -extent(each))))


def verdicts(tried: Sequence[AttackResult], threats: Sequence[Threat], bound: str) -> tuple[Verdict, ...]:
    """Say for each attacker whether the scheme is broken; one who knows more can do all that others can."""
    places = {threat.name: place for place, threat in enumerate(threats)}
    return tuple(
        _verdict(threat, [each for each in tried if places[each.threat] <= place], bound)
        for place, threat in enumerate(threats)
    )


def _verdict(threat: Threat, tried: Sequence[AttackResult], bound: str) -> Verdict:
    breaking = worst(tried)
    if breaking is not None:
        others = sum(each.outcome == "broken" for each in tried) - 1
        more = (
            f" {others} other attack{'s' if others > 1 else ''} also beat{'' if others > 1 else 's'} chance."
            if others
            else ""
        )
        return Verdict(threat.name, "broken", f"{breaking.attack}: {breaking.sentence}{more}", breaking.attack, bound)
    ran = [each for each in tried if each.outcome == "resisted"]
    lost = [each for each in tried if each.outcome in ("failed", "withheld")]
    missing = f" {_names(lost)} did not run, or could not be believed." if lost else ""
    if ran:
        took = sum(each.seconds for each in ran)
        said = f"It resisted {_names(ran)}, {took:,.1f} s in all; another attack, or more time, may do better.{missing}"
        return Verdict(threat.name, "resisted", said, min(ran, key=_p_value).attack, bound)
    if lost:
        return Verdict(threat.name, "failed", f"Nothing is known:{missing}", "", bound)
    return Verdict(threat.name, "not applicable", "None of the attacks that were asked for applies.", "", bound)


def _p_value(tried: AttackResult) -> float:
    """Tell how near an attack came: the least doubt of its decisive figures."""
    return min(
        (figure.p_value for figure in tried.figures if figure.decisive and figure.p_value is not None), default=1.0
    )


def _names(tried: Sequence[AttackResult]) -> str:
    """List attacks in words.

    >>> _names([])
    ''
    """
    names = [each.attack for each in tried]
    return ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1] if names else ""
