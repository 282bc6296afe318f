"""Sentences made from data: every member of every enumeration has one, and it holds the facts that it is given."""

import string
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from typing import Any

import pytest

from hideseek.audit.threats import threats_to
from hideseek.records import Bound, Change, ChangeKind, Contents, EncodedRelease, Reason, Refusal
from hideseek.records.result import (
    Advice,
    Claimed,
    Failure,
    FailureKind,
    Flag,
    FlagKind,
    Harm,
    NoAccuracy,
    NoAccuracyKind,
    Note,
    NoteKind,
    Outcome,
    Proof,
    Range,
    Result,
    StepKey,
    StepKind,
    WeakCase,
)
from hideseek.report import sentences
from report.pieces import NASTY, attacked, figure

FACTS: dict[FlagKind, dict[str, str | int | float]] = {
    FlagKind.REPRODUCIBLE: {"seed": 41},
    FlagKind.OVERLAP: {"set": "own", "overlap": 41, "images": 4000},
    FlagKind.FEW_IMAGES: {"images": 41},
    FlagKind.NOTHING_LEARNT: {},
    FlagKind.EFFECTIVE_VALUE: {"name": "tau", "stated": 41, "effective": 1e-6, "meaning": "the ratio"},
    FlagKind.FAILED: {},
    FlagKind.WITHHELD: {},
    FlagKind.NOT_TRIED: {},
    FlagKind.WEAKER_BEATS_STRONGER: {"weaker": "w", "metric": "ssim", "unit": "share", "more": 0.415, "found": 0.2},
    FlagKind.NOT_SIGNIFICANT: {"metric": "s", "unit": "", "found": 0.41, "best_baseline": "mean", "baseline": 0.1},
    FlagKind.UNDER_BASELINE: {"metric": "s", "unit": "", "found": 0.41, "best_baseline": "mean", "baseline": 0.6},
}
SAID: dict[type[StrEnum], Callable[[Any], str]] = {
    FailureKind: lambda kind: sentences.failure(Failure(kind, "ValueError: shapes", 41.0)),
    FlagKind: lambda kind: sentences.flag(Flag(kind, "scheme", "attack", FACTS[kind])),
    NoteKind: lambda kind: sentences.note(Note(kind, 41, 160, 100.0, "dB")),
    NoAccuracyKind: lambda kind: sentences.no_accuracy(NoAccuracy(kind, "labels.csv has no column of labels.")),
    ChangeKind: lambda kind: sentences.change(Change(kind, "tau", 41, 1, "other")) + ".",
    Outcome: sentences.outcome,
    StepKind: lambda kind: sentences.step(StepKey(kind, "mixup", "pairs")).capitalize() + ".",
    Reason: lambda kind: sentences.refusal(Refusal(kind, dict.fromkeys(_fields(kind.text), "41"))),
}


def _fields(template: str) -> list[str]:
    return [name for _, name, _, _ in string.Formatter().parse(template) if name]


@pytest.mark.parametrize("kind", SAID)
def test_every_member_has_a_sentence_of_its_own(kind: type[StrEnum]) -> None:
    told = {member: SAID[kind](member) for member in kind}  # a member without a sentence is a KeyError
    assert len(set(told.values())) == len(kind)
    for member, said in told.items():
        assert said.endswith("."), member
        assert not said.endswith(".."), member
        assert said[0].isupper() or said[0].isdigit() or said.startswith(("attack ", "tau ", "w ")), member
        assert not set(said) & set("{}"), member
        assert "--" not in said, member  # no option of a command


def test_sentences_hold_their_facts() -> None:
    empty = {FlagKind.NOTHING_LEARNT, FlagKind.FAILED, FlagKind.WITHHELD, FlagKind.NOT_TRIED}
    assert all("41" in SAID[FlagKind](kind) for kind in FlagKind if kind not in empty)
    assert all("41" in SAID[NoteKind](kind) for kind in NoteKind)
    assert all("41" in SAID[FailureKind](kind) for kind in (FailureKind.TIME_LIMIT, FailureKind.NO_TIME))
    assert all("shapes" in SAID[FailureKind](kind) for kind in (FailureKind.ERROR, FailureKind.REFUSED))
    assert all("41" in SAID[Reason](reason) for reason in Reason if _fields(reason.text))
    assert "no column" in SAID[NoAccuracyKind](NoAccuracyKind.UNREADABLE_LABELS)


