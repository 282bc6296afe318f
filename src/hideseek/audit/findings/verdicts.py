"""What is said of a scheme against each kind of attacker, from what every attack found."""

from collections.abc import Sequence
from dataclasses import replace

from hideseek.audit.findings.figures import harm, outcome_of
from hideseek.records.result import AttackResult, Harm, Outcome, Threat, Verdict, weakest
from hideseek.score.claims import CLAIMS

RAN = (Outcome.BROKEN, Outcome.LEAKS, Outcome.RESISTED)
MISSING = (Outcome.FAILED, Outcome.WITHHELD)
OPEN = (
    Outcome.NOT_TRIED,
    *MISSING,
    Outcome.UNJUDGED,
)  # what is said where none of an attacker's own attacks ran: the first that is so


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
    """Say for each attacker what he finds; one who knows more can do all that others can.

    A finding is an attacker's if he is given what the attack needs and what the finding needs besides: who breaks a
    scheme by an outsider's attack and a gallery is an attacker who has candidate images, not the outsider. A finding is
    of the level of the weakest attacker who can make it. Where no attack has findings of an attacker's own level, what
    he knows besides was put to no use: the verdict says so, and is no weaker attacker's word.
    """
    return tuple(_verdict(threat, results, threats) for threat in threats)


def _verdict(threat: Threat, results: Sequence[AttackResult], threats: Sequence[Threat]) -> Verdict:
    able = [each for each in results if threat.has(each.given)]
    made = [_made_by(threat, each) for each in able if each.outcome in RAN]
    by_outcome = {
        outcome: tuple(each.attack for each in worst_first(made) if each.outcome is outcome and each.figures)
        for outcome in RAN
    }
    resisted = [each for each in made if each.attack in by_outcome[Outcome.RESISTED]]
    own = [each for each in able if threat.name in _levels(each, threats)]
    outcome = _outcome([each.outcome for each in own], [each for each in RAN if by_outcome[each]])
    by = next(iter(by_outcome.get(outcome, ())), "")
    return Verdict(
        threat=threat.name,
        outcome=outcome,
        by=min(resisted, key=_least_p_value).attack if outcome is Outcome.RESISTED else by,
        broke=by_outcome[Outcome.BROKEN],
        leaked=by_outcome[Outcome.LEAKS],
        resisted=tuple(each.attack for each in resisted),
        missing=tuple(each.attack for each in able if each.outcome in MISSING),
        not_tried=tuple(each.attack for each in able if each.outcome is Outcome.NOT_TRIED),
        seconds=sum(each.seconds for each in resisted),
    )


def _outcome(own: Sequence[Outcome], found: Sequence[Outcome]) -> Outcome:
    """Say what the attacks of an attacker's own level, and all findings that he can make, come to."""
    if not own:
        return Outcome.NOT_APPLICABLE
    if found and (found[0] is not Outcome.RESISTED or set(own) & set(RAN)):
        return found[0]
    return next(each for each in OPEN if each in own)


def _made_by(threat: Threat, result: AttackResult) -> AttackResult:
    """Give an attack with the decisive findings alone that this attacker can make."""
    made = tuple(each for each in result.figures if each.decisive and threat.has(each.given))
    return replace(result, figures=made, harm=harm(made), outcome=outcome_of(made))


def _levels(result: AttackResult, threats: Sequence[Threat]) -> set[str]:
    """Name the attackers of whose level the findings of an attack are; none where it does not apply.

    What an attack would have found that did not run is what it found in its proofs, or else may be anything.
    """
    if result.outcome is Outcome.NOT_APPLICABLE:
        return set()
    proved = [figure for proof in result.proofs for figure in proof.figures]
    figures = [each for each in result.figures if each.decisive] or [each for each in proved if each.decisive]
    needs = {each.given for each in figures} or {
        rules.metrics[name].needs for rules in CLAIMS.values() for name in rules.decisive
    }
    able = [weakest(threats, {*result.given, *each}) for each in needs]
    return {threat.name for threat in able if threat is not None}


def _least_p_value(result: AttackResult) -> float:
    """Tell how near an attack came: the least p-value of its decisive figures."""
    return min((figure.p_value for figure in result.figures if figure.p_value is not None), default=1.0)
