"""`hideseek choose`: a table, a picture, figures, and one clear sentence where something is wrong."""

import json
from pathlib import Path

import pytest
from PIL import Image

from hideseek.cli import main

QUICK = ("choose", "--data", "faces", "--features", "none", "--delta", "1e-3", "--seed", "1")


def test_it_says_which_way_to_take(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "choice"
    ways = "noisy-means,noisy-least-squares,gaussian-mixup"
    assert main([*QUICK, "--epsilon", "3", "30", "--ways", ways, "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "At ε = 3 (δ = 0.001) take noisy-means" in said
    assert "At ε = 30 (δ = 0.001) take noisy-means" in said
    assert "it is for studies, and protects nothing" in said
    found = json.loads((out / "choice.json").read_text())
    assert [(each["way"], each["epsilon"]) for each in found["measured"]] == [
        (way, epsilon) for epsilon in (3.0, 30.0) for way in ways.split(",")
    ]
    means = {each["way"]: each["mean"] for each in found["measured"] if each["epsilon"] == 30.0}
    assert means["noisy-means"] > found["largest_class"] + 0.2
    with Image.open(out / "choice.png") as picture:
        assert picture.size[0] > 400


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--epsilon", "0"), "ε must be positive"),
        (("--epsilon", "1", "--ways", "magic"), "there is no way 'magic'"),
        (("--epsilon", "1", "--ways", "instahide-inside"), "none of these ways keeps to an ε"),
        (("--epsilon", "1", "--repeats", "0"), "once or more"),
        (("--epsilon", "1", "--delta", "0.5"), "smaller than 1 / images"),
        (("--epsilon", "1", "--test", "mnist?split=test"), ""),
    ],
)
def test_bad_input(options: tuple[str, ...], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "choice"
    assert main([*QUICK, *options, "--out", str(out)]) != 0
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert not out.exists()


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["choose", "--help"])
    assert end.value.code == 0
    assert "hideseek choose --data faces" in capsys.readouterr().out
