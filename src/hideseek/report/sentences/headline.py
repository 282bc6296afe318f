"""An audit in one sentence: how many ways of sharing are broken and by whom, leak, resisted, are open."""

from collections.abc import Sequence

from hideseek.records.result import Outcome, Result, SchemeResult, Threat, Truth, weakest
from hideseek.report.ranking import findings, is_judged, standing, worst_harm
from hideseek.report.sentences.findings import worst_finding
from hideseek.report.sentences.numbers import counted, listing

NAMED = 3  # attacks that the sentence names; more are counted
JUDGED = (Outcome.BROKEN, Outcome.LEAKS, Outcome.RESISTED)
Found = tuple[SchemeResult, Threat]


def headline(result: Result) -> str:
    """Give the verdict in one sentence of plain text."""
    schemes, count = result.schemes, len(result.schemes)
    if result.truth is Truth.NONE:
        return _without_truth(schemes)
    if not any(is_judged(scheme) for scheme in schemes):
        ways = "the one way of sharing" if count == 1 else f"{count} ways of sharing"
        return f"No attack ran to its end, so nothing is known of {ways}{f': {why_open(schemes)}' if count else ''}."
    stand = [(scheme, *standing(scheme, result.threats)) for scheme in schemes]
    broken, leaking = (
        [(scheme, who) for scheme, outcome, who in stand if outcome is wanted and who is not None]
        for wanted in (Outcome.BROKEN, Outcome.LEAKS)
    )
    resisted, unknown = (
        [scheme for scheme, outcome, _ in stand if outcome is wanted]
        for wanted in (Outcome.RESISTED, Outcome.NOT_TRIED)
    )
    clauses = []
    if broken:
        clauses.append(_broken(broken, result))
    elif leaking:
        clauses.append(f"{_share(0, count)} broken by these attacks at this budget")
    if leaking:
        clauses.append(f"{_they(len(leaking), count, 'leaks', 'leak')} ({_leaks(leaking, result)})")
    if resisted:
        proves = "resisted these attacks at this budget, which proves nothing about others"
        clauses.append(f"{len(resisted)} resisted" if clauses else f"{_subject(len(resisted), count)} {proves}")
    if unknown:
        are = _they(len(unknown), count, "is", "are") if clauses else _share(len(unknown), count)
        clauses.append(f"{are} open: {why_open(unknown)}")
    if broken or leaking:
        clauses.append(_worst(broken or leaking, result))
    return f"{'; '.join(clauses)}."


def _without_truth(schemes: Sequence[SchemeResult]) -> str:
    """Say what attackers confirmed by themselves; nothing else can be said without the truth."""
    attacks = [attack for scheme in schemes for attack in scheme.attacks]
    confirmed = [
        f"{each.attack} confirms {sum(claim.sure or 0 for claim in each.claimed):,} of"
        f" {counted(sum(claim.count for claim in each.claimed if claim.sure is not None), 'image')} that it recovered"
        for each in attacks
        if each.outcome is Outcome.CONFIRMED
    ]
    ran = sum(each.outcome is Outcome.UNJUDGED for each in attacks)
    if confirmed:
        return f"Broken, as the attacker himself confirms without the truth: {listing(confirmed)}."
    if ran:
        return (
            f"What {counted(ran, 'attack')} found here cannot be judged without the truth, and none confirms an image"
            " by itself: the question is open."
        )
    return f"No attack ran to its end, so nothing is known of this release: {why_open(schemes)}."


def _broken(broken: Sequence[Found], result: Result) -> str:
    """Count what is broken by the weakest attacker who was tried, then what those break who know more."""
    count = len(result.schemes)
    judged = {each.threat for scheme in result.schemes for each in scheme.verdicts if each.outcome in JUDGED}
    first = weakest(threat for threat in result.threats if threat.name in judged)
    all_knew_more = first != weakest(result.threats)
    by = sorted({who.name: who for _, who in broken}.values(), key=lambda who: len(who.gives))
    counts = {who.name: sum(each.name == who.name for _, each in broken) for who in by}
    so_far = 0 if first is None else counts.get(first.name, 0)
    said = "" if first is None else f"{_share(so_far, count)} broken by an attacker who {first.title}"
    said += ", the weakest who was tried" if all_knew_more else ""
    for who in by:
        if who != first:
            said += ", but by" if count == 1 else f", {counts[who.name]}{' more' if so_far else ''} by"
            said += f" one who {who.title}"
            so_far += counts[who.name]
    return said


def _leaks(leaking: Sequence[Found], result: Result) -> str:
    """Name what leaks, the worst first, and to whom where an attacker who knows less finds nothing."""
    least = weakest(result.threats)
    kinds = sorted(((worst_harm(scheme), who) for scheme, who in leaking), key=lambda pair: -pair[0].rank)
    told = [harm.value if who == least else f"{harm}, to one who {who.title}" for harm, who in kinds]
    return "; ".join(dict.fromkeys(told))


def _worst(found: Sequence[Found], result: Result) -> str:
    """Say the worst that the weakest attacker found, without all that was found besides."""
    least = weakest(who for _, who in found)
    pairs = [
        (scheme, figure)
        for scheme, who in found
        if who == least
        for attack in scheme.attacks
        for figure in findings(attack, who)
    ]
    if not pairs:
        return f"the worst is {found[0][0].name}"
    scheme, figure = max(pairs, key=lambda pair: pair[1].harm.rank)
    return f"the worst, {scheme.name}: {worst_finding((figure,), result.private.images) or figure.harm.value}"


def why_open(schemes: Sequence[SchemeResult]) -> str:
    """Say why nothing, or not enough, is known of schemes: what was not tried, or else what failed.

    >>> from hideseek.records.result import Verdict
    >>> verdict = Verdict("outsider", Outcome.NOT_TRIED, "", missing=("c",), not_tried=("a", "b"))
    >>> why_open([SchemeResult("", "", "", {}, 1, 1, None, None, (verdict,), ())])
    'a and b were not tried'
    """
    verdicts = [verdict for scheme in schemes for verdict in scheme.verdicts]
    if untried := list(dict.fromkeys(name for verdict in verdicts for name in verdict.not_tried)):
        return f"{_named(untried)} {'was' if len(untried) == 1 else 'were'} not tried"
    missing = list(dict.fromkeys(name for verdict in verdicts for name in verdict.missing))
    return f"{_named(missing)} failed or could not be believed" if missing else "no attack applies"


def _named(attacks: Sequence[str]) -> str:
    more = len(attacks) - NAMED
    return listing(attacks) if more <= 1 else f"{', '.join(attacks[:NAMED])} and {more} others"


def _subject(count: int, of: int) -> str:
    if of == 1:
        return "The one way of sharing"
    if of == 2 and count != 1:
        return "Both ways of sharing" if count else "Neither way of sharing"
    return f"All {of} ways of sharing" if count == of else f"{count or 'None'} of {of} ways of sharing"


def _share(count: int, of: int) -> str:
    if of == 1:
        return f"{_subject(count, of)} is{'' if count else ' not'}"
    return f"{_subject(count, of)} {'are' if count > 1 else 'is'}"


def _they(count: int, of: int, one: str, many: str) -> str:
    return f"it {one}" if of == 1 else f"{count} {one if count == 1 else many}"