def test_a_failure_without_facts_is_said_too() -> None:
    for kind in FailureKind:
        said = sentences.failure(Failure(kind))
        assert said.endswith(".")
        assert "()" not in said


def test_what_beats_its_baseline_is_told_the_worst_first() -> None:
    likeness = figure(finding="SSIM {value} against {baseline} for {name}")
    back = figure("recovered", 0.5, 0.0, unit="share", harm=Harm.RECOVERED, finding="{value} of {images} come back")
    idle = figure("psnr", 30.0, 1.0, harm=Harm.NOTHING, finding="never told")
    below = figure("hit@1", 0.1, 0.3, harm=Harm.PARTS, finding="never told")
    again = replace(likeness, number=1, found=Range(0.5, 0.4, 0.6, 9))
    found = (below, likeness, idle, again, back)
    assert sentences.found(found, 1600) == "50.0 % of 1,600 come back; SSIM 0.84 against 0.31 for mean image."
    assert sentences.worst_finding(found, 1600) == "50.0 % of 1,600 come back"
    bare = replace(likeness, finding="")
    assert sentences.found((bare,), 9) == "It beats mean image: fitted-ssim 0.84 (0.81 to 0.87), baseline 0.31."
    strange = replace(likeness, finding="{value.__class__} {0} {other} }{ {value:>999999999}")
    assert sentences.worst_finding((strange,), 9) == strange.finding  # a stranger's template is text


def test_what_beats_nothing_is_put_beside_the_nearest_baseline() -> None:
    far, near = figure(mean=0.3, p_value=0.9), figure("recovered", 0.3, p_value=0.2)
    assert sentences.found((far, near), 9) == (
        "Not shown to beat mean image: recovered 0.30 (0.27 to 0.33), baseline 0.31."
    )
    better = replace(near, advantage=Range(0.02, 0.01, 0.03, 9))
    assert sentences.found((far, better), 9).startswith("Better than mean image, but not significant among so many")
    assert sentences.found((), 9) == sentences.found((figure(harm=Harm.NOTHING),), 9)
    assert sentences.found((), 9) == "Nothing that it claims could be judged."
    assert sentences.worst_finding((far,), 9) == ""


def test_what_became_of_an_attack() -> None:
    proofs = (
        Proof("weak case", True, WeakCase("Mixup", 48, 1), (figure(),)),
        Proof("noise", False, None, (figure(finding="{value} among {images}"),)),
    )
    said = {
        Outcome.BROKEN: (attacked("a", outcome=Outcome.BROKEN, figures=(figure(),)), "SSIM 0.84 against"),
        Outcome.LEAKS: (attacked("a", outcome=Outcome.LEAKS, figures=(figure(),)), "SSIM 0.84 against"),
        Outcome.CONFIRMED: (
            attacked(
                "a",
                outcome=Outcome.CONFIRMED,
                claimed=(Claimed("reconstruction", 1200, "{count} images that it guesses", 3),),
            ),
            "It gives 1,200 images that it guesses (3 confirmed by itself). Nobody here can judge what",
        ),
        Outcome.UNJUDGED: (
            attacked("a", outcome=Outcome.UNJUDGED, claimed=(Claimed("links", 45, "{count} pairs of rows"),)),
            "It gives 45 pairs of rows. It confirms none of this, and nobody here can judge it.",
        ),
        Outcome.RESISTED: (attacked("a"), "Not shown to beat mean image"),
        Outcome.NOT_TRIED: (
            attacked("a", outcome=Outcome.NOT_TRIED, failure=Failure(FailureKind.NO_TIME, seconds=90.0)),
            "The budget left no time for it, and it needs 1 min 30 s at least",
        ),
        Outcome.WITHHELD: (attacked("a", outcome=Outcome.WITHHELD, proofs=proofs), "It claims to find something in"),
        Outcome.FAILED: (
            attacked("a", outcome=Outcome.FAILED, failure=Failure(FailureKind.REFUSED, "it needs weights.")),
            "It needs weights.",
        ),
        Outcome.NOT_APPLICABLE: (
            attacked("a", outcome=Outcome.NOT_APPLICABLE, refusal=Refusal(Reason.NOT_MASKED)),
            "This scheme flips no signs",
        ),
    }
    for outcome in Outcome:
        result, begins = said[outcome]
        assert sentences.attack(result, 160).startswith(begins)
        bare = replace(result, claimed=(), figures=(), proofs=(), failure=None, refusal=None)
        assert sentences.attack(bare, 160).endswith(".")


