"""Whole audits, of few faces: what comes out, what is kept, and what happens when something goes wrong."""

import errno
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import pytest
import torch

from hideseek.audit import Question, audit, learning_from, make_plan
from hideseek.audit.question import shared_images
from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.errors import BadInput
from hideseek.hide import Augmented, InstaHide, Laplace, Mixup, SingularizedMixup
from hideseek.records import Attack, Samples
from hideseek.records.result import AttackResult, Result
from hideseek.report.result_files import read_result
from hideseek.seek import ATTACKS
from hideseek.seek.rows.mixup_public import MixupPublic
from trial_attacks import Crashing, Idle, Interrupted, Look, Slow


@pytest.fixture(scope="module")
def faces() -> Samples:
    return normalise(load("faces").take(torch.arange(0, 160, 4)), "channel")


def photos(like: Samples, address: str = "photos") -> Samples:
    loaded = load(address, size=like.shape[1:], channels=like.shape[0], labelled=False)
    return normalise(loaded, like.normalisation)


def asked(faces: Samples, **changes: Any) -> Question:
    attacks: dict[str, Attack[Any]] = {"look": Look()}
    return Question(
        faces, **{"schemes": {"mixup": Mixup()}, "rounds": 3, "attacks": attacks, "budget": 300.0, **changes}
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
        budget=120,
        learning=learning,
    )
    folder = tmp_path_factory.mktemp("audits") / "audit"
    lines: list[str] = []
    result = audit(question, folder, seed=1, tell=lines.append)
    assert lines[-1].startswith(f"[{len(lines) - 3}/")  # four trainings are one part of the plan
    return result, folder


def tried(result: Result, scheme: str, attack: str) -> AttackResult:
    return next(each for one in result.schemes if one.name == scheme for each in one.attacks if each.attack == attack)


def test_mixup_is_broken_by_everybody_and_much_noise_is_not(whole: tuple[Result, Path]) -> None:
    result, _ = whole
    outcomes = {scheme.name: [verdict.outcome for verdict in scheme.verdicts] for scheme in result.schemes}
    assert outcomes["mixup"] == ["broken", "broken", "broken"]
    assert outcomes["noise"] == ["resisted", "resisted", "resisted"]
    pairs = tried(result, "mixup", "mixup-pairs")
    assert pairs.harm == 6
    assert [proof.passed for proof in pairs.proofs] == [True, True]
    assert {exhibit.kind for exhibit in pairs.exhibits} == {"best", "median", "worst"}
    assert pairs.curves
    assert pairs.knew.startswith("320 encodings")
    assert tried(result, "mixup", "linear-inversion").threat == "informed"
    unsuited = tried(result, "mixup", "public-search")
    assert (unsuited.outcome, unsuited.figures) == ("not applicable", ())


def test_what_a_scheme_costs_and_what_would_help(whole: tuple[Result, Path]) -> None:
    result, _ = whole
    assert result.vanilla is not None
    assert result.vanilla.accuracy.mean > 0.7
    mixup = result.schemes[0]
    assert mixup.accuracy is not None
    assert mixup.accuracy.steps == result.vanilla.steps
    assert mixup.lost == pytest.approx(result.vanilla.accuracy.mean - mixup.accuracy.accuracy.mean)
    helps = {advice.change: advice.helps for advice in mixup.advice}
    assert helps["another scheme: singularized-mixup at τ = 0.0001"] is True
    fewer = mixup.advice[0]
    assert fewer.change == "fewer rounds: 1 instead of 8"
    assert fewer.before is not None
    assert fewer.after is not None
    assert fewer.after.mean < fewer.before.mean
    assert result.schemes[1].advice == ()


def test_what_the_audit_distrusts_in_itself(whole: tuple[Result, Path]) -> None:
    result, _ = whole
    flagged = {(flag.check, flag.subject) for flag in result.flags}
    assert ("reproducible", "") in flagged
    assert ("effective value", "wrong") in flagged
    assert not any(check in ("failed", "withheld") for check, _ in flagged)
    assert ("effective value", "noise") not in flagged


