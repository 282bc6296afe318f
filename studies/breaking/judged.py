"""What a trial keeps of an attack: its mean scores, how long it took, and what it says itself."""

from collections.abc import Sequence
from typing import Any

from hideseek.chance import seeded
from hideseek.records import Evidence
from hideseek.records.mixing_secret import MixingSecret
from hideseek.score.judge import judge


def judged(evidence: Evidence, secret: MixingSecret, seed: int, metrics: Sequence[str]) -> dict[str, Any]:
    """Judge every guess, and give the means."""
    scores = judge(evidence, secret, seeded(seed + 20), metrics).scores
    return {
        **{score.metric: float(score.values.nanmean()) for score in scores},
        "seconds": evidence.seconds,
        **{f"own: {name}": value for name, value in evidence.remarks.items()},
    }
