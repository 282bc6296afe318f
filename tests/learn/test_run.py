"""Learning where it must succeed, at chance where it must not, and to the same result however it is run."""

import json
import runpy
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch

import toys
from hideseek.chance import Randomness, secure, seeded
from hideseek.errors import BadInput
from hideseek.hide import InstaHide, Laplace, Mixup, SingularizedMixup
from hideseek.learn import Plain, Private, PrivateSGD, Reencoded, RunFolder, Source, accuracy, learn, predict
from hideseek.learn.sources.plain import ShuffledBatches
from hideseek.records import Normalisation, Samples
from hideseek.train.schedules import Cosine
from hideseek.train.training import SGD, Training
from hideseek.train.worker import Worker

QUICK = Training(6, 20, SGD(0.05), Cosine())
TRAIN, TEST = toys.patterns(300), toys.patterns(90, seed=9)


@pytest.mark.parametrize(
    "source",
    [
        Plain(TRAIN),
        Reencoded(TRAIN, Mixup()),
        Reencoded(TRAIN, InstaHide(k=2)),
        Reencoded(TRAIN, Laplace(alpha=0.3)),
        Reencoded(TRAIN, SingularizedMixup(tau=1.0)),
    ],
    ids=lambda source: str(source.scheme),
)
def test_hidden_patterns_are_learnt(source: Source[Any]) -> None:
    learnt = learn(source, "small-resnet", QUICK, test=TEST, chance=seeded(0))
    assert learnt.history[-1]["test_accuracy"] > 0.9
    assert accuracy(predict(learnt.trained, TEST), TEST.labels) == learnt.history[-1]["test_accuracy"]


def test_a_release_is_learnt_from() -> None:
    release, _ = InstaHide(k=2).hide(toys.patterns(600), None, seeded(1))
    learnt = learn(Plain.of(release), "small-resnet", QUICK, test=TEST, chance=seeded(0))
    assert learnt.history[-1]["test_accuracy"] > 0.9
    pool = toys.patterns(60, seed=3)
    hidden = predict(learnt.trained, TEST, encoder=release.scheme, pool=pool, times=20, chance=seeded(2))
    assert accuracy(hidden, TEST.labels) > 0.8


def test_noise_teaches_nothing() -> None:
    """On images that have nothing to do with their labels, accuracy is chance: within four deviations of 1/3."""
    noise = [toys.images(300, 1, 12, 12, classes=3, stored=False, seed=seed) for seed in (1, 2)]
    learnt = learn(Plain(noise[0]), "small-resnet", QUICK, test=noise[1], chance=seeded(0))
    assert abs(learnt.history[-1]["test_accuracy"] - 1 / 3) < 4 * (2 / 9 / 300) ** 0.5


def test_a_seed_repeats_a_training_and_no_seed_does_not() -> None:
    private = toys.patterns(60)
    runs = [
        learn(Reencoded(private, InstaHide()), "lenet", replace(QUICK, epochs=2), chance=chance).trained.network
        for chance in (seeded(1), seeded(1), secure(), secure())
    ]
    first, second, third, fourth = (torch.cat([p.flatten() for p in run.parameters()]) for run in runs)
    assert torch.equal(first, second)
    assert not torch.equal(third, fourth)


@pytest.mark.parametrize(
    "source",
    [
        Plain(toys.patterns(100)),
        Reencoded(toys.patterns(100), InstaHide()),
        Private(toys.patterns(100), PrivateSGD(noise=0.5)),
    ],
    ids=["plain", "reencoded", "private"],
)
def test_a_training_that_was_stopped_goes_on_to_the_same_result(tmp_path: Path, source: Source[Any]) -> None:
    training = replace(QUICK, epochs=2, batch=10)

    def run(run_folder: RunFolder | None, stop_after: int = -1) -> torch.Tensor:
        def stop(epoch: dict[str, float]) -> None:
            if epoch["epoch"] == stop_after:
                raise KeyboardInterrupt

        learnt = learn(source, "lenet", training, chance=seeded(4), run_folder=run_folder, on_epoch=stop)
        return torch.cat([parameter.flatten() for parameter in learnt.trained.network.parameters()])

    whole = run(None)
    with pytest.raises(KeyboardInterrupt):
        run(RunFolder(tmp_path, every=0), stop_after=1)
    with pytest.raises(BadInput, match=r"a training was begun in .*: resume it, or choose another folder"):
        run(RunFolder(tmp_path))
    resumed = run(RunFolder(tmp_path, resume=True))
    assert torch.equal(whole, resumed)
    lines = [json.loads(line) for line in RunFolder(tmp_path).metrics.read_text().splitlines()]
    assert [line["epoch"] for line in lines] == [1, 2]
    assert all("loss" in line and "accuracy" in line and "images_per_second" in line for line in lines)