def test_what_is_written(whole: tuple[Result, Path]) -> None:
    result, folder = whole
    assert read_result(folder) == result
    assert {path.name for path in folder.iterdir()} == {"audit.json", "pictures", "report.html", "result.json"}
    assert folder.stat().st_mode & 0o077 == 0
    exhibits = [each for scheme in result.schemes for tried in scheme.attacks for each in tried.exhibits]
    files = {panel.file for exhibit in exhibits for panel in exhibit.panels}
    assert {path.name for path in (folder / "pictures").iterdir()} == files
    assert result.provenance.seed == 1
    assert result.provenance.versions["hideseek"]
    assert all(stage.took is not None for stage in result.plan if "what would help" not in stage.name)


def test_a_seed_gives_the_same_audit_again(faces: Samples, tmp_path: Path) -> None:
    first, second = (audit(asked(faces), tmp_path / name, seed=5) for name in "ab")
    assert [each.figures for each in first.schemes[0].attacks] == [each.figures for each in second.schemes[0].attacks]
    other = audit(asked(faces), tmp_path / "c", seed=6)
    assert [each.figures for each in other.schemes[0].attacks] != [each.figures for each in first.schemes[0].attacks]


def test_attacks_that_fail_take_too_long_or_cannot_be_believed(faces: Samples, tmp_path: Path) -> None:
    attacks = {"crash": Crashing(), "slow": Slow(), "idle": Idle(), "look": Look()}
    question = asked(faces, attacks=attacks, budget=60.0)
    result = audit(question, tmp_path / "a", seed=1)
    told = {each.attack: (each.outcome, each.sentence) for each in result.schemes[0].attacks}
    assert told["look"][0] == "broken"
    assert told["crash"] == ("failed", "It failed (RuntimeError: out of cheese).")
    assert told["slow"][0] == "failed"
    assert "It was stopped after" in told["slow"][1]
    assert told["idle"][0] == "withheld"
    assert "does not even break a weak case" in told["idle"][1]
    assert {flag.check for flag in result.flags} >= {"failed", "withheld"}


def test_ctrl_c_keeps_what_is_done_and_resume_goes_on(faces: Samples, tmp_path: Path) -> None:
    """A secure audit: the release that the first attack saw is the one that the second sees."""
    attacks: dict[str, Attack[Any]] = {"look": Look(), "interrupted": Interrupted()}
    question = asked(faces, attacks=attacks)
    folder = tmp_path / "a"
    with pytest.raises(KeyboardInterrupt, match="what is done is kept: go on with the same command and --resume"):
        audit(question, folder)
    assert not (folder / "result.json").exists()
    done = (folder / "work" / "mixup" / "look.json").read_text()
    release = (folder / "work" / "mixup" / "release" / "release.json").read_text()
    with pytest.raises(BadInput, match=r"was begun in .*: go on with --resume"):
        audit(question, folder)
    with pytest.raises(KeyboardInterrupt):
        audit(question, folder, resume=True)
    assert (folder / "work" / "mixup" / "look.json").read_text() == done
    assert (folder / "work" / "mixup" / "release" / "release.json").read_text() == release
    with pytest.raises(BadInput, match="begun with other rounds"):
        audit(replace(question, rounds=4), folder, resume=True)
    (folder / "work" / "mixup" / "interrupted.json").write_text(done.replace('"look"', '"interrupted"'))
    result = audit(question, folder, resume=True)
    assert {each.attack for each in result.schemes[0].attacks} == {"look", "interrupted"}
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
        with pytest.raises(BadInput, match=r"disk of .* is full: free some space .* go on with --resume"):
            audit(question, folder)
    assert not (folder / "result.json").exists()
    assert not list(folder.rglob("*.partial"))
    assert (folder / "work" / "mixup" / "release" / "release.json").is_file()
    assert audit(question, folder, resume=True).schemes[0].attacks[0].outcome == "broken"


