"""What can be drawn of evidence: lines and pictures, each claim by its own rules."""

from hideseek.errors import BadInput
from hideseek.records import Claim, Evidence, Release
from hideseek.records.result import Curve
from hideseek.records.secret import Secret
from hideseek.score.claim_rules import Shown
from hideseek.score.claims import CLAIMS


def curves(evidence: Evidence, secret: Secret) -> tuple[Curve, ...]:
    """Draw every claim that has a curve."""
    drawn: list[Curve] = []
    for claim in evidence.claims:
        try:
            drawn += CLAIMS[claim.name].curves(claim, secret)
        except BadInput:  # nothing of one kind to compare with: no curve
            continue
    return tuple(drawn)


def examples(evidence: Evidence, release: Release, secret: Secret) -> list[Shown]:
    """Give the pictures to show of all claims, those first that would be the worst to be true."""
    return [
        shown
        for claim in sorted(evidence.claims, key=_harm, reverse=True)
        for shown in CLAIMS[claim.name].examples(claim, release, secret)
    ]


def _harm(claim: Claim) -> int:
    return max(harm.rank for harm in CLAIMS[claim.name].decisive.values())
