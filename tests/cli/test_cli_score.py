"""`hideseek score` as a user types it: what it writes and says, and what it says when something is wrong."""

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from PIL import Image

from hideseek.chance import seeded
from hideseek.cli import main
from hideseek.data import load
from hideseek.data.normalise import normalise
from hideseek.hide import InstaHide, Mixup
from hideseek.hide.files.release_files import release_digest, write_release
from hideseek.hide.files.secret_files import read_secret
from hideseek.records import (
    Attribution,
    Claim,
    Evidence,
    Labels,
    Links,
    Masks,
    Membership,
    PublicImagesFound,
    Reconstruction,
)
from hideseek.records.mixing_secret import MixingSecret
from hideseek.report.sentences import number
from hideseek.score.claims import CLAIMS
from hideseek.score.metrics import METRICS
from hideseek.seek.evidence_files import Found, write_evidence


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No LPIPS weights, and nothing is fetched."""
    monkeypatch.setenv("HIDESEEK_DATA", str(tmp_path))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two releases of faces, `hidden` and `other`, and their secrets."""
    folder = tmp_path_factory.mktemp("place")
    private = normalise(load("faces").take(torch.arange(0, 120, 6)), "channel")
    public = replace(private, images=private.images.flip(3))
    write_release(InstaHide(k=4, k_private=2), private, public, seeded(0), folder / "hidden", folder / "truth")
    write_release(Mixup(), private, None, seeded(1), folder / "other", folder / "other-truth")
    return folder


@pytest.fixture
def truth(place: Path) -> MixingSecret:
    return read_secret(place / "truth", release_digest(place / "hidden"))


def keep(folder: Path, place: Path, *claims: Claim, attack: str = "guess", release: str = "hidden") -> Path:
    """Write evidence as `hideseek seek` would."""
    folder.mkdir(parents=True)
    evidence = Evidence(claims, {"loss": 0.5}, 2.5, 3_000_000)
    write_evidence(Found(evidence, attack, release_digest(place / release), {"steps": 3}, 7), folder)
    return folder


def reconstruction(truth: MixingSecret, level: float = 0.3) -> Reconstruction:
    pixels = truth.private.pixels(truth.sources[:, 0])
    return Reconstruction(pixels + level * seeded(2).normals(*pixels.shape), torch.arange(len(pixels)))


def score(evidence: Path, place: Path, *more: str, kept: str = "truth") -> int:
    return main(["score", str(evidence), "--secret", str(place / kept), *more])


def said(capsys: pytest.CaptureFixture[str]) -> str:
    """The one sentence of a failed command."""
    captured = capsys.readouterr()
    assert captured.err.startswith("hideseek: ")
    assert captured.err.count("\n") == 1
    assert "Traceback" not in captured.err
    return captured.err


