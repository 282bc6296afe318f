"""Every metric by its name."""

from collections.abc import Iterable

from hideseek.score.claim_rules import ClaimRules
from hideseek.score.claims import CLAIMS
from hideseek.score.metric import Metric


def by_name(claims: Iterable[ClaimRules]) -> dict[str, Metric]:
    """Give the metrics of some kinds of claim; two of one name are an error."""
    found = [item for rules in claims for item in rules.metrics.items()]
    names = [name for name, _ in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise TypeError(f"{', '.join(twice)} is the name of two metrics.")
    return dict(found)


METRICS = by_name(CLAIMS.values())

__all__ = ["METRICS", "Metric", "by_name"]
