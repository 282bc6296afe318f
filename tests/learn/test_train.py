"""Learning where it must succeed, at chance where it must not, and to the same result however it is run."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import toys
from hideseek.chance import secure, seeded
from hideseek.errors import BadInput
from hideseek.hide import InstaHide, Laplace, Mixup, SingularizedMixup
from hideseek.learn import PrivateSGD, RunFolder, accuracy, learn, predict, train
from hideseek.learn.batches import Shuffled
from hideseek.learn.private_sgd import NoiseSource, Sampled
from hideseek.learn.train import METRICS
from hideseek.records import MixingEncoder, Normalisation, Samples
from hideseek.train.training import SGD, Cosine, Training

QUICK = Training(6, 20, SGD(0.05), Cosine())
TEST = toys.patterns(90, seed=9)


@pytest.mark.parametrize(
    "encoder", [None, Mixup(), InstaHide(k=2), Laplace(alpha=0.3), SingularizedMixup(tau=1.0)], ids=repr
)
def test_hidden_patterns_are_learnt(encoder: MixingEncoder | None) -> None:
    learnt = learn(toys.patterns(300), "small-resnet", QUICK, encoder=encoder, test=TEST, chance=seeded(0))
    assert learnt.history[-1]["test_accuracy"] > 0.9
    assert accuracy(predict(learnt.trained, TEST), TEST.labels) == learnt.history[-1]["test_accuracy"]


def test_a_release_is_learnt_from() -> None:
    release, _ = InstaHide(k=2).hide(toys.patterns(600), None, secure())
    learnt = learn(release, "small-resnet", QUICK, test=TEST, chance=seeded(0))
    assert learnt.history[-1]["test_accuracy"] > 0.9
    hidden = predict(learnt.trained, TEST, encoder=release.scheme, pool=toys.patterns(60, seed=3), times=20)
    assert accuracy(hidden, TEST.labels) > 0.8


def test_noise_teaches_nothing() -> None:
    """On images that have nothing to do with their labels, accuracy is chance: within four deviations of 1/3."""
    noise = [toys.images(300, 1, 12, 12, classes=3, stored=False, seed=seed) for seed in (1, 2)]
    learnt = learn(noise[0], "small-resnet", QUICK, test=noise[1], chance=seeded(0))
    assert abs(learnt.history[-1]["test_accuracy"] - 1 / 3) < 4 * (2 / 9 / 300) ** 0.5


def test_a_seed_repeats_a_training_and_no_seed_does_not() -> None:
    private = toys.patterns(60)
    runs = [
        learn(private, "lenet", replace(QUICK, epochs=2), encoder=InstaHide(), chance=chance).trained.network
        for chance in (seeded(1), seeded(1), secure(), secure())
    ]
    first, second, third, fourth = (torch.cat([p.flatten() for p in run.parameters()]) for run in runs)
    assert torch.equal(first, second)
    assert not torch.equal(third, fourth)


@pytest.mark.parametrize("method", ["vanilla", "instahide", "dp-sgd"])
def test_a_training_that_was_stopped_goes_on_to_the_same_result(tmp_path: Path, method: str) -> None:
    private = toys.patterns(100)
    training = replace(QUICK, epochs=2, batch=10)
    encoder = InstaHide() if method == "instahide" else None
    privacy = PrivateSGD(noise=0.5) if method == "dp-sgd" else None

    def run(run_folder: RunFolder | None, stop_after: int = -1) -> torch.Tensor:
        def stop(epoch: dict[str, float]) -> None:
            if epoch["epoch"] == stop_after:
                raise KeyboardInterrupt

        learnt = learn(
            private,
            "lenet",
            training,
            encoder=encoder,
            privacy=privacy,
            chance=seeded(4),
            run_folder=run_folder,
            on_epoch=stop,
        )
        return torch.cat([parameter.flatten() for parameter in learnt.trained.network.parameters()])

    whole = run(None)
    with pytest.raises(KeyboardInterrupt):
        run(RunFolder(tmp_path, every=0), stop_after=1)
    with pytest.raises(BadInput, match="go on with --resume"):
        run(RunFolder(tmp_path))
    resumed = run(RunFolder(tmp_path, resume=True))
    assert torch.equal(whole, resumed)
    lines = [json.loads(line) for line in (tmp_path / METRICS).read_text().splitlines()]
    assert [line["epoch"] for line in lines] == [1, 2]
    assert all("loss" in line and "accuracy" in line and "images_per_second" in line for line in lines)


def test_a_plain_training_without_a_seed_goes_on_in_its_order(tmp_path: Path) -> None:
    """The order of batches is no secret: it is kept with the checkpoint, so that an epoch sees every image once."""
    samples = Samples(torch.arange(100.0).view(100, 1, 1, 1).expand(100, 1, 12, 12).clone(), toys.patterns(100).labels)
    seen: list[float] = []
    dies = False

    class Watched(Shuffled):
        def epoch(self, number: int, first: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
            for step, (images, labels) in enumerate(super().epoch(number, first), start=first):
                if dies and step == 4:
                    raise KeyboardInterrupt
                seen.extend(images[:, 0, 0, 0].tolist())
                yield images, labels

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "Shuffled", Watched)
        dies = True
        with pytest.raises(KeyboardInterrupt):
            learn(samples, "classifier", replace(QUICK, epochs=1, batch=10), run_folder=RunFolder(tmp_path, every=0))
        dies = False
        learn(samples, "classifier", replace(QUICK, epochs=1, batch=10), run_folder=RunFolder(tmp_path, True))
    assert sorted(seen) == sorted(samples.images[:, 0, 0, 0].tolist())


def test_dp_sgd_spends_what_it_was_allowed() -> None:
    training = replace(QUICK, epochs=2)
    learnt = learn(toys.patterns(200), "lenet", training, privacy=PrivateSGD(epsilon=4.0), chance=secure())
    assert learnt.epsilon is not None
    assert 3.5 < learnt.epsilon <= 4.0
    assert learnt.history[0]["epsilon"] < learnt.history[1]["epsilon"] == pytest.approx(learnt.epsilon)


def test_dp_sgd_learns_with_little_noise_and_not_with_much() -> None:
    training = Training(8, 20, SGD(0.2), Cosine())
    accuracies = [
        learn(
            toys.patterns(300), "convnet", training, privacy=PrivateSGD(noise=noise), test=TEST, chance=seeded(0)
        ).history[-1]["test_accuracy"]
        for noise in (0.05, 100.0)
    ]
    assert accuracies[0] > 0.9
    assert accuracies[1] < 0.7


def test_dp_sgd_clips_and_adds_the_noise_that_it_says() -> None:
    """One step on labels of no mass is noise alone, of deviation rate · σ · C / batch; 5 % is ten deviations."""
    private = replace(toys.patterns(200), labels=1e-12 * toys.patterns(200).labels)
    training = Training(1, 200, SGD(1.0, 0.0, 0.0))
    moved = [_change(private, training, PrivateSGD(noise=2.0, clip=0.5), seed) for seed in (1, 2)]
    for change in moved:
        assert float(change.std()) == pytest.approx(2.0 * 0.5 / 200, rel=0.05)
    assert abs(float(torch.corrcoef(torch.stack(moved))[0, 1])) < 0.03  # other noise every time


def test_dp_sgd_clips_every_image() -> None:
    """With next to no noise, one step moves the weights by at most rate · C, however large the gradients are."""
    private = replace(toys.patterns(200), labels=1e4 * toys.patterns(200).labels)
    change = _change(private, Training(1, 200, SGD(1.0, 0.0, 0.0)), PrivateSGD(noise=1e-6, clip=0.01), 1)
    sampled = 1.25  # a Poisson batch may be larger than the one that it is divided by
    assert 0 < float(change.norm()) < 0.01 * sampled


def _change(private: Samples, training: Training, privacy: PrivateSGD, seed: int) -> torch.Tensor:
    """How one training moves the weights of one network."""
    weights = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "one_seed", lambda chance, place: 7)  # the same initial weights
        for rate in (training.optimiser.rate, 1e-30):
            how = replace(training, optimiser=replace(training.optimiser, rate=rate))
            network = learn(private, "lenet", how, privacy=privacy, chance=seeded(seed)).trained.network
            weights.append(torch.cat([parameter.detach().flatten() for parameter in network.parameters()]))
    return weights[0] - weights[1]


def test_dp_sgd_samples_by_poisson() -> None:
    """400 batches of 20 expected out of 200: mean within four deviations (0.21), and the variance is binomial."""
    noise = NoiseSource(seeded(0))
    batches = Sampled(toys.patterns(200), 20, tuple(seeded(0).spawn(40)), noise)
    streams, sizes = [], []
    for epoch in range(40):
        for images, _ in batches.epoch(epoch, 0):
            sizes.append(len(images))
            streams.append(noise.stream.key)
    assert len(set(streams)) == 400  # no step shares its noise with another
    assert abs(sum(sizes) / 400 - 20) < 0.85
    assert float(torch.tensor(sizes).double().var()) == pytest.approx(18, rel=0.3)


@pytest.mark.parametrize(
    ("privacy", "message"),
    [
        (PrivateSGD(epsilon=1e-8), "no noise is enough"),
        (PrivateSGD(noise=1e-200), "too little"),
        (PrivateSGD(delta=0.5), "smaller than 1 / images"),
    ],
)
def test_privacy_that_cannot_be_is_refused(privacy: PrivateSGD, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        learn(toys.patterns(60), "lenet", replace(QUICK, epochs=1), privacy=privacy)


def test_dp_sgd_wants_no_batch_norm() -> None:
    with pytest.raises(BadInput, match="without BatchNorm"):
        learn(toys.patterns(60), "small-resnet", QUICK, privacy=PrivateSGD())


def test_dp_sgd_without_opacus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opacus", None)
    with pytest.raises(BadInput, match=r"pip install 'hideseek\[dp\]'"):
        learn(toys.patterns(60), "lenet", QUICK, privacy=PrivateSGD())


@pytest.mark.parametrize("wrong", [{"epsilon": 0.0}, {"delta": 1.0}, {"clip": -1.0}, {"epsilon": None}])
def test_impossible_privacy_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(BadInput):
        PrivateSGD(**wrong)


def test_what_cannot_be_learnt_from_is_refused() -> None:
    private = toys.patterns(60)
    release, _ = Mixup().hide(private, None, secure())
    for privacy in (None, PrivateSGD()):
        with pytest.raises(BadInput, match="fewer than a batch"):
            learn(private, "lenet", replace(QUICK, batch=61), privacy=privacy)
    with pytest.raises(BadInput, match="at least two images at a time"):
        learn(private, "classifier", replace(QUICK, batch=1))
    with pytest.raises(BadInput, match="fewer than a batch"):
        learn(release, "lenet", replace(QUICK, batch=61))
    with pytest.raises(BadInput, match="one class"):
        learn(Samples(private.images, torch.eye(3)[torch.zeros(60, dtype=torch.int64)]), "lenet", QUICK)
    with pytest.raises(BadInput, match="hidden already"):
        learn(release, "lenet", QUICK, encoder=Mixup())
    with pytest.raises(BadInput, match="either a scheme or DP-SGD"):
        learn(private, "lenet", QUICK, encoder=Mixup(), privacy=PrivateSGD())
    with pytest.raises(BadInput, match="there is no model 'lenett': did you mean lenet"):
        learn(private, "lenett", QUICK)


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
            learn(private, "lenet", QUICK, test=test)


def test_two_processes_train_the_model_that_one_does(tmp_path: Path) -> None:
    """Each takes half of every batch; their gradients are averaged (gloo, on the processor)."""
    script = Path(__file__).with_name("two_processes.py")
    single = subprocess.run(
        [sys.executable, "-W", "error", str(script), str(tmp_path / "one")], capture_output=True, text=True, check=False
    )
    assert single.returncode == 0, single.stderr
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    double = subprocess.run(
        [sys.executable, *launch, str(script), str(tmp_path / "two")], capture_output=True, text=True, check=False
    )
    assert double.returncode == 0, double.stderr
    from hideseek.train.trained import read_model

    for kind in ("vanilla", "instahide"):
        one, two = (read_model(tmp_path / number / kind)[0].network for number in ("one", "two"))
        start = read_model(tmp_path / "one" / "why_no_accuracy")[0].network
        for mine, theirs, before in zip(one.parameters(), two.parameters(), start.parameters(), strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)
            assert (mine - before).abs().max() > 1e-3
    assert not (tmp_path / "two" / "stopped").exists()
    whole, resumed = (read_model(tmp_path / "two" / kind)[0].network for kind in ("whole", "resumed"))
    assert all(torch.equal(one, two) for one, two in zip(whole.parameters(), resumed.parameters(), strict=True))
