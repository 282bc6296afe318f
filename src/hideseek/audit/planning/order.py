"""The order of attacks: what they can show comes before what they cost."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hideseek.audit.planning.budget import Step
from hideseek.audit.threats import THREATS, threat_of
from hideseek.records import Attack


def in_order(steps: Sequence[Step], attacks: Mapping[str, Attack[Any]]) -> list[Step]:
    """Put attacks that must run first; among them, outsiders first, then the worst harm, then the least cost.

    An attack must run if none of the same attacker on the same scheme can show worse: without it, nobody knows what
    that attacker can do. Where several can show the same, nobody knows beforehand which of them does: all must run.
    """

    def harm(step: Step) -> int:
        return attacks[step.key.attack].shows.rank

    def attacker(step: Step) -> int:
        return THREATS.index(threat_of(attacks[step.key.attack]))

    worst: dict[tuple[str, int], int] = {}
    for step in steps:
        whose = (step.key.scheme, attacker(step))
        worst[whose] = max(harm(step), worst.get(whose, 0))
    marked = [replace(step, must=harm(step) == worst[step.key.scheme, attacker(step)]) for step in steps]
    return sorted(marked, key=lambda step: (not step.must, attacker(step), -harm(step), step.smallest, step.full))
