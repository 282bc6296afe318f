"""`hideseek audit updates` as a user types it, from the plan to the page, and what it says when something is wrong."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from hideseek.cli import main
from hideseek.models import build
from hideseek.records import Normalisation
from hideseek.records.result import Outcome, Result
from hideseek.report.result_files import read_result
from hideseek.seek import ATTACKS
from hideseek.train.trained import Trained, write_model
from toy_updates import LinearRatio, StrongestRatio

pytestmark = pytest.mark.usefixtures("without_lpips", "short_training", "toys")
HIDDEN = "gradient-noise:noise=1+quantised:bits=4+intra-instahide"
QUICK = ("--data", "faces", "--sample", "30", "--budget", "10h", "--seed", "3")


@pytest.fixture(scope="module")
def toys() -> "pytest.MonkeyPatch":  # type: ignore[misc]
    """Put exact attacks of two attackers beside those that there are."""
    with pytest.MonkeyPatch.context() as patch:
        for name, attack in (("ratio", LinearRatio()), ("informed", StrongestRatio())):
            patch.setitem(ATTACKS, name, attack)
        yield patch


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory, toys: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("updates") / "a"
    asked = ("--model", "linear", "--batch", "1", "--defence", f"none,{HIDDEN}", "--attacks", "ratio,informed")
    assert main(["audit", "updates", *asked, *QUICK, "--out", str(folder)]) == 0
    return folder


def outcomes(result: Result, scheme: str) -> dict[str, Outcome]:
    found = next(each for each in result.schemes if each.name == scheme)
    return {verdict.threat: verdict.outcome for verdict in found.verdicts}


def test_what_leaks_to_whom(audited: Path) -> None:
    result = read_result(audited)
    assert [scheme.name for scheme in result.schemes] == ["undefended", HIDDEN]
    broken = outcomes(result, "undefended")
    assert (broken["outsider"], broken["strongest"]) == (Outcome.BROKEN, Outcome.BROKEN)
    assert broken["server"] is Outcome.NOT_APPLICABLE  # none of these attacks takes all rounds
    assert list(outcomes(result, "undefended"))[:4] == ["outsider", "candidates", "server", "strongest"]
    hidden = outcomes(result, HIDDEN)
    assert (hidden["outsider"], hidden["strongest"]) == (Outcome.RESISTED, Outcome.RESISTED)
    for scheme in result.schemes:
        assert scheme.parameters["trained"] is False
        assert "by an untrained linear" in scheme.summary
        for attack in scheme.attacks:
            assert [proof.passed for proof in attack.proofs] == [True, True]
            assert attack.contents.item == "update"


def test_what_defences_cost_and_what_would_help(audited: Path) -> None:
    result = read_result(audited)
    undefended = result.schemes[0]
    assert result.vanilla is not None
    assert {scheme.accuracy.model for scheme in result.schemes if scheme.accuracy} == {"linear"}
    assert result.vanilla.model == "linear"
    assert all(scheme.accuracy is not None for scheme in result.schemes)
    changes = [(advice.change.kind.value, advice.change.scheme) for advice in undefended.advice]
    assert changes == [
        ("larger-batch", ""),
        ("more-local-steps", ""),
        ("defence", "gradient-pruning"),
        ("defence", "gradient-noise"),
        ("defence", "intra-instahide"),
        ("leave-out", ""),
    ]
    for advice in undefended.advice[1:-1]:  # of two batches of 16, too few guesses can be judged
        assert advice.helps is not None
        assert advice.before is not None
        assert advice.after is not None
        assert advice.before.mean == 1.0 > advice.after.mean


def test_the_page_says_it(audited: Path) -> None:
    page = (audited / "report.html").read_text("utf-8")
    for words in (
        "Share the gradient of 1 image by an untrained linear, in train mode, undefended.",
        "30 updates in 1 round",
        "An attacker who also keeps all rounds",
        "linear with its weights",
        "the labels of each update",
        "Larger batches: 16 images instead of 1",
        "gradient-noise (clip = 1, noise = 1), quantised (bits = 4)",
    ):
        assert words in page, words


def test_the_same_command_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["audit", "updates", "--model", "linear", *QUICK, "--attacks", "ratio", "--no-learn"]
    command += ["--out", str(tmp_path / "a")]
    with monkeypatch.context() as patch:
        patch.setattr("hideseek.audit.run.write_result", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        assert main(command) == 130
    assert main([*command, "--resume"]) == 0


def trained_file(folder: Path, shape: tuple[int, int, int] = (1, 25, 25), classes: int = 2, **how: object) -> str:
    with torch.random.fork_rng():
        network = build("linear", shape, classes)
    names = tuple(f"c{number}" for number in range(classes)) if classes > 2 else ("0", "1")
    constants = Normalisation("channel", (0.5,) * shape[0], (0.25,) * shape[0])
    write_model(folder / "model.safetensors", Trained(network, "linear", shape, names, constants, **how))  # type: ignore[arg-type]
    return str(folder / "model.safetensors")


def test_a_trained_model(tmp_path: Path) -> None:
    model = trained_file(tmp_path)
    command = ["audit", "updates", "--model", model, "--batch", "1", *QUICK, "--attacks", "ratio", "--no-learn"]
    assert main([*command, "--out", str(tmp_path / "a")]) == 0
    result = read_result(tmp_path / "a")
    assert result.schemes[0].parameters["trained"] is True
    assert "by a trained linear" in (tmp_path / "a" / "report.html").read_text("utf-8")
    assert result.schemes[0].attacks[0].outcome is Outcome.BROKEN


def test_states_side_by_side(tmp_path: Path) -> None:
    (tmp_path / "late").mkdir()
    model = trained_file(tmp_path / "late")
    command = ["audit", "updates", "--model", f"linear,{model}", "--batch", "1", *QUICK, "--attacks", "ratio"]
    assert main([*command, "--no-learn", "--out", str(tmp_path / "a")]) == 0
    schemes = read_result(tmp_path / "a").schemes
    assert {scheme.name: scheme.parameters["trained"] for scheme in schemes} == {
        "linear/undefended": False,
        "late/undefended": True,
    }


def said(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    assert captured.err.startswith("hideseek: ")
    assert captured.err.count("\n") == 1
    return captured.err


OUT = ("--data", "faces", "--out", "never")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--model", "resnet81", *OUT), "did you mean resnet18?"),
        (("--model", "none/model.safetensors", *OUT), "there is no model at none/model.safetensors"),
        (("--model", "model.pt", *OUT), "pickled objects"),
        (("--model", "lenet,linear", *OUT), "several architectures"),
        (("--model", "lenet,lenet", *OUT), "two models are called lenet"),
        (("--model", ",", *OUT), "name a model"),
        (("--batch", "0", *OUT), "batch must be 1 or more"),
        (("--rate", "0", *OUT), "rate, the learning rate"),
        (("--local-steps", "2", "--sends", "gradient", *OUT), "sends weights"),
        (("--defence", "mixup+mixup-cross", *OUT), "2 encodings"),
        (("--defence", "instahide-cross", *OUT), "without public images"),
        (("--attacks", "carlini", *OUT), "carlini attacks another kind of release: choose among"),
        (("--attacks", "ratios", *OUT), "did you mean ratio?"),
        (("--mode", "test", *OUT), "--mode must be train or eval, not 'test'"),
        (("--rounds", "0", *OUT), "one round or more"),
        (("--model", "classifier", "--batch", "1", "--sample", "9", "--no-learn", *OUT), "mode eval"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    options: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", "updates", *options]) == (2 if "--mode" in words else 1)
    assert words in said(capsys)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"shape": (1, 20, 20)}, "the model takes images of 20×20"),
        ({"shape": (3, 25, 25)}, "constants for 3 channels do not fit images with 1"),
        ({"classes": 3}, "tells 3 classes apart"),
        ({"features": "efficientnet-lite0"}, "takes features"),
    ],
)
def test_a_model_of_other_images(
    how: dict[str, object], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = trained_file(tmp_path, **how)  # type: ignore[arg-type]
    assert main(["audit", "updates", "--model", model, "--data", "faces", "--out", str(tmp_path / "a")]) == 1
    assert words in said(capsys)


def test_a_trained_model_has_its_own_normalisation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = trained_file(tmp_path)
    assert main(["audit", "updates", "--model", model, "--normalise", "image", *OUT]) == 1
    assert "leave out --normalise" in said(capsys)


@pytest.mark.parametrize(("folders", "words"), [((".",), "no labels"), (("only",), "of one class")])
def test_images_without_two_classes(
    folders: tuple[str, ...], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in folders:
        for number in range(6):
            path = tmp_path / "images" / folder / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            pixels = np.random.default_rng(number).integers(0, 256, (12, 12), dtype=np.uint8)
            Image.fromarray(pixels).save(path)
    data = f"folder:{tmp_path / 'images'}"
    assert main(["audit", "updates", "--model", "linear", "--data", data, "--out", str(tmp_path / "a")]) == 1
    assert f"updates are gradients of a classifier's loss, and {'these' if words == 'no labels' else 'all'} images" in (
        text := said(capsys)
    )
    assert words in text


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["audit", "updates", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    for words in ("--defence", "--local-steps", "gradient-pruning", "resnet18", "Try:", "ratio", "untrained"):
        assert words in text
    assert main(["audit"]) == 0
    assert "hideseek audit updates --help" in " ".join(capsys.readouterr().out.split())
