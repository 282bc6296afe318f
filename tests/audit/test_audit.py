"""Whole audits, of few faces: what comes out, what is kept, and what happens when something goes wrong."""

import errno
import json
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pytest
import torch

from attacks_by_kind import ROW_ATTACKS
from clocks import VirtualClock
from hideseek.audit import Question, learning_from, make_plan
from hideseek.audit import audit as real_audit
from hideseek.audit.question import shared_images
from hideseek.chance import Randomness, seeded
from hideseek.data import load, normalise
from hideseek.errors import BadInput
from hideseek.hide import Augmented, InstaHide, Laplace, Mixup, SingularizedMixup
from hideseek.records import Attack, ChangeKind, EncodedRelease, Evidence, Reason, Samples
from hideseek.records.result import (
    AttackResult,
    FailureKind,
    FlagKind,
    Harm,
    NoAccuracy,
    NoAccuracyKind,
    Outcome,
    Result,
    StepKind,
)
from hideseek.report.result_files import read_result
from hideseek.seek import ATTACKS
from hideseek.seek.rows.link_shifted import LinkShifted
from hideseek.seek.rows.mixup_public import MixupPublic
from hideseek.seek.rows.unmask_public import UnmaskPublic
from long_tests import LONG
from trial_attacks import Crashing, Idle, Interrupted, Look, Slow

audit = partial(real_audit, clock=VirtualClock())  # which never moves: no attack or proof is stopped
pytestmark = pytest.mark.usefixtures("without_lpips")
UNLIMITED = 1e9  # seconds: no attack is shortened, however busy the machine is


@pytest.fixture(scope="module")
def faces() -> Samples:
    return normalise(load("faces").take(torch.arange(0, 160, 4)), "channel")


def photos(like: Samples, address: str = "photos") -> Samples:
    loaded = load(address, size=like.shape[1:], channels=like.shape[0], labelled=False)
    return normalise(loaded, like.normalisation)


def asked(faces: Samples, **changes: Any) -> Question:
    attacks: dict[str, Attack[Any]] = {"look": Look()}
    return Question(
        faces, **{"schemes": {"mixup": Mixup()}, "rounds": 3, "attacks": attacks, "budget": UNLIMITED, **changes}
    )


