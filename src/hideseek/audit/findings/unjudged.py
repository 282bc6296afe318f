"""What an attack claims where there is no truth to judge by: what it is sure of itself, and pictures of its guesses."""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from hideseek.audit.findings.exhibits import written
from hideseek.records import Claim, Evidence, Reconstruction, Release
from hideseek.records.result import AttackResult, Claimed, Exhibit, Outcome, Panel, Verdict

SHOWN = 9  # guesses of a claim
OPEN = (Outcome.UNJUDGED, Outcome.NOT_TRIED, Outcome.FAILED, Outcome.WITHHELD)


def claimed(evidence: Evidence) -> tuple[Claimed, ...]:
    """Count what an attack claims, and what it is sure of by itself."""
    return tuple(Claimed(claim.name, _count(claim), _sure(claim)) for claim in evidence.claims)


def outcome_of(claims: Sequence[Claimed]) -> Outcome:
    """Say what claims come to that nobody can judge: an attack may be sure itself."""
    return Outcome.CONFIRMED if any(each.sure for each in claims) else Outcome.UNJUDGED


def guesses(evidence: Evidence, release: Release, folder: Path, name: str) -> tuple[Exhibit, ...]:
    """Write the pictures of guesses, those first that the attack is sure of, beside the rows that they are about."""
    shown = []
    for number, claim in enumerate(each for each in evidence.claims if isinstance(each, Reconstruction)):
        sure = torch.zeros(len(claim.images), dtype=torch.bool) if claim.sure is None else claim.sure.cpu()
        for guess in torch.argsort(~sure, stable=True)[:SHOWN].tolist():
            row = int(claim.about[guess]) if claim.of in ("items", "batches") else None
            shared = None if row is None else release.picture(row)
            label = "recovered, and confirmed by the attack" if sure[guess] else "guess, not confirmed"
            pictures = [] if shared is None else [("shared", shared, release.shows_private)]
            panels = tuple(
                Panel(said, written(picture, folder, f"{name}-{number}-{guess}-{column}.png"), private)
                for column, (said, picture, private) in enumerate([*pictures, (label, claim.images[guess], True)])
            )
            subject, place = ("guess", guess) if row is None else ("row", row)
            shown.append(Exhibit("example", subject, place, "", float(sure[guess]), "", panels))
    return tuple(shown)


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


def _count(claim: Claim) -> int:
    return next((len(value) for value in claim.parts().values() if isinstance(value, Tensor)), 0)


def _sure(claim: Claim) -> int | None:
    return int(claim.sure.sum()) if isinstance(claim, Reconstruction) and claim.sure is not None else None