@pytest.mark.parametrize("passed", [True, False])
@pytest.mark.parametrize("kind", ["weak case", "noise"])
def test_proofs(kind: str, passed: bool) -> None:
    case = WeakCase("Mixup", 48, 10)
    proved = Proof(kind, passed, case, (figure(),))  # type: ignore[arg-type]
    begins = {
        ("weak case", True): "It succeeds on a weak case (Mixup of 48 images, 10 rounds). SSIM",
        ("weak case", False): (
            "It does not succeed on a weak case (Mixup of 48 images, 10 rounds): it may need more rounds or time. SSIM"
        ),
        ("noise", True): "On noise it is at chance. SSIM",
        ("noise", False): "It claims to find something in pure noise, so its figures mean nothing. SSIM",
    }
    assert sentences.proof(proved).startswith(begins[kind, passed])
    failed = replace(proved, figures=(), failure=Failure(FailureKind.ERROR, "ValueError: x"))
    assert "It failed (ValueError: x)." in sentences.proof(failed)
    none = replace(proved, case=None, figures=(), failure=Failure(FailureKind.NO_WEAK_CASE))
    assert "o weak case could be made" in sentences.proof(none)


def test_what_an_attacker_knew() -> None:
    contents = Contents("update", 1, own=2000)
    said = "1 update, the scheme, 2,000 images of the attacker's own, which images are in each row, the weights."
    assert sentences.knew(contents, ("sources", "weights")) == said


def test_advice() -> None:
    change = Change(ChangeKind.MORE_NOISE, "tau", 1e-4, 1e-6, cost="it costs accuracy")
    assert sentences.change(change) == "More noise: tau = 1e-06 instead of 0.0001"
    helps = Advice(change, "pairs", True)
    assert sentences.advice(helps) == "pairs is not shown to beat its baseline then. It costs accuracy."
    assert sentences.advice(replace(helps, helps=False)).startswith("Not enough: pairs still beats its baseline.")
    assert sentences.advice(replace(helps, helps=None)).startswith("It was not measured.")
    refused = replace(helps, helps=None, refusal=Refusal(Reason.NOT_MASKED))
    assert sentences.advice(refused).startswith("pairs does not apply then, others may. This scheme flips no signs")
    failed = replace(helps, helps=None, failure=Failure(FailureKind.TIME_LIMIT, seconds=3.0))
    assert sentences.advice(failed).startswith("It could not be measured. It was stopped after 3.0 s")
    assert [sentences.effect(replace(helps, helps=each)) for each in (True, False, None)] == [
        "helps against the attack measured",
        "does not help",
        "not measured",
    ]


def test_a_bound() -> None:
    bound = Bound("Theorem 4.2", "the ratio of one row", 0.021700001, "it says nothing of several rows")
    assert sentences.bound(bound) == (
        "Theorem 4.2: the ratio of one row is at most 0.0217. It says nothing of several rows."
    )


def test_attackers_who_do_not_nest_are_not_said_to() -> None:
    said, nested = "Each knows all that those before him know.", threats_to(EncodedRelease)
    assert said in sentences.attackers(nested)
    assert said not in sentences.attackers(nested[::-1])
    assert said not in sentences.attackers(nested[:1])


def test_what_is_shared(result: Result) -> None:
    scheme = result.schemes[0]
    assert sentences.shared(scheme) == "3,200 encodings in 20 rounds"
    assert sentences.shared(replace(scheme, attacks=(), items=1, rounds=1)) == "1 item in 1 round"


def test_a_scheme_of_any_name_is_flagged() -> None:
    (part,) = sentences.flags((Flag(FlagKind.FAILED, NASTY, "{attack}"),))
    assert part.subject == f"{NASTY}/{{attack}}"
    assert part.sentence.startswith("{attack} failed or")
