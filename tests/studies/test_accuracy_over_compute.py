"""The study of accuracy over compute: how compute is counted, how the gap is fitted, and what a training leaves."""

from pathlib import Path

import accuracy_over_compute as study
import numpy as np
import pytest
from accuracy_tables import draw, fitted, gaps, missing, render
from ledger import Ledger
from torch import nn

import toys
from hideseek.models import build
from hideseek.train.schedules import Cosine
from hideseek.train.training import SGD, Muon, Training

CPU = study.SCALES["cpu"]


def test_multiply_adds_by_hand() -> None:
    network = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.Flatten(), nn.Linear(4 * 5 * 6, 7))
    assert study.multiply_adds(network, (3, 5, 6)) == 4 * 3 * 9 * 5 * 6 + 4 * 5 * 6 * 7
    assert study.multiply_adds(build("small-resnet", (3, 32, 32), 10), (3, 32, 32)) == 5_174_208


def test_the_optimiser_is_counted_and_todays_training_takes_no_more_than_the_earlier() -> None:
    images = ((3, 32, 32), 1000, 10)
    (_, earlier), (_, today) = (CPU.recipes[name] for name in ("earlier", "today"))
    works = {name: study.work(model, *images, training) for name, (model, training) in CPU.recipes.items()}
    earlier_work, today_work = works["earlier"], works["today"]
    assert 0.95 * earlier_work < today_work <= earlier_work
    assert (earlier.epochs, earlier.batch) == (today.epochs, today.batch)
    plain = study.work("lenet", *images, Training(2, 100, SGD()))
    kernels = [(12, 75), (12, 300), (12, 300)]
    products = sum(2 * few**2 * many + 17 * few**3 for few, many in kernels)
    assert study.work("lenet", *images, Training(2, 100, Muon())) - plain == 20 * products
    assert plain == 20 * 3 * 100 * study.multiply_adds(build("lenet", (3, 32, 32), 10), (3, 32, 32))


def test_a_power_law_is_found_again() -> None:
    factors = np.array([1.0, 3.0, 9.0, 27.0])
    assert fitted(factors.tolist(), (20 * factors**-0.4).tolist()) == pytest.approx((20, 0.4))
    noisy = 20 * factors**-0.4 * np.array([1.1, 0.9, 1.05, 1.0])
    wanted = np.linalg.lstsq(np.stack([np.ones(4), -np.log(factors)], 1), np.log(noisy), rcond=None)[0]
    assert fitted(factors.tolist(), noisy.tolist()) == pytest.approx((np.exp(wanted[0]), wanted[1]))
    assert fitted([1, 3], [5, -1]) is None


def test_every_training_has_a_name_of_its_own_and_those_left_are_named(tmp_path: Path) -> None:
    trials = list(study.trials(CPU))
    names = [each.name for each in trials]
    assert len(set(names)) == len(names)
    assert {each.item for each in trials} == {"recipes", "choice", "augmentation", "1x", "3x", "9x", "27x"}
    assert [each.name for each in study.chosen(trials, ["cifar10: inside, k=4, 3x"])] == [
        "cifar10: inside, k=4, 3x, seed 0"
    ]
    said = missing(Ledger(tmp_path / "none.json", ""), trials)
    assert all(f"- {name}" in said for name in names)


def test_a_training_is_measured_drawn_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "images", lambda _: (toys.patterns(96), toys.patterns(30, seed=9)))
    monkeypatch.setattr(study, "cache_folder", lambda: tmp_path / "cache")
    training = Training(2, 16, Muon(), Cosine(0.2))
    ledger = Ledger(tmp_path / "study.json", "a study")
    points = [
        study.trial(f"{factor}x", "cifar10", f"{way}, {factor}x", way, model, training, 0)
        for factor in (1, 3)
        for way, model in (("vanilla", "small-resnet"), ("inside, k=4", "small-resnet-masked"))
    ]
    ledger.measure(points[:3])
    found = ledger.results("cifar10: inside, k=4, 1x, seed 0")
    assert found is not None
    assert found["accuracy"] > 100 / 3 + 10
    assert {"loss", "teramultiplyadds", "hidden accuracy", "weighted accuracy"} < set(found)
    assert not list((tmp_path / "cache" / "studies").iterdir())
    vanilla = ledger.results("cifar10: vanilla, 1x, seed 0")
    assert vanilla is not None
    assert gaps(ledger, "cifar10", "inside, k=4", "accuracy") == {1: vanilla["accuracy"] - found["accuracy"]}
    assert draw(ledger, tmp_path / "picture.png")
    render(ledger, ledger.path, points, {"earlier": 2e12, "today": 1.5e12})
    page = ledger.path.with_suffix(".md").read_text()
    assert "| earlier | 48.6 | 40.9 | – | 1 | 2.00 |" in page  # of Table 2
    assert "1 of 4 trainings are not measured yet" in page
    assert f"| inside, k=4 | {found['accuracy']:.1f} | – | – | – |" in page
