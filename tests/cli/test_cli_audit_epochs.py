"""`hideseek audit updates --epochs`: what leaks over epochs; and a model that a server sent with an imprint in it."""

from dataclasses import replace
from pathlib import Path
from statistics import NormalDist

import pytest
import torch

from hideseek.cli import main
from hideseek.models import build
from hideseek.records import Normalisation
from hideseek.records.result import Outcome
from hideseek.report.epochs import metrics_over_epochs, over_epochs
from hideseek.report.page.epochs_chart import epochs_chart
from hideseek.report.result_files import read_result
from hideseek.report.sentences import over_epochs as told
from hideseek.seek import ATTACKS
from hideseek.train.trained import Trained, write_model
from toy_updates import LinearRatio

pytestmark = pytest.mark.usefixtures("without_lpips", "short_training", "toy")
ASKED = ("audit", "updates", "--batch", "1", "--data", "faces", "--sample", "30", "--budget", "10h", "--seed", "3")
EPOCHS = (*ASKED, "--model", "linear", "--attacks", "ratio")


@pytest.fixture(scope="module")
def toy() -> "pytest.MonkeyPatch":  # type: ignore[misc]
    """Put an exact attack beside those that there are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ATTACKS, "ratio", LinearRatio())
        yield patch


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory, toy: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("epochs") / "a"
    defences = ("--defence", "none,gradient-pruning:p=0.9")
    assert main([*EPOCHS, "--epochs", "4,0", *defences, "--out", str(folder)]) == 0
    return folder


def test_every_state_is_audited(audited: Path) -> None:
    result = read_result(audited)
    assert [scheme.name for scheme in result.schemes] == [
        "undefended, epoch 0",
        "undefended, epoch 4",
        "gradient-pruning:p=0.9, epoch 0",
        "gradient-pruning:p=0.9, epoch 4",
    ]
    assert [scheme.parameters["trained"] for scheme in result.schemes] == [False, True, False, True]
    assert [scheme.parameters["epochs"] for scheme in result.schemes] == [0, 4, 0, 4]
    accuracies = [scheme.accuracy.accuracy.mean for scheme in result.schemes if scheme.accuracy is not None]
    assert len(accuracies) == 4
    assert accuracies[0] == accuracies[1]  # one training for a way of sharing, whichever state is attacked
    states = [scheme.state for scheme in result.schemes]
    assert states[1] is not None
    assert states[1].accuracy.images == 30
    assert result.schemes[0].attacks[0].outcome is Outcome.BROKEN


def test_the_curve_is_of_the_strongest_attack(audited: Path) -> None:
    result = read_result(audited)
    series = over_epochs(result)
    assert {name: [point.state.epoch for point in points] for name, points in series.items()} == {
        "undefended": [0, 4],
        "gradient-pruning:p=0.9": [0, 4],
    }
    assert metrics_over_epochs(result) == ("recovered", "re-identified", "ssim", "psnr")
    attack, figure = series["undefended"][0].figures["recovered"]
    assert (attack.attack, figure.found.mean) == ("ratio", 1.0)
    assert "undefended: recovered 100.0 % after 0 epochs and" in told(series)
    drawn = str(epochs_chart(series, "psnr", "x"))
    assert drawn.count("<polyline") == 2
    assert drawn.count("<circle") == 4
    crafted = replace(attack, given=("crafted",), outcome=Outcome.BROKEN)
    without = replace(result, schemes=(replace(result.schemes[0], attacks=(crafted,)),))
    assert over_epochs(without)["undefended"][0].figures == {}
    assert "nothing could be judged in 1 state" in told(over_epochs(without))
    assert over_epochs(replace(result, schemes=(replace(result.schemes[0], state=None),))) == {}
    assert told({}) == ""


def test_the_page_and_the_terminal_show_it(audited: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = (audited / "report.html").read_text("utf-8")
    for words in ("Leakage over epochs", "psnr over epochs", "by a trained linear (after 4 epochs)", "series-1"):
        assert words in page, words
    command = [*EPOCHS, "--no-learn", "--epochs", "0", "--train", "faces", "--out", str(tmp_path / "a")]
    assert main(command) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "linear as it was initialised: " in said
    assert "of the 160 images that it will be trained on are classified correctly." in said
    assert "Leakage over epochs" in said


def test_the_same_command_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = [*EPOCHS, "--no-learn", "--epochs", "0,1", "--out", str(tmp_path / "a")]
    with monkeypatch.context() as patch:
        patch.setattr("hideseek.audit.run.write_result", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        assert main(command) == 130
    assert main([*command, "--resume"]) == 0


def imprinted_file(folder: Path) -> str:
    """Write a model whose first layer a server has turned into an imprint."""
    shape = (1, 25, 25)
    with torch.random.fork_rng():
        network = build("relu-dense", shape, 2)
    layer = next(each for each in network.modules() if isinstance(each, torch.nn.Linear))
    normal, bins = NormalDist(0.0, 0.5), len(layer.bias)
    with torch.no_grad():
        layer.weight.fill_(1 / layer.in_features)
        layer.bias.copy_(-torch.tensor([normal.inv_cdf((number + 0.5) / bins) for number in range(bins)]))
    constants = Normalisation("channel", (0.5,), (0.25,))
    write_model(folder / "sent.safetensors", Trained(network, "relu-dense", shape, ("0", "1"), constants))
    return str(folder / "sent.safetensors")


def test_an_imprint_in_a_model_that_was_sent_is_an_attack_on_the_client(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = (*ASKED, "--model", imprinted_file(tmp_path), "--attacks", "imprint", "--no-learn")
    assert main([*asked, "--out", str(tmp_path / "a")]) == 0
    words = "Warning (undefended): The model that the server sent holds an imprint layer"
    assert words in " ".join(capsys.readouterr().out.split())
    page = (tmp_path / "a" / "report.html").read_text("utf-8")
    assert f'<p class="alarm">{words}' in page
    (scheme,) = read_result(tmp_path / "a").schemes
    assert scheme.attacks[0].outcome is Outcome.BROKEN
    assert scheme.attacks[0].remarks["imprint layer"]


OUT = ("--data", "faces", "--out", "never")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--epochs", "1,x"), "--epochs are whole numbers"),
        (("--epochs", "-1"), "--epochs are whole numbers"),
        (("--epochs", ","), "--epochs are whole numbers"),
        (("--train", "faces"), "name the --epochs too"),
        (("--epochs", "1", "--model", "late.safetensors"), "there is no model at late.safetensors"),
        (("--batch", "40", "--sample", "30"), "an update is of 40 images, and there are 30"),
        (("--batch", "8", "--local-steps", "4", "--sample", "30"), "an update is of 32 images, and there are 30"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    options: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", "updates", "--model", "linear", *OUT, *options]) == 1
    captured = capsys.readouterr().err
    assert captured.startswith("hideseek: ")
    assert captured.count("\n") == 1
    assert words in captured


def test_a_trained_model_has_its_epochs_behind_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = imprinted_file(tmp_path)
    assert main(["audit", "updates", *OUT, "--model", model, "--epochs", "0,1"]) == 1
    assert "name one architecture as --model, no file" in capsys.readouterr().err