def test_ten_images_one_class_and_no_labels(faces: Samples, tmp_path: Path) -> None:
    ten = faces.take(slice(0, 10))
    attacks = {name: ATTACKS[name] for name in ("mixup-pairs", "linear-inversion")}
    result = audit(asked(ten, attacks=attacks), tmp_path / "ten", seed=1)
    assert ("few images", "") in {(flag.check, flag.subject) for flag in result.flags}
    assert result.schemes[0].verdicts[2].outcome == "broken"
    one = replace(faces, labels=torch.ones(len(faces), 1), classes=())
    learning, why = learning_from(one, seeded(0))
    assert (learning, why) == (None, "there is one class only, so there is nothing to learn.")
    none = replace(faces, labels=torch.empty(len(faces), 0), classes=())
    learning, why = learning_from(none, seeded(0))
    assert (learning, why) == (None, "the images have no labels, so there is nothing to learn.")
    for name, samples in (("one", one), ("none", none)):
        result = audit(asked(samples, why_no_accuracy=why), tmp_path / name, seed=1)
        assert result.schemes[0].verdicts[0].outcome == "broken"
        assert (result.vanilla, result.why_no_accuracy) == (None, why)


@pytest.mark.parametrize(
    "scheme",
    [InstaHide(k=4, k_private=2), Laplace(), Augmented(InstaHide(k=2)), Mixup(k=4, k_private=1)],
    ids=["cross", "laplace", "augmented", "mixup-cross"],
)
def test_every_kind_of_scheme_can_be_audited(scheme: Any, faces: Samples, tmp_path: Path) -> None:
    """All attacks that apply, shortened: none fails, none is withheld, and something is found in three rounds."""
    public = photos(faces, "patches:photos?each=1") if scheme.images_per_row.public else None
    attacks = {**ATTACKS, "mixup-public": MixupPublic(rows=40)}
    del attacks["demask"]  # which takes a minute to train; tests/audit/test_proofs.py has it
    question = Question(faces, {"it": scheme}, public, photos(faces), 8, attacks, 400.0)
    result = audit(question, tmp_path / "a", seed=2)
    outcomes = {each.attack: (each.outcome, each.sentence) for each in result.schemes[0].attacks}
    assert not [each for each in outcomes.items() if each[1][0] in ("failed", "withheld")]
    assert any(outcome == "broken" for outcome, _ in outcomes.values())


def test_overlap_is_counted_pixel_for_pixel(faces: Samples) -> None:
    raw = load("photos", size=faces.shape[1:], channels=1, labelled=False).take(slice(0, 50))
    private, public = normalise(raw.take(slice(0, 30)), faces.normalisation), normalise(raw, faces.normalisation)
    assert shared_images(public, private) == 30
    assert shared_images(faces, private) == 0


def test_the_plan_says_what_applies_and_what_it_takes(faces: Samples) -> None:
    question = asked(faces, attacks=dict(ATTACKS), own=photos(faces))
    plan = make_plan(question)
    refused = {key.partition("/")[2] for key in plan.refused}
    assert refused == {"mixup-public", "braverman", "demask", "public-search", "distinguish"}
    assert {piece.key.partition("/")[2] for piece in plan.pieces} == {"hide", "change", *(set(ATTACKS) - refused)}
    assert 0 < plan.expected <= question.budget
    with pytest.raises(BadInput, match="too small for anything"):
        make_plan(replace(question, budget=0.01))


def test_a_release_of_an_audit_is_what_hide_would_write(faces: Samples, tmp_path: Path) -> None:
    audit(asked(faces), tmp_path / "a", seed=1, keep=True)
    folder = tmp_path / "a" / "work" / "mixup"
    about = json.loads((folder / "release" / "release.json").read_text())
    assert (about["rows"], about["rounds"], about["given_away"]) == (120, 3, [])
    assert (folder / "truth").stat().st_mode & 0o077 == 0