def test_a_table_a_file_and_a_picture(
    place: Path, truth: MixingSecret, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = keep(tmp_path / "found", place, reconstruction(truth))
    assert score(found, place, "--picture", str(tmp_path / "found.png")) == 0
    text = capsys.readouterr().out
    assert "guess (2.5 s, 3 MiB)" in text
    for words in (
        "snr ↑",
        "l2 ↓",
        "random image",
        "mean and 95 % interval",
        "beats its baseline",
        "It shows private",
    ):
        assert words in text
    assert "Without lpips-alex: its weights" in text
    told = json.loads((found / "score.json").read_text())
    assert told["format"] == 2
    assert told["attack"] == "guess"
    assert told["release"] == release_digest(place / "hidden")
    assert (told["settings"], told["seed"], told["judged_with_seed"]) == ({"steps": 3}, 7, 0)
    scores = {each["metric"]: each for each in told["scores"]}
    assert scores["re-identified"]["beats"] is True
    assert len(scores["snr"]["values"]) == 20
    mean, low, high = (number(scores["snr"][key], "dB") for key in ("mean", "low", "high"))
    assert f"{mean} ({low.removesuffix(' dB')} to {high})" in text
    assert number(scores["ssim"]["baselines"]["mean image"]["mean"]) in text
    assert stat.S_IMODE((tmp_path / "found.png").stat().st_mode) == 0o600
    with Image.open(tmp_path / "found.png") as picture:
        assert picture.width > 6 * 96
        assert picture.height > 6 * 96
    assert score(found, place) == 0  # again: the same figures
    assert json.loads((found / "score.json").read_text()) == told


def test_several_attacks_and_one_that_failed(
    place: Path, truth: MixingSecret, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "found"
    keep(folder / "good", place, reconstruction(truth), attack="good")
    keep(folder / "idle", place, reconstruction(truth, 50.0), attack="idle")
    keep(folder / "mute", place, attack="mute")
    (folder / "broken").mkdir()
    (folder / "broken" / "failed.json").write_text('{"attack": "broken", "error": "it needs [weights] of every row."}')
    (folder / "notes").mkdir()  # of something else
    out = tmp_path / "all.json"
    assert score(folder, place, "--metrics", "snr", "hit@1", "--json", str(out), "--seed", "3") == 0
    text = capsys.readouterr().out
    assert "broken failed: it needs [weights] of every row." in text
    assert "no better than mean image" in text
    assert "It claims nothing" in text
    assert "Without hit@1: it is for claims of the kind public-images" in text
    told = json.loads(out.read_text())["attacks"]
    assert list(told) == ["broken", "good", "idle", "mute"]
    assert told["broken"]["failed"] == "it needs [weights] of every row."
    assert [told[name]["scores"][0]["beats"] for name in ("good", "idle")] == [True, False]
    assert not list(folder.rglob("score.json"))
    assert score(folder / "broken", place) == 0
    assert "broken failed" in capsys.readouterr().out


def test_all_kinds_of_claims(
    place: Path, truth: MixingSecret, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = torch.arange(20)
    first, second = torch.triu_indices(20, 20, 1)
    order = torch.stack([seeded(row).permutation(20) for row in range(20)])
    claims = (
        PublicImagesFound(rows, order[:, :5], torch.zeros(20, 5), 20),
        Links(first, second, seeded(0).uniforms(len(first))),
        Masks(rows, truth.signs()),
        Attribution(rows, rows, torch.eye(20)[truth.sources[:, 0]]),
        Labels(rows, truth.private.labels[truth.sources[:, 0]]),
        Membership(torch.arange(2 * len(truth.private)), seeded(1).uniforms(2 * len(truth.private))),
        Reconstruction(torch.empty(0, *truth.private.shape), torch.empty(0, dtype=torch.int64)),
    )
    found = keep(tmp_path / "found", place, *claims)
    assert score(found, place) == 0
    text = capsys.readouterr().out
    for name, metric in METRICS.items():
        if name not in CLAIMS["reconstruction"].metrics:
            assert f"{name} {'↑' if metric.higher_is_better else '↓'}" in text
    for baseline in ("random order", "chance", "coin flips"):
        assert baseline in text
    assert "hit@10, hit@100: 5 answers were kept" in text
    assert "the attack claims nothing" in text
    assert score(found, place, "--picture", str(tmp_path / "p.png")) == 1
    assert "nothing to draw" in said(capsys)


def test_a_narrow_terminal_gets_the_best_baseline(
    place: Path,
    truth: MixingSecret,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("hideseek.cli.terminal.WIDTH", 100)
    assert score(keep(tmp_path / "found", place, reconstruction(truth)), place, "--metrics", "snr") == 0
    text = capsys.readouterr().out
    assert "best baseline" in text
    assert "random image" not in text
    assert max(len(line) for line in text.splitlines() if str(tmp_path) not in line) <= 100


def test_what_is_wrong_is_one_sentence(
    place: Path, truth: MixingSecret, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = keep(tmp_path / "good", place, reconstruction(truth))
    foreign = keep(tmp_path / "foreign", place, reconstruction(truth), release="other")
    beyond = keep(tmp_path / "beyond", place, replace(reconstruction(truth), about=torch.arange(1, 21)))
    damaged = keep(tmp_path / "damaged", place, reconstruction(truth))
    (damaged / "claims.safetensors").write_bytes(b"nonsense")
    failed = tmp_path / "failed"
    failed.mkdir()
    (failed / "failed.json").write_text("[]")
    (tmp_path / "junk").write_bytes(b"no secret")
    for evidence, kept, more, words in (
        (good, "other-truth", [], "belongs to another release"),
        (foreign, "truth", [], "belongs to another release"),
        (good, "nowhere", [], "there is no secret at"),
        (good, str(tmp_path / "junk"), [], "not a secret that hideseek wrote"),
        (beyond, "truth", [], "speaks of item 20, and there are 20"),
        (damaged, "truth", [], "is damaged: run the attack again"),
        (failed, "truth", [], "failed.json is damaged"),
        (tmp_path / "nothing", "truth", [], "holds no evidence"),
        (place, "truth", [], "holds no evidence"),
        (good, "truth", ["--metrics", "snrr"], "did you mean snr?"),
    ):
        assert score(evidence, place, *more, kept=kept) == 1
        assert words in said(capsys)
    assert not list(tmp_path.rglob("score.json"))


def test_one_that_cannot_be_judged_does_not_keep_the_others_from_it(
    place: Path, truth: MixingSecret, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "found"
    keep(folder / "a", place, replace(reconstruction(truth), about=torch.arange(1, 21)))
    keep(folder / "b", place, reconstruction(truth))
    assert score(folder, place, "--metrics", "snr") == 1
    captured = capsys.readouterr()
    assert "a could not be judged: the evidence speaks of item 20" in captured.out
    assert "beats its baseline" in captured.out
    assert "1 of 2 attacks could not be judged" in captured.err
    assert (folder / "b" / "score.json").is_file()


def test_help_teaches_and_fits_one_screen(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit, match="0"):
        main(["score", "--help"])
    text = capsys.readouterr().out
    assert all(name in text for name in METRICS)
    for words in ("baselines", "--keep-secret", "shows private", "proves little"):
        assert words in text
    assert sum(-(-len(line) // 80) or 1 for line in text.splitlines()) <= 50
