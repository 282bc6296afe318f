from dataclasses import replace
from pathlib import Path

from hideseek.records.result import Exposed, Harm, Outcome
from hideseek.report import sentences
from hideseek.report.ranking import most_exposed, worst_attack
from report.pieces import attacked
from report.schemes import mixup


def test_of_equal_harm_what_was_given_least_is_the_worst(tmp_path: Path) -> None:
    informed = attacked("phase-retrieval", outcome=Outcome.BROKEN, harm=Harm.RECOVERED, given=("weights", "sources"))
    outsider = attacked("link-and-solve", outcome=Outcome.BROKEN, harm=Harm.RECOVERED, given=())
    leaking = attacked("mixup-pairs", outcome=Outcome.LEAKS, harm=Harm.LINKED, given=())
    scheme = replace(mixup(tmp_path), attacks=(informed, outsider, leaking))
    assert worst_attack(scheme) == outsider
    assert worst_attack(replace(scheme, attacks=(leaking, informed))) == informed


def test_the_most_exposed_images_are_those_of_all_attacks_that_found_something(tmp_path: Path) -> None:
    first = attacked("a", given=("weights",), exposed=(Exposed(3, 1.0), Exposed(5, 0.9)))
    second = attacked("b", given=(), exposed=(Exposed(3, 1.0), Exposed(8, 0.95)))
    found = most_exposed((first, second))
    assert [(each.image, attack.attack) for each, attack in found] == [(3, "b"), (8, "b"), (5, "a")]
    assert len(most_exposed((first, second), 2)) == 2
    scheme = replace(mixup(tmp_path), attacks=(first, second))
    said = sentences.most_exposed_images(scheme)
    assert said.startswith("mixup. Most exposed private images")
    assert said.endswith("3 (b, 100.0 %); 8 (b, 95.0 %); 5 (a, 90.0 %).")
    assert sentences.most_exposed_images(replace(scheme, attacks=())) == ""
