"""The order of attacks."""

from typing import Any

from attacks_by_kind import ROW_ATTACKS
from hideseek.audit.planning.budget import Step
from hideseek.audit.planning.order import in_order
from hideseek.records import Attack
from hideseek.records.result import Harm, StepKey, StepKind
from trial_attacks import Counted, Informed, Minor

TOYS: dict[str, Attack[Any]] = {"minor": Minor(), "strong": Counted(), "equal": Counted(), "informed": Informed()}


def attack(scheme: str, name: str, least: float, full: float = 9.0) -> Step:
    return Step(StepKey(StepKind.ATTACK, scheme, name), 0.0, least, full)


def test_the_strongest_first_then_outsiders_then_the_worst_then_the_cheapest() -> None:
    steps = [
        attack("a", "informed", 1),
        attack("a", "minor", 1),
        attack("a", "equal", 3),
        attack("a", "strong", 2),
        attack("b", "minor", 4),
    ]
    ordered = in_order(steps, TOYS)
    assert [(step.key.scheme, step.key.attack, step.strongest, step.must) for step in ordered] == [
        ("a", "strong", True, True),
        ("a", "equal", True, False),  # which can show no more, and costs more
        ("b", "minor", True, True),  # the strongest that applies there
        ("a", "informed", True, True),
        ("a", "minor", False, False),
    ]
    dearer = in_order([attack("a", "equal", 1, 8.0), attack("a", "strong", 1, 7.0)], TOYS)
    assert [step.key.attack for step in dearer] == ["strong", "equal"]


def test_what_our_attacks_can_show() -> None:
    shows = {name: attack.shows for name, attack in ROW_ATTACKS.items()}
    recover = {"mixup-pairs", "mixup-public", "average-known", "linear-inversion", "linear-optimum"}
    recover |= {"byte-decoding", "unmask-public", "link-shifted", "phase-retrieval", "link-and-solve", "chen"}
    assert {name for name, harm in shows.items() if harm is Harm.RECOVERED} == recover
    assert {name for name, harm in shows.items() if harm is Harm.PARTS} == {"braverman", "demask", "public-search"}
