"""`hideseek audit`, `report` and `compare` as a user types them, and what they say when something is wrong."""

import json
import re
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from PIL import Image

from hideseek.cli import main
from hideseek.errors import BadInput
from hideseek.hide import InstaHide, SingularizedMixup
from hideseek.hide.named import schemes
from hideseek.report import sentences
from hideseek.report.result_files import read_result
from hideseek.seek import ATTACKS
from trial_attacks import Interrupted

pytestmark = pytest.mark.usefixtures("without_lpips", "short_training")
ATTACKED = ("--attacks", "linear-inversion,average-known", "--sample", "40", "--rounds", "4", "--seed", "3")
QUICK = (*ATTACKED, "--budget", "10h", "--no-learn")  # time enough, however busy the machine is


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An audit of two schemes, in a folder beside which others may be written."""
    folder = tmp_path_factory.mktemp("cli")
    command = ["audit", "mixup,singularized-mixup:tau=1e-5", "--data", "faces", *QUICK, "--out", str(folder / "a")]
    assert main(command) == 0
    return folder


def said(capsys: pytest.CaptureFixture[str]) -> str:
    """The one sentence of a failed command."""
    captured = capsys.readouterr()
    assert captured.err.startswith("hideseek: ")
    assert captured.err.count("\n") == 1
    return captured.err


def test_the_plan_the_table_and_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["audit", "mixup", "--k", "3", "--data", "faces", *QUICK[:-1], "--out", str(tmp_path / "a")]
    assert main(command) == 0
    text = capsys.readouterr().out
    for words in (
        "Plan",
        "Expected in all",
        "linear-inversion: broken. ",
        "nothing hidden",
        "report.html",
        "Another scheme",
    ):
        assert words in text
    result = read_result(tmp_path / "a")
    assert result.schemes[0].parameters["k"] == 3
    assert result.vanilla is not None
    assert result.tested_on == 40  # the set's own test split
    assert (result.private.images, result.private.address) == (40, "faces")
    assert result.own is not None
    assert result.own.address == "photos"
    page = (tmp_path / "a" / "report.html").read_text("utf-8")
    assert "blurred" in page


def test_a_dry_run_stops_after_the_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "mixup", "--data", "faces", *QUICK, "--out", str(tmp_path / "a"), "--dry-run"]) == 0
    assert "Expected in all" in capsys.readouterr().out
    tiny = ("--no-learn", "--budget", "1s", "--out", str(tmp_path / "a"), "--dry-run")
    assert main(["audit", "mixup", "--data", "faces", *tiny]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "the least that works, and more than the budget of 1.0 s." in text
    assert "least settings" in text
    assert "if time is left" in text
    assert not (tmp_path / "a").exists()


def test_report_renders_again(audited: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = audited / "a" / "report.html"
    before = page.read_bytes()
    page.unlink()
    assert main(["report", str(audited / "a")]) == 0
    assert page.read_bytes() == before
    assert main(["report", str(audited / "a"), "--show-private"]) == 0
    assert "do not pass it on" in capsys.readouterr().out
    assert len(page.read_bytes()) != len(before)
    assert page.stat().st_mode & 0o077 == 0
    assert main(["report", str(audited / "a")]) == 0
    assert page.read_bytes() == before


def test_compare_sets_audits_side_by_side(audited: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(audited / "a"), str(audited / "a" / "result.json")]) == 0
    assert "Nothing differs." in capsys.readouterr().out
    about = json.loads((audited / "a" / "result.json").read_text())
    about["schemes"] = about["schemes"][:1]
    about["provenance"]["budget"] = 60.0
    (tmp_path / "result.json").write_text(json.dumps(about))
    assert main(["compare", str(audited / "a"), str(tmp_path), "--changes"]) == 0
    text = capsys.readouterr().out
    assert "budgets differ" in text
    assert "not audited" in text
    assert "1 thing differs." in text


def test_helping_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit"]) == 0
    assert "Schemes: mixup" in capsys.readouterr().out
    for verb in ("audit", "report", "compare"):
        with pytest.raises(SystemExit, match="0"):
            main([verb, *(["mixup"] if verb == "audit" else []), "--help"])
        assert "Try:" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="0"):
        main(["audit", "singularized-mixup", "--help"])
    text = capsys.readouterr().out
    assert "--tau" in text
    assert "--budget" in text


def test_schemes_on_the_command_line() -> None:
    named = schemes("instahide-cross:k=6:private-share=0.4,singularized-mixup:radius=none:tau=1")
    assert list(named.values()) == [InstaHide(6, 2, private_share=0.4), SingularizedMixup(tau=1.0)]
    for text, words in (
        ("mixupp", "no scheme 'mixupp': did you mean mixup?"),
        ("mixup:kk=3", "no parameter of mixup 'kk': did you mean k?"),
        ("mixup:k", "write mixup:k=VALUE"),
        ("mixup:k=many", "k = 'many' is not usable here"),
        ("mixup:k=1", "mixup: Mixup with k = 1 would share the images as they are"),
        ("mixup,mixup", "named twice"),
    ):
        with pytest.raises(BadInput) as caught:
            schemes(text)
        assert words in str(caught.value)


OUT = ("--data", "faces", "--out", "never")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("mixupp", *OUT), "there is no scheme 'mixupp': did you mean mixup?"),
        (("mixup", *OUT, "--attacks", "mixup-pears"), "there is no attack 'mixup-pears': did you mean mixup-pairs?"),
        (("mixup", *OUT, "--budget", "soon"), "--budget is a time such as 90s, 10m or 2h, not 'soon'."),
        (("mixup", *OUT, "--sample", "1000"), "--sample must be between 2 and the 160 images that there are."),
        (("mixup", *OUT, "--public", "photos"), "none of these schemes mixes public images"),
        (("instahide-cross", *OUT), "mixes 2 public images into every row: give it a public set"),
        (("mixup", *OUT, "--k", "400"), "k = 400 images cannot differ when there are 160"),
        (("mixup", *OUT, "--rounds", "0"), "one round or more"),
        (("mixup", "--data", "facs", "--out", "never"), "did you mean faces?"),
        (("mixup", *OUT, "--resume"), "there is no audit to resume in never"),
        (("mixup", *OUT, "--test", "photos?split=test"), "are not those of faces"),
    ],
)
def test_bad_input_gets_one_sentence(
    arguments: tuple[str, ...],
    words: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["audit", *arguments]) == 1
    assert words in said(capsys)
    assert not (tmp_path / "never").exists()


def test_the_same_folder_twice(
    audited: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Said before anything is loaded or planned."""
    for slow in ("question_of", "make_plan"):
        monkeypatch.delattr(f"hideseek.cli.audit.{slow}")
    before = (audited / "a" / "result.json").read_bytes()
    assert main(["audit", "mixup", "--data", "faces", *QUICK, "--out", str(audited / "a")]) == 1
    assert "exists already" in said(capsys)
    assert (audited / "a" / "result.json").read_bytes() == before


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": 1}', '{"format": 99}'])
def test_a_corrupt_result(content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "result.json").write_text(content)
    for command in (["report", str(tmp_path)], ["compare", str(tmp_path), str(tmp_path)]):
        assert main(command) == 1
        assert "result.json" in said(capsys)
    assert not (tmp_path / "report.html").exists()


