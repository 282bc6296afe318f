"""`hideseek audit --release`: what is said without the truth, with the private images alone, and what is refused."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from hideseek.challenge import write_challenge
from hideseek.chance import Randomness, seeded
from hideseek.cli import main
from hideseek.data import load, normalise
from hideseek.hide import InstaHide, Mixup
from hideseek.hide.files.release_files import write_release
from hideseek.records import EncodedRelease, Evidence, Links, Reconstruction, Samples
from hideseek.records.result import Outcome, Result, Truth
from hideseek.report.result_files import read_result
from hideseek.seek import ATTACKS
from trial_attacks import Idle, Look

pytestmark = pytest.mark.usefixtures("without_lpips")
SIZE = (16, 16)
SCHEME = ("--scheme", "laplace")


@dataclass(frozen=True)
class Sure(Look):
    """Be sure of the first five rows, put two together, and link two of three."""

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        (claim,) = super().seek(release, chance).claims
        assert isinstance(claim, Reconstruction)
        sure = torch.arange(len(claim.images)) < 5
        links = Links(torch.tensor([0, 0]), torch.tensor([1, 2]), torch.tensor([1.0, -1.0]), threshold=0.0)
        groups = torch.arange(len(sure))[:, None].expand(-1, 2)
        return Evidence((replace(claim, sure=sure, groups=groups), links))


@pytest.fixture(autouse=True)
def attacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be attacks that are fast."""
    for name, attack in (("look", Look()), ("sure", Sure()), ("idle", Idle())):
        monkeypatch.setitem(ATTACKS, name, attack)


@pytest.fixture(scope="module")
def faces() -> Samples:
    return normalise(load("faces", size=SIZE, labelled=False), "channel")


