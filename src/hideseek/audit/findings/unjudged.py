"""What an attack claims where there is no truth to judge by: what it says by itself, and what it is sure of."""

from collections.abc import Sequence
from pathlib import Path

from hideseek.audit.findings.exhibits import drawn
from hideseek.records import Claim, Evidence, Release
from hideseek.records.result import AttackResult, Claimed, Exhibit, Outcome, Verdict
from hideseek.records.secret import Secret
from hideseek.score.judge import rules_of

OPEN = (Outcome.UNJUDGED, Outcome.NOT_TRIED, Outcome.FAILED, Outcome.WITHHELD)


def unjudged(evidence: Evidence, secret: Secret) -> list[Claim]:
    """List the claims that a secret has no truth about."""
    return [each for each in evidence.claims if not secret.judgeable(Evidence((each,))).claims]


def claimed(claims: Sequence[Claim]) -> tuple[Claimed, ...]:
    """Say what each claim states by itself."""
    return tuple(rules_of(claim).states(claim) for claim in claims)


def outcome_of(claims: Sequence[Claimed]) -> Outcome:
    """Say what claims come to that nobody can judge: an attack may be sure itself."""
    return Outcome.CONFIRMED if any(each.sure for each in claims) else Outcome.UNJUDGED


def guesses(claims: Sequence[Claim], release: Release, folder: Path, name: str) -> tuple[Exhibit, ...]:
    """Write the pictures of guesses beside the rows that they are about."""
    return drawn([shown for claim in claims for shown in rules_of(claim).guesses(claim, release)], folder, name)


def verdict(results: Sequence[AttackResult], threat: str) -> Verdict:
    """Say what an attacker knows by himself, from what every attack claims."""
    ran = [each for each in results if each.outcome in (Outcome.CONFIRMED, Outcome.UNJUDGED)]
    confirmed = [each.attack for each in ran if each.outcome is Outcome.CONFIRMED]
    outcomes = {each.outcome for each in results}
    first = next((each for each in (Outcome.CONFIRMED, *OPEN) if each in outcomes), Outcome.NOT_APPLICABLE)
    return Verdict(
        threat,
        first,
        by=next(iter(confirmed), ""),
        missing=tuple(each.attack for each in results if each.outcome in (Outcome.FAILED, Outcome.WITHHELD)),
        not_tried=tuple(each.attack for each in results if each.outcome is Outcome.NOT_TRIED),
        seconds=sum(each.seconds for each in ran),
    )