def _folder(place: Path, classes: tuple[str, ...], count: int) -> str:
    generator = np.random.default_rng(0)
    for name in classes:
        (place / name).mkdir(parents=True, exist_ok=True)
        for number in range(count):
            pixels = generator.integers(0, 256, (16, 16), dtype=np.uint8)
            Image.fromarray(pixels).save(place / name / f"{number}.png")
    return f"folder:{place}"


@pytest.mark.parametrize(
    ("classes", "count", "words"),
    [
        (("one",), 12, "there is one class only"),
        ((".",), 12, "the images have no labels"),
        (("ill", "well"), 5, "judged by 10 images"),
    ],
    ids=["one class", "no labels", "ten images"],
)
def test_odd_sets_are_audited_and_what_is_odd_is_said(
    classes: tuple[str, ...], count: int, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = _folder(tmp_path / "set", classes, count)
    quick = ("--attacks", "linear-inversion", "--rounds", "4", "--seed", "3", "--budget", "10h")
    assert main(["audit", "mixup", "--data", address, *quick, "--out", str(tmp_path / "a")]) == 0
    result = read_result(tmp_path / "a")
    odd = [sentences.flag(flag) for flag in result.flags]
    assert words in f"{odd} {result.why_no_accuracy and sentences.no_accuracy(result.why_no_accuracy)}"
    assert result.schemes[0].verdicts[-1].outcome == "broken"
    assert str(tmp_path) not in (tmp_path / "a" / "result.json").read_text()  # a page is passed around
    assert result.private.address == "folder:set"
    capsys.readouterr()


def test_an_audit_that_was_stopped_goes_on_with_the_same_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With secure keys: what is sampled and held out must not change, and what is done is not done again."""
    monkeypatch.setitem(ATTACKS, "interrupted", Interrupted(rounds=4))
    address = _folder(tmp_path / "set", ("ill", "well"), 30)
    attacks = ("--attacks", "mixup-pairs,interrupted", "--sample", "40", "--rounds", "4", "--budget", "10h")
    command = ["audit", "mixup", "--k", "3", "--data", address, *attacks, "--out", str(tmp_path / "a")]
    assert main(command) == 130
    assert "Give the same command with --resume." in said(capsys)
    done = (tmp_path / "a" / "work" / "result" / "mixup" / "mixup-pairs.json").read_bytes()
    assert main([*command, "--resume"]) == 130
    assert "kept from before" in capsys.readouterr().out
    assert (tmp_path / "a" / "work" / "result" / "mixup" / "mixup-pairs.json").read_bytes() == done
    with monkeypatch.context() as patch:  # before it goes on
        patch.setattr("hideseek.cli.audit.make_plan", Mock(side_effect=KeyboardInterrupt))
        assert main([*command, "--resume"]) == 130
        assert said(capsys).endswith("stopped; what was done before is kept. Give the same command again.\n")
        assert main([*command[:-1], str(tmp_path / "b")]) == 130
        assert said(capsys).endswith("stopped before anything was written.\n")
    monkeypatch.setattr(Interrupted, "what", staticmethod(lambda: None))
    assert main([*command, "--resume"]) == 0
    assert read_result(tmp_path / "a").vanilla is not None


def test_an_audit_that_fits_nowhere_is_refused_with_its_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["audit", "mixup", "--data", "faces", "--no-learn", "--attacks", "mixup-pairs"]
    for more in (["--dry-run"], []):
        assert main([*command, "--rounds", str(10**9), *more, "--out", str(tmp_path / "a")]) == 1
        assert re.search(r"a release of these images needs 401\.3 TB of memory, and .* fewer rounds\.$", said(capsys))
    monkeypatch.setattr("hideseek.files.room.shutil.disk_usage", lambda _: Mock(free=1000))
    assert main([*command, "--out", str(tmp_path / "a")]) == 1
    assert "no room for the releases" in said(capsys)
    assert not (tmp_path / "a").exists()
