"""`hideseek seek` as a user types it: what it writes and says, and what it says when something is wrong."""

import json
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from PIL import Image

from hideseek.chance import Randomness
from hideseek.cli import main
from hideseek.records import Attack, EncodedRelease, Evidence, PublicImagesFound, Reconstruction
from hideseek.seek import ATTACKS, VARIANTS
from hideseek.seek.evidence_files import read_evidence

Seek = Callable[..., tuple[int, str]]


@pytest.fixture
def hidden(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    arguments = ["hide", "mixup", "--data", "faces", "--rounds", "2", "--out", str(tmp_path / "hidden")]
    assert main([*arguments, "--keep-secret", str(tmp_path / "truth"), "--seed", "1"]) == 0
    capsys.readouterr()
    return tmp_path / "hidden"


@pytest.fixture
def crossed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    arguments = ["hide", "mixup-cross", "--data", "faces", "--public", "faces?split=test", "--k", "2"]
    assert main([*arguments, "--out", str(tmp_path / "crossed"), "--seed", "1"]) == 0
    capsys.readouterr()
    return tmp_path / "crossed"


@pytest.fixture
def seek(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Seek:
    def seek(attack: str, release: Path, *arguments: str, out: str = "found") -> tuple[int, str]:
        code = main(["seek", attack, "--release", str(release), "--out", str(tmp_path / out), *arguments])
        said = capsys.readouterr()
        return code, said.out + said.err

    return seek


def test_evidence_and_a_picture_are_written(hidden: Path, seek: Seek, tmp_path: Path) -> None:
    code, said = seek("mixup-pairs", hidden, "--steps", "1", "--seed", "3")
    assert code == 0
    assert "Judge it" in said
    found = read_evidence(tmp_path / "found")
    assert found.attack == "mixup-pairs"
    assert found.settings["steps"] == 1
    assert found.seed == 3
    assert found.evidence.seconds > 0
    with Image.open(tmp_path / "found" / "evidence.png") as picture:
        assert picture.width > 100
    assert closed(tmp_path / "found")


def closed(folder: Path) -> bool:
    """Tell whether a folder and all that is in it is for its owner alone: recovered images are private."""
    modes = [(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in (folder, *folder.rglob("*"))]
    return len(modes) > 1 and all(mode == (0o700 if is_folder else 0o600) for is_folder, mode in modes)


def test_evidence_of_several_attacks_and_failures_are_for_their_owner_alone(
    hidden: Path, seek: Seek, tmp_path: Path
) -> None:
    code, _ = seek("mixup-pairs,linear-inversion", hidden)
    assert code == 0
    assert (tmp_path / "found" / "linear-inversion" / "not-applicable.json").is_file()
    assert closed(tmp_path / "found")


@pytest.mark.parametrize(
    ("attacks", "linked"),
    [
        ("mixup-pairs", "found"),
        ("mixup-pairs", ".found.partial"),
        *(("mixup-pairs,linear-inversion", linked) for linked in ("found", "found/mixup-pairs", ".found.partial")),
        ("mixup-pairs,linear-inversion", "found/.mixup-pairs.partial"),
    ],
)
def test_no_link_is_followed(hidden: Path, seek: Seek, tmp_path: Path, attacks: str, linked: str) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    for name in ("failed.json", "chapter"):
        (mine / name).write_text("mine")
    (tmp_path / linked).parent.mkdir(exist_ok=True)
    (tmp_path / linked).symlink_to(mine)
    seek(attacks, hidden, out="found")
    assert sorted(path.read_text() for path in mine.iterdir()) == ["mine", "mine"]


def test_the_same_seed_finds_the_same(hidden: Path, seek: Seek, tmp_path: Path) -> None:
    for out in ("one", "two"):
        assert seek("mixup-pairs", hidden, "--steps", "0", "--seed", "3", out=out)[0] == 0
    one, two = ((tmp_path / name / "claims.safetensors").read_bytes() for name in ("one", "two"))
    assert one == two


def test_there_is_no_option_for_the_secret(hidden: Path, seek: Seek, tmp_path: Path) -> None:
    code, said = seek("mixup-pairs", hidden, "--secret", str(tmp_path / "truth"))
    assert code == 2
    assert "--secret" in said


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["seek"]) == 0
    said = capsys.readouterr().out
    known = {**ATTACKS, **VARIANTS}
    assert all(name in said for name in known)
    for name in known:
        with pytest.raises(SystemExit) as stopped:
            main(["seek", name, "--help"])
        assert stopped.value.code == 0
        assert "--release" in capsys.readouterr().out


def test_an_unknown_attack_is_told_what_is_near(hidden: Path, seek: Seek) -> None:
    code, said = seek("mixup-pair", hidden)
    assert code == 1
    assert "mixup-pairs" in said


def test_an_attack_that_needs_public_images_says_so(crossed: Path, seek: Seek, tmp_path: Path) -> None:
    code, said = seek("mixup-public", crossed)
    assert code == 1
    assert "--public ADDRESS" in said
    assert not (tmp_path / "found").exists()


@pytest.mark.parametrize(
    ("attack", "options"),
    [
        ("average-known", ["hide with --give-away sources"]),
        ("linear-inversion", ["hide with --give-away weights", "hide with --give-away sources"]),
        ("linear-optimum", ["--own ADDRESS or --public ADDRESS"]),
        ("distinguish", ["hide with more --rounds"]),
        ("likelihood-ratio", ["hideseek audit"]),
    ],
)
def test_a_refusal_names_the_option_that_helps(hidden: Path, seek: Seek, attack: str, options: list[str]) -> None:
    code, said = seek(attack, hidden)
    assert code == 1
    assert all(option in " ".join(said.split()) for option in options)


def test_a_refusal_that_no_option_helps_is_left_as_it_is(hidden: Path, seek: Seek) -> None:
    code, said = seek("demask", hidden)
    assert code == 1
    assert "this scheme flips no signs, so there is no mask to undo." in said


def test_options_reach_the_parts_of_an_attack(tmp_path: Path, seek: Seek) -> None:
    masked = ["hide", "instahide-inside", "--data", "faces", "--out", str(tmp_path / "masked"), "--seed", "1"]
    assert main(masked) == 0
    signs = ["--signs.rows", "32", "--signs.width", "2", "--queries", "2", "--own", "faces?split=test"]
    code, said = seek("average-search-demasked", tmp_path / "masked", *signs)
    assert code == 0, said
    found = read_evidence(tmp_path / "found")
    assert found.settings["queries"] == 2
    assert found.settings["signs"] | {"rate": 0, "batch": 0} == {
        "kind": "restore signs",
        "rows": 32,
        "width": 2,
        "batch": 0,
        "rate": 0,
        "adversarial": 0.0,
    }


def test_all_attacks_are_those_without_variants(
    hidden: Path, seek: Seek, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hideseek.cli.seek.ATTACKS", {"average-search": ATTACKS["average-search"], "broken": Broken()})
    code, _ = seek("all", hidden)
    assert code == 0
    assert {path.name for path in (tmp_path / "found").iterdir()} == {"average-search", "broken"}


def test_patches_are_sought_in_the_larger_images_or_as_they_are(
    seek: Seek, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The larger photographs by default; evidence about them is judged by the photograph that a patch is from."""
    address, hidden = "patches:photos?each=2", tmp_path / "patched"
    arguments = ["hide", "mixup-cross", "--data", "faces", "--public", address, "--k", "2", "--seed", "1"]
    assert main([*arguments, "--out", str(hidden), "--keep-secret", str(tmp_path / "truth")]) == 0
    code, said = seek("mixup-public", hidden, "--public", address)
    assert code == 1
    assert "the attacker has the larger ones (32×32 with 1 channel)" in " ".join(said.split())
    assert "--public-known patches" in " ".join(said.split())
    for known, larger in (("images", True), ("patches", False)):
        code, _ = seek("public-search", hidden, "--public", address, "--public-known", known, "--rows", "40", out=known)
        assert code == 0
        (claim,) = read_evidence(tmp_path / known).evidence.claims
        assert isinstance(claim, PublicImagesFound)
        assert claim.larger is larger
        assert main(["score", str(tmp_path / known), "--secret", str(tmp_path / "truth")]) == 0
        scored = json.loads((tmp_path / known / "score.json").read_text())
        capsys.readouterr()
        hits = next(each for each in scored["scores"] if each["metric"] == "hit@1")
        assert hits["mean"] > 0.3  # by chance, 1 in 3,900 or less


def test_another_public_set_is_refused(crossed: Path, seek: Seek) -> None:
    code, said = seek("mixup-public", crossed, "--public", "faces")
    assert code == 1
    assert "not the 40 public images" in said
    code, said = seek("mixup-public", crossed, "--public", "faces?split=test", "--size", "20")
    assert code == 1
    assert "load them at the size that it was made with" in said


def test_the_right_public_set_is_taken(crossed: Path, seek: Seek, tmp_path: Path) -> None:
    code, said = seek("mixup-public", crossed, "--public", "faces?split=test", "--no-exact")
    assert code == 0, said
    assert len(read_evidence(tmp_path / "found").evidence.claims) == 2


@dataclass(frozen=True)
class Broken(Attack[EncodedRelease]):
    """Fail."""

    sees: ClassVar = EncodedRelease

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        raise RuntimeError("out of luck")


def test_an_attack_that_fails_does_not_stop_the_others(
    hidden: Path, seek: Seek, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attacks: dict[str, Attack[Any]] = {"broken": Broken(), "mixup-pairs": ATTACKS["mixup-pairs"]}
    monkeypatch.setattr("hideseek.cli.seek.ATTACKS", attacks)
    code, said = seek("broken,mixup-pairs", hidden)
    assert code == 0
    assert "broken: failed. RuntimeError: out of luck" in said
    assert json.loads((tmp_path / "found" / "broken" / "failed.json").read_text()) == {
        "attack": "broken",
        "error": "RuntimeError: out of luck",
    }
    assert read_evidence(tmp_path / "found" / "mixup-pairs").attack == "mixup-pairs"
    code, said = seek("mixup-pairs,broken", hidden)  # what is there is not run again, what failed is tried again
    assert code == 0
    assert "already" in said
    assert "broken: failed" in said


def test_an_attack_that_does_not_apply_has_not_failed(
    hidden: Path, seek: Seek, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = seek("demask,mixup-public,mixup-pairs", hidden)
    assert code == 0
    assert "demask: not applicable: this scheme flips no signs, so there is no mask to undo." in said
    assert "mixup-public: not applicable: this attack is on schemes that mix in public images" in said
    assert "failed" not in said
    (path,) = (tmp_path / "found" / "demask").iterdir()
    assert json.loads(path.read_text())["reason"].startswith("this scheme flips no signs")
    assert main(["score", str(tmp_path / "found"), "--secret", str(tmp_path / "truth"), "--metrics", "auc"]) == 0
    assert "demask not applicable: this scheme flips no signs" in capsys.readouterr().out


def test_if_all_fail_the_command_fails(hidden: Path, seek: Seek) -> None:
    code, said = seek("mixup-public,braverman", hidden)
    assert code == 1
    assert "no attack could be run" in said


def test_evidence_of_another_release_is_not_taken_for_ours(hidden: Path, crossed: Path, seek: Seek) -> None:
    assert seek("mixup-pairs,braverman", hidden)[0] == 0
    code, said = seek("mixup-pairs,braverman", crossed)
    assert code == 1
    assert "evidence of another release" in said


def test_evidence_of_another_seed_is_not_taken_for_this_one(hidden: Path, seek: Seek) -> None:
    assert seek("mixup-pairs,braverman", hidden, "--seed", "1")[0] == 0
    code, said = seek("mixup-pairs,braverman", hidden, "--seed", "2")
    assert code == 1
    assert "other settings or another seed" in said


def test_numbers_that_are_not_finite_are_a_failure(hidden: Path, seek: Seek, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hideseek.cli.seek.ATTACKS", {"wild": Wild()})
    code, said = seek("wild", hidden)
    assert code == 1
    assert "not finite" in said


@dataclass(frozen=True)
class Wild(Attack[EncodedRelease]):
    """Divide by zero."""

    sees: ClassVar = EncodedRelease

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        images = release.encoded.pixels(slice(0, 2)) / 0
        return Evidence((Reconstruction(images, torch.arange(2)),))