@pytest.fixture(scope="module")
def whole(faces: Samples, tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    """Three schemes, the real attacks, an accuracy."""
    learning, _ = learning_from(faces, seeded(0))
    names = ("mixup-pairs", "average-known", "linear-inversion", "linear-optimum", "distinguish", "public-search")
    question = Question(
        faces,
        {"mixup": Mixup(), "noise": SingularizedMixup(tau=1e-5), "wrong": SingularizedMixup(tau=1e-6, radius=30.0)},
        own=photos(faces),
        rounds=8,
        attacks={name: ATTACKS[name] for name in names},
        budget=UNLIMITED,
        learning=learning,
    )
    folder = tmp_path_factory.mktemp("audits") / "audit"
    lines: list[str] = []
    result = audit(question, folder, seed=1, tell=lines.append)
    assert sum(line.startswith(("mixup: mixup-pairs: broken", "noise: mixup-pairs: resisted")) for line in lines) == 2
    return result, folder


def tried(result: Result, scheme: str, attack: str) -> AttackResult:
    return next(each for one in result.schemes if one.name == scheme for each in one.attacks if each.attack == attack)


def test_mixup_is_broken_by_everybody_and_much_noise_is_not(whole: tuple[Result, Path]) -> None:
    result, _ = whole
    outcomes = {
        scheme.name: {verdict.threat: verdict.outcome for verdict in scheme.verdicts} for scheme in result.schemes
    }
    for threat in ("outsider", "linked", "informed"):
        assert (outcomes["mixup"][threat], outcomes["noise"][threat]) == ("broken", "resisted")
    pairs = tried(result, "mixup", "mixup-pairs")
    assert pairs.harm is Harm.RECOVERED
    assert [proof.passed for proof in pairs.proofs] == [True, True]
    assert {exhibit.kind for exhibit in pairs.exhibits} == {"best", "median", "worst"}
    assert pairs.curves
    assert (pairs.contents.item, pairs.contents.items) == ("encoding", 320)
    assert tried(result, "mixup", "linear-inversion").threat == "informed"
    unsuited = tried(result, "mixup", "public-search")
    assert (unsuited.outcome, unsuited.figures) == (Outcome.NOT_APPLICABLE, ())
    assert unsuited.refusal is not None
    assert unsuited.refusal.reason is Reason.NO_PUBLIC_IMAGES


def test_what_a_scheme_costs_and_what_would_help(whole: tuple[Result, Path]) -> None:
    result, _ = whole
    assert result.vanilla is not None
    assert result.vanilla.accuracy.mean > 0.7
    mixup = result.schemes[0]
    assert mixup.accuracy is not None
    assert mixup.accuracy.steps == result.vanilla.steps
    assert mixup.lost == pytest.approx(result.vanilla.accuracy.mean - mixup.accuracy.accuracy.mean)
    fewer, other, coarser, without = mixup.advice
    assert (other.change.kind, other.change.after, other.helps) == (ChangeKind.OTHER_SCHEME, 1e-4, True)
    assert (fewer.change.kind, fewer.change.before, fewer.change.after) == (ChangeKind.FEWER_ROUNDS, 8, 1)
    assert fewer.before is not None
    assert fewer.after is not None
    assert fewer.after.mean < fewer.before.mean
    assert (coarser.change.kind, coarser.change.after) == (ChangeKind.COARSER, 8)
    assert (without.change.kind, without.change.before, without.change.after) == (ChangeKind.LEAVE_OUT, 40, 30)
    assert without.before is not None
    assert without.after is not None
    assert without.helps is False  # others are as exposed as those that were left out
    assert result.schemes[1].advice == ()


def test_what_the_audit_distrusts_in_itself(whole: tuple[Result, Path]) -> None:
    result, _ = whole
    flagged = {(flag.kind, flag.scheme) for flag in result.flags}
    assert (FlagKind.REPRODUCIBLE, "") in flagged
    assert not any(kind in (FlagKind.FAILED, FlagKind.WITHHELD) for kind, _ in flagged)
    values = {(flag.scheme, flag.facts["name"]) for flag in result.flags if flag.kind is FlagKind.EFFECTIVE_VALUE}
    # A radius that follows from tau keeps the theorem's bound, and the ratio that is measured is lower.
    assert values == {("noise", "tau"), ("wrong", "tau"), ("wrong", "tau by Theorem 4.2")}


def test_what_is_written(whole: tuple[Result, Path]) -> None:
    result, folder = whole
    assert read_result(folder) == result
    assert {path.name for path in folder.iterdir()} == {"audit.json", "pictures", "report.html", "result.json"}
    assert folder.stat().st_mode & 0o077 == 0
    exhibits = [each for scheme in result.schemes for tried in scheme.attacks for each in tried.exhibits]
    files = {panel.file for exhibit in exhibits for panel in exhibit.panels}
    pictures = folder / "pictures"
    assert {str(path.relative_to(pictures)) for path in pictures.rglob("*.png")} == files
    assert result.provenance.seed == 1
    assert result.provenance.versions["hideseek"]
    assert all(stage.took is not None for stage in result.plan if stage.key.kind is not StepKind.ADVICE)


def test_a_seed_gives_the_same_audit_again(faces: Samples, tmp_path: Path) -> None:
    first, second = (audit(asked(faces), tmp_path / name, seed=5) for name in "ab")
    assert [each.figures for each in first.schemes[0].attacks] == [each.figures for each in second.schemes[0].attacks]
    other = audit(asked(faces), tmp_path / "c", seed=6)
    assert [each.figures for each in other.schemes[0].attacks] != [each.figures for each in first.schemes[0].attacks]


def test_attacks_that_fail_take_too_long_or_cannot_be_believed(faces: Samples, tmp_path: Path) -> None:
    """The clock stands still but for the slow attack, which takes ten minutes of the two that there are."""
    attacks = {"crash": Crashing(), "slow": Slow(), "idle": Idle(), "look": Look()}
    question = asked(faces, attacks=attacks, budget=120.0, schemes={"mixup": Mixup(k=3)})
    result = audit(question, tmp_path / "a", seed=1, clock=Slow.clock)
    told = {each.attack: each for each in result.schemes[0].attacks}
    assert told["look"].outcome is Outcome.BROKEN
    crash, slow = told["crash"].failure, told["slow"].failure
    assert (told["crash"].outcome, told["slow"].outcome) == (Outcome.FAILED, Outcome.NOT_TRIED)
    assert crash is not None
    assert (crash.kind, crash.text) == (FailureKind.ERROR, "RuntimeError: out of cheese")
    assert slow is not None
    assert slow.kind is FailureKind.TIME_LIMIT
    assert slow.seconds == told["slow"].allowed
    assert told["idle"].outcome is Outcome.WITHHELD
    (proof,) = told["idle"].proofs
    assert (proof.kind, proof.passed) == ("weak case", False)
    assert {flag.kind for flag in result.flags} >= {FlagKind.FAILED, FlagKind.NOT_TRIED, FlagKind.WITHHELD}


def test_ctrl_c_keeps_what_is_done_and_resume_goes_on(
    faces: Samples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A secure audit: what is done is not done again, and the second attack sees the release that the first one saw."""
    seen: list[tuple[str, float]] = []
    for kind in (Look, Interrupted):

        def watched(self: Look, release: EncodedRelease, chance: Randomness, seek: Any = kind.seek) -> Evidence:
            audited = release.scheme == Mixup(k=3) and len(release.encoded) == 3 * len(faces)
            if audited and release.rounds == 3:  # not what proofs and advice try
                seen.append((type(self).__name__, float(release.encoded.pixels().double().sum())))
            return seek(self, release, chance)  # type: ignore[no-any-return]

        monkeypatch.setattr(kind, "seek", watched)
    attacks: dict[str, Attack[Any]] = {"look": Look(), "interrupted": Interrupted()}
    question, folder = asked(faces, attacks=attacks, schemes={"mixup": Mixup(k=3)}), tmp_path / "a"
    with pytest.raises(KeyboardInterrupt, match="what is done is kept: resume the audit"):
        audit(question, folder)
    assert not (folder / "result.json").exists()
    with pytest.raises(BadInput, match=r"was begun in .*: resume it"):
        audit(question, folder)
    with pytest.raises(BadInput, match="begun with other rounds"):
        audit(replace(question, rounds=4), folder, resume=True)
    monkeypatch.setattr(Interrupted, "what", staticmethod(lambda: None))
    result = audit(question, folder, resume=True)
    names, releases = zip(*seen, strict=True)
    assert names.count("Look") == 1
    assert names.count("Interrupted") >= 2
    assert len(set(releases)) == 1
    assert {each.attack: each.outcome for each in result.schemes[0].attacks} == {
        "look": Outcome.BROKEN,
        "interrupted": Outcome.BROKEN,
    }
    with pytest.raises(BadInput, match="exists already"):
        audit(question, folder)


def test_a_disk_that_fills_in_the_middle_loses_nothing(
    faces: Samples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a"
    question = asked(faces)
    opening: Callable[..., BinaryIO] = os.fdopen

    def full(descriptor: int, *rest: Any, **more: Any) -> BinaryIO:
        file = opening(descriptor, *rest, **more)
        if "look" in str(Path(f"/proc/self/fd/{descriptor}").readlink()):
            file.close()
            raise OSError(errno.ENOSPC, "No space left on device")
        return file

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdopen", full)
        with pytest.raises(BadInput, match=r"disk of .* is full: free some space .* resume the audit"):
            audit(question, folder)
    assert not (folder / "result.json").exists()
    assert not list(folder.rglob("*.partial"))
    assert (folder / "work" / "schemes" / "mixup" / "release" / "release.json").is_file()
    assert audit(question, folder, resume=True).schemes[0].attacks[0].outcome == "broken"


def test_ten_images_one_class_and_no_labels(faces: Samples, tmp_path: Path) -> None:
    ten = faces.take(slice(0, 10))
    attacks = {name: ATTACKS[name] for name in ("mixup-pairs", "linear-inversion")}
    result = audit(asked(ten, attacks=attacks), tmp_path / "ten", seed=1)
    assert (FlagKind.FEW_IMAGES, "", "") in {(flag.kind, flag.scheme, flag.attack) for flag in result.flags}
    assert result.schemes[0].verdicts[-1].outcome == "broken"
    one = replace(faces, labels=torch.ones(len(faces), 1), classes=())
    learning, why = learning_from(one, seeded(0))
    assert (learning, why) == (None, NoAccuracy(NoAccuracyKind.ONE_CLASS))
    none = replace(faces, labels=torch.empty(len(faces), 0), classes=())
    learning, why = learning_from(none, seeded(0))
    assert (learning, why) == (None, NoAccuracy(NoAccuracyKind.NO_LABELS))
    for name, samples in (("one", one), ("none", none)):
        result = audit(asked(samples, why_no_accuracy=why), tmp_path / name, seed=1)
        assert result.schemes[0].verdicts[0].outcome == "broken"
        assert (result.vanilla, result.why_no_accuracy) == (None, why)


@pytest.mark.parametrize(
    "scheme",
    [
        pytest.param(InstaHide(k=4, k_private=2), id="cross", marks=LONG),  # test_readme.py audits it on X-rays
        pytest.param(Laplace(), id="laplace"),
        pytest.param(Augmented(InstaHide(k=2)), id="augmented", marks=LONG),
        pytest.param(Mixup(k=4, k_private=1), id="mixup-cross"),
    ],
)
def test_every_kind_of_scheme_can_be_audited(scheme: Any, faces: Samples, tmp_path: Path) -> None:
    """All attacks that apply, shortened: none fails, none is withheld, and something is found in three rounds."""
    public = photos(faces, "patches:photos?each=1") if scheme.mixes_public else None
    shifted = LinkShifted(seeds=4, restarts=6, steps=20, refits=1)
    quick = {"mixup-public": MixupPublic(rows=40), "unmask-public": UnmaskPublic(rows=20), "link-shifted": shifted}
    attacks = {**ROW_ATTACKS, **quick}
    del attacks["demask"], attacks["carlini"]  # which take a minute to train; demask is in test_proofs.py
    question = Question(faces, {"it": scheme}, public, photos(faces), 8, attacks, UNLIMITED)
    result = audit(question, tmp_path / "a", seed=2)
    attacked = result.schemes[0].attacks
    assert [each for each in attacked if each.outcome in (Outcome.FAILED, Outcome.WITHHELD)] == []
    assert any(each.outcome is Outcome.BROKEN for each in attacked)


def test_overlap_is_counted_pixel_for_pixel(faces: Samples) -> None:
    raw = load("photos", size=faces.shape[1:], channels=1, labelled=False).take(slice(0, 50))
    private, public = normalise(raw.take(slice(0, 30)), faces.normalisation), normalise(raw, faces.normalisation)
    assert shared_images(public, private) == 30
    assert shared_images(faces, private) == 0


def test_the_plan_says_what_applies_and_what_it_takes(faces: Samples, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine of a fixed speed."""
    monkeypatch.setattr("hideseek.audit.planning.plan.unit_seconds", lambda: 1e-11)
    question = asked(faces, attacks=dict(ROW_ATTACKS), own=photos(faces), budget=25.0)
    plan = make_plan(question)
    refused = {key.attack for key in plan.refused}
    assert refused == {
        *("mixup-public", "braverman", "demask", "public-search", "distinguish", "unmask-public"),
        *("carlini", "link-shifted", "chen", "phase-retrieval", "link-and-solve", "smooth-signs"),
        "equal-length",
    }
    planned = [step.key for step in plan.steps]
    assert {key.attack for key in planned if key.kind is StepKind.ATTACK} == set(ROW_ATTACKS) - refused
    assert {key.kind for key in planned} == {StepKind.HIDE, StepKind.ATTACK, StepKind.ADVICE}
    assert 10 < plan.expected <= question.budget < make_plan(replace(question, budget=1e6)).expected
    tiny = make_plan(replace(question, budget=0.01))
    assert tiny.expected == tiny.least > 5  # what is done in any case
    left_out = {step.key.attack for step in tiny.steps if step.left_out and step.key.attack}
    assert left_out == {"average-search", "byte-decoding", "linear-optimum"}


def test_a_release_of_an_audit_is_what_hide_would_write(faces: Samples, tmp_path: Path) -> None:
    audit(asked(faces), tmp_path / "a", seed=1, keep=True)
    folder = tmp_path / "a" / "work" / "schemes" / "mixup"
    about = json.loads((folder / "release" / "release.json").read_text())
    assert (about["rows"], about["rounds"], about["given_away"]) == (120, 3, [])
    assert (folder / "truth").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("name", ["../..", "..", "/", ""])
def test_a_scheme_cannot_be_called_like_another_folder(name: str, faces: Samples, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(BadInput, match="cannot be called"):
        audit(asked(faces, schemes={name: Mixup()}), tmp_path / "audits" / "a", seed=1)
    assert [path.name for path in tmp_path.rglob("*")] == ["thesis.txt"]


def test_whatever_a_scheme_is_called_all_stays_in_the_folder(faces: Samples, tmp_path: Path) -> None:
    audit(asked(faces, schemes={"a/../../b": Mixup()}), tmp_path / "audits" / "a", seed=1, keep=True)
    assert [path.name for path in tmp_path.iterdir()] == ["audits"]
    assert [path.name for path in (tmp_path / "audits").iterdir()] == ["a"]
    assert [path.name for path in (tmp_path / "audits" / "a" / "work" / "schemes").iterdir()] == ["a-..-..-b"]