@pytest.fixture(scope="module")
def rows(faces: Samples, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The faces, next to nothing hidden, in another order, as somebody saved them."""
    path = tmp_path_factory.mktemp("rows") / "rows.npy"
    pixels = faces.pixels()[torch.from_numpy(np.random.default_rng(1).permutation(len(faces)))]
    np.save(path, pixels.permute(0, 2, 3, 1).numpy())
    return path


def audited(*arguments: str, out: Path, code: int = 0) -> Result:
    assert main(["audit", "--release", *arguments, "--seed", "1", "--budget", "10h", "--out", str(out)]) == code
    return read_result(out)


def test_without_the_truth_nothing_is_judged(rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = audited(str(rows), *SCHEME, "--attacks", "look,idle", "--fail-on", "leaks", out=tmp_path / "a", code=1)
    said = capsys.readouterr()
    assert "what look/outsider found on rows.npy cannot be judged without the truth" in said.err
    assert result.truth is Truth.NONE
    assert (result.private.address, result.private.images, result.private.shape) == ("rows.npy", 160, (1, *SIZE))
    (scheme,) = result.schemes
    assert [(verdict.threat, verdict.outcome) for verdict in scheme.verdicts] == [("outsider", Outcome.UNJUDGED)]
    look = next(attack for attack in scheme.attacks if attack.attack == "look")
    assert look.outcome is Outcome.UNJUDGED
    assert not look.figures
    assert not look.exposed
    assert [(each.claim, each.count, each.sure) for each in look.claimed] == [("reconstruction", 160, None)]
    assert all(proof.passed for proof in look.proofs)
    assert [panel.label for panel in look.exhibits[0].panels] == ["shared", "guess, not confirmed"]
    assert result.vanilla is None
    page = (tmp_path / "a" / "report.html").read_text("utf-8")
    assert "Nobody here knows the private images" in page
    idle = next(attack for attack in scheme.attacks if attack.attack == "idle")
    assert idle.outcome is Outcome.WITHHELD  # it succeeds on no weak case, so that its claims are not told at all
    assert not idle.claimed


def test_what_the_attacker_confirms_closes_a_gate(
    rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = audited(str(rows), *SCHEME, "--attacks", "sure", "--fail-on", "broken", out=tmp_path / "a", code=2)
    assert "is broken by sure/outsider, as the attacker himself confirms" in capsys.readouterr().err
    (scheme,) = result.schemes
    assert scheme.verdicts[0].outcome is Outcome.CONFIRMED
    (sure,) = scheme.attacks
    assert [(each.claim, each.count, each.sure, each.taken) for each in sure.claimed] == [
        ("reconstruction", 160, 5, None),
        ("links", 2, None, 1),
    ]
    assert [panel.label for panel in sure.exhibits[0].panels] == [
        "row 0",
        "row 0",
        "recovered, and confirmed by the attack",
    ]
    page = (tmp_path / "a" / "report.html").read_text("utf-8")
    assert "Confirmed by the attacker himself, by sure, without the truth." in page
    assert "of which it takes 1 to do so (1 group of 2 rows, each a row and those linked with it)" in page
    assert "put together from 2 rows" in page


def test_with_the_private_images_guesses_are_matched_to_them(rows: Path, tmp_path: Path) -> None:
    private = ("--private", "faces", "--attacks", "look,sure,average-known")
    result = audited(str(rows), *SCHEME, *private, "--fail-on", "broken", out=tmp_path / "a", code=2)
    assert result.truth is Truth.MATCHED
    (scheme,) = result.schemes
    assert {attack.attack: attack.outcome for attack in scheme.attacks} == dict.fromkeys(
        ("look", "sure"), Outcome.BROKEN
    )
    figures = {figure.metric: figure for figure in scheme.attacks[0].figures}
    assert figures["recovered"].found.mean == 1
    assert {figure.claim for attack in scheme.attacks for figure in attack.figures} == {"reconstruction"}
    claimed = {attack.attack: [each.claim for each in attack.claimed] for attack in scheme.attacks}
    assert claimed == {"look": [], "sure": ["links"]}  # what is about rows is said, and not judged


def test_images_that_are_not_in_it_are_not_found_by_matching(tmp_path: Path, faces: Samples) -> None:
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=(160, *SIZE, 1)).astype(np.float32))
    private = ("--private", "faces", "--attacks", "look")
    result = audited(str(tmp_path / "rows.npy"), *SCHEME, *private, out=tmp_path / "a")
    assert result.schemes[0].verdicts[0].outcome is Outcome.RESISTED


def test_a_challenge_and_a_release_are_read_as_they_are(tmp_path: Path, faces: Samples) -> None:
    release, secret = InstaHide(k=2).hide(faces.take(slice(0, 12)), None, seeded(1), 2)
    write_challenge(tmp_path / "challenge", release, secret, tmp_path / "secret")
    result = audited(str(tmp_path / "challenge"), "--attacks", "sure", out=tmp_path / "a")
    assert (result.private.images, result.schemes[0].rounds, result.schemes[0].items) == (12, 2, 24)
    assert result.schemes[0].mechanism == "instahide"
    write_release(Mixup(k=2), faces.take(slice(0, 12)), None, seeded(1), tmp_path / "hidden", rounds=2)
    result = audited(str(tmp_path / "hidden"), "--attacks", "sure", out=tmp_path / "b")
    assert (result.private.images, result.schemes[0].mechanism) == (12, "mixup")
    assert result.private.normalisation == "channel"
    assert result.schemes[0].known


def test_public_images_that_nobody_here_knows(
    tmp_path: Path, faces: Samples, capsys: pytest.CaptureFixture[str]
) -> None:
    public = normalise(load("photos", size=SIZE, channels=1, labelled=False), "channel").take(slice(0, 40))
    release, secret = InstaHide(k=4, k_private=2).hide(faces.take(slice(0, 12)), public, seeded(1), 2)
    write_challenge(tmp_path / "challenge", release, secret, tmp_path / "secret")
    result = audited(str(tmp_path / "challenge"), "--attacks", "sure,braverman", out=tmp_path / "a")
    assert "nobody here knows them: --public ADDRESS names them" in " ".join(capsys.readouterr().out.split())
    outcomes = {attack.attack: attack.outcome for attack in result.schemes[0].attacks}
    assert outcomes["sure"] in (Outcome.CONFIRMED, Outcome.WITHHELD)
    assert outcomes["braverman"] is Outcome.NOT_APPLICABLE  # those of trials are not told
    assert result.public is None
    assert result.schemes[0].attacks[0].contents.public == 0
    assert not result.schemes[0].advice


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["audit", "--release", *arguments]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


def test_what_is_refused(rows: Path, tmp_path: Path, faces: Samples, capsys: pytest.CaptureFixture[str]) -> None:
    out = ["--out", str(tmp_path / "out")]
    hidden = tmp_path / "hidden"
    write_release(Mixup(k=2), faces.take(slice(0, 12)), None, seeded(1), hidden, rounds=2)
    few = tmp_path / "few.npy"
    np.save(few, np.load(rows)[:1])
    cases: list[tuple[list[Any], str]] = [
        ([rows], "does not say how its rows were made: name the scheme"),
        ([few, *SCHEME], "has rows of 1 image at most, and needs 2"),
        ([rows, "--scheme", "mixup:k=4", "--images", "3"], "has rows of 3 images at most, and needs 4"),
        ([rows, "--scheme", "mixupp"], "there is no scheme 'mixupp': did you mean mixup?"),
        ([rows, *SCHEME, "--images", "161"], "--images must be from 2 to the number of rows, 160, not 161"),
        ([rows, *SCHEME, "--public", "photos"], "no public images are mixed into rows of this scheme"),
        ([rows, *SCHEME, "--attacks", "average-known"], "take what only who made the release knows"),
        ([rows, *SCHEME, "--dry-run", "--fail-on", "leaks"], "--dry-run judges nothing: leave --fail-on out"),
        ([hidden, "--scheme", "mixup"], "says itself how it was made: leave --scheme out"),
        ([hidden / "release.json"], f"is a part of a release, which says itself how it was made: name {hidden}"),
        ([hidden, "--layout", "hwc"], "--layout is of rows in a file"),
        ([hidden, "--private", "faces"], "has 24 rows of 12 images, and faces has 160"),
        ([tmp_path], "has neither release.json nor encryption.npy in it"),
        ([tmp_path / "no.npy", *SCHEME], "there is no file"),
    ]
    for arguments, said in cases:
        assert said in refused([*map(str, arguments), *out], capsys)
    shard = next(path for path in sorted(hidden.iterdir()) if path.suffix == ".safetensors")
    content = bytearray(shard.read_bytes())
    content[-1] ^= 1
    shard.write_bytes(content)
    assert shard.name in refused([str(hidden), *out], capsys)  # altered: its checksum is another
    assert not (tmp_path / "out").exists()


@dataclass(frozen=True)
class Stopped(Look):
    """Be stopped by the user, until he lets it run."""

    stop: ClassVar[bool] = True

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        if self.stop:
            raise KeyboardInterrupt
        return super().seek(release, chance)


def test_it_goes_on_with_the_same_release_alone(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(ATTACKS, "stopped", Stopped())
    out = ["--attacks", "stopped", "--seed", "1", "--budget", "10h", "--out", str(tmp_path / "a")]
    assert main(["audit", "--release", str(rows), *SCHEME, *out]) == 130
    monkeypatch.setattr(Stopped, "stop", False)
    capsys.readouterr()
    other = tmp_path / "rows.npy"
    np.save(other, np.load(rows)[::-1])
    assert "was begun with other" in refused([str(other), *SCHEME, *out, "--resume"], capsys)
    assert main(["audit", "--release", str(rows), *SCHEME, *out, "--resume"]) == 0
