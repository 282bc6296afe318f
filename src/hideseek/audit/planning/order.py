"""The order of attacks: what they can show comes before what they cost."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hideseek.audit.planning.budget import Step
from hideseek.audit.threats import THREATS, threat_of
from hideseek.records import Attack
from hideseek.records.result import StepKey


def in_order(steps: Sequence[Step], attacks: Mapping[str, Attack[Any]]) -> list[Step]:
    """Put the strongest attacks first; among them, outsiders first, then the worst harm, then the least cost.

    An attack is among the strongest if none of the same attacker on the same scheme can show worse. Where several can
    show the same, nobody knows beforehand which of them does. The cheapest must run: without any, nobody would know
    what that attacker can do.
    """

    def harm(step: Step) -> int:
        return attacks[step.key.attack].shows.rank

    def attacker(step: Step) -> int:
        return THREATS.index(threat_of(attacks[step.key.attack]))

    worst: dict[tuple[str, int], int] = {}
    for step in steps:
        whose = (step.key.scheme, attacker(step))
        worst[whose] = max(harm(step), worst.get(whose, 0))
    marked = [replace(step, strongest=harm(step) == worst[step.key.scheme, attacker(step)]) for step in steps]
    ordered = sorted(marked, key=lambda step: (not step.strongest, attacker(step), -harm(step), *_cost(step)))
    first: dict[tuple[str, int], StepKey] = {}
    for step in ordered:
        first.setdefault((step.key.scheme, attacker(step)), step.key)
    return [replace(step, must=step.key in first.values()) for step in ordered]


def _cost(step: Step) -> tuple[float, float]:
    return step.smallest, step.full