def test_a_plain_training_without_a_seed_goes_on_in_its_order(tmp_path: Path) -> None:
    """The order of batches is no secret: it is kept with the checkpoint, so that an epoch sees every image once."""
    samples = Samples(torch.arange(100.0).view(100, 1, 1, 1).expand(100, 1, 12, 12).clone(), toys.patterns(100).labels)
    seen: list[float] = []

    @dataclass(frozen=True)
    class Watched(ShuffledBatches):
        stops_at: int

        def epoch(self, number: int, first: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
            for step, (images, labels) in enumerate(super().epoch(number, first), start=first):
                if step == self.stops_at:
                    raise KeyboardInterrupt
                seen.extend(images[:, 0, 0, 0].tolist())
                yield images, labels

    @dataclass(frozen=True)
    class Stopping(Plain):
        stops_at: int = -1

        def batches(self, training: Training, chance: Randomness, seed: int, worker: Worker) -> Watched:
            plain = super().batches(training, chance, seed, worker)
            return Watched(plain.samples, plain.batch, plain.orders, self.stops_at)

    training = replace(QUICK, epochs=1, batch=10)
    with pytest.raises(KeyboardInterrupt):
        learn(Stopping(samples, stops_at=4), "classifier", training, run_folder=RunFolder(tmp_path, every=0))
    learn(Stopping(samples), "classifier", training, run_folder=RunFolder(tmp_path, resume=True))
    assert sorted(seen) == sorted(samples.images[:, 0, 0, 0].tolist())


def test_what_cannot_be_learnt_from_is_refused() -> None:
    private = toys.patterns(60)
    release, _ = Mixup().hide(private, None, secure())
    for source in (Plain(private), Plain.of(release), Reencoded(private, Mixup()), Private(private, PrivateSGD())):
        with pytest.raises(BadInput, match="fewer than a batch"):
            learn(source, "lenet", replace(QUICK, batch=61))
    with pytest.raises(BadInput, match="at least two images at a time: raise the batch size"):
        learn(Plain(private), "classifier", replace(QUICK, batch=1))
    with pytest.raises(BadInput, match="one class"):
        learn(Plain(Samples(private.images, torch.eye(3)[torch.zeros(60, dtype=torch.int64)])), "lenet", QUICK)
    with pytest.raises(BadInput, match="no labels"):
        learn(Plain(Samples(private.images, torch.empty(60, 0))), "lenet", QUICK)
    with pytest.raises(BadInput, match="there is no model 'lenett': did you mean lenet"):
        learn(Plain(private), "lenett", QUICK)


@pytest.mark.parametrize(
    ("other", "differing"),
    [
        (Plain(toys.patterns(40)), "scheme"),
        (Reencoded(toys.patterns(40), InstaHide(k=2)), "scheme"),
        (Reencoded(toys.patterns(40, seed=1), InstaHide()), "images"),
        (Private(toys.patterns(40), PrivateSGD(noise=1.0)), "privacy, scheme"),
    ],
)
def test_a_checkpoint_is_not_resumed_on_another_source(tmp_path: Path, other: Source[Any], differing: str) -> None:
    training, folder = replace(QUICK, epochs=1), RunFolder(tmp_path, resume=True)
    learn(Reencoded(toys.patterns(40), InstaHide()), "lenet", training, chance=seeded(1), run_folder=folder)
    with pytest.raises(BadInput, match=rf"other settings \({differing}\)"):
        learn(other, "lenet", training, chance=seeded(1), run_folder=folder)


def test_test_images_must_fit() -> None:
    private = replace(toys.patterns(60), classes=("a", "b", "c"))
    for test, message in (
        (toys.patterns(30, channels=3), "with 1 channel, not of 12×12 with 3"),
        (toys.patterns(30, classes=4), "3 classes apart"),
        (replace(TEST, classes=("b", "a", "c")), "by the same names"),
        (replace(TEST, normalisation=Normalisation("image")), "normalised with the constants"),
        (replace(TEST, labels=torch.empty(90, 0)), "no labelled images"),
    ):
        with pytest.raises(BadInput, match=message):
            learn(Plain(private), "lenet", QUICK, test=test)


def test_two_processes_train_the_model_that_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes half of every batch; their gradients are averaged (gloo, on the processor)."""
    script = Path(__file__).with_name("two_processes.py")
    monkeypatch.setattr(sys, "argv", [str(script), str(tmp_path / "one")])
    runpy.run_path(str(script), run_name="__main__")
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    double = subprocess.run(
        [sys.executable, *launch, str(script), str(tmp_path / "two")], capture_output=True, text=True, check=False
    )
    assert double.returncode == 0, double.stderr
    from hideseek.train.trained import read_model

    for kind in ("vanilla", "instahide"):
        one, two = (read_model(tmp_path / number / kind)[0].network for number in ("one", "two"))
        start = read_model(tmp_path / "one" / "untrained")[0].network
        for mine, theirs, before in zip(one.parameters(), two.parameters(), start.parameters(), strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)
            assert (mine - before).abs().max() > 1e-3
    assert not (tmp_path / "two" / "stopped").exists()
    whole, resumed = (read_model(tmp_path / "two" / kind)[0].network for kind in ("whole", "resumed"))
    assert all(torch.equal(one, two) for one, two in zip(whole.parameters(), resumed.parameters(), strict=True))
