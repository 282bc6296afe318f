"""How sure the effect of an attack is: what the tables of effects, of rows and of updates, assert."""

from typing import Any

from hideseek.chance import seeded
from hideseek.records import Attack, Release
from hideseek.records.secret import Secret
from hideseek.score.claims import CLAIMS
from hideseek.score.exposure import most_exposed
from hideseek.score.judge import judge
from hideseek.seek import run

SURE = 1e-3  # a p-value below which an attack has its effect


def revealed(attack: Attack[Any], release: Release, secret: Secret) -> Release:
    """Give an attack what it needs of what is withheld, and was not given yet, and nothing else."""
    return secret.reveal(
        release, [need for need in attack.needs if need in release.withheld and getattr(release, need) is None]
    )


def p_values(attack: Attack[Any], release: Release, secret: Secret) -> dict[tuple[int, str], float]:
    """How likely each decisive figure of each claim would be if the attack were no better than the best baseline.

    What else an audit asks of claims must have an answer, too.
    """
    evidence = run(attack, revealed(attack, release, secret), seeded(2))
    most_exposed(evidence, secret)
    decisive = [metric for claim in evidence.claims for metric in CLAIMS[claim.name].decisive]
    scores = judge(evidence, secret, seeded(3), decisive).scores
    return {
        (score.number, score.metric): 1.0 if score.significance is None else score.significance.p_value
        for score in scores
    }
