"""DP-SGD: its noise, its clipping, its sampling, and the ε that it spends."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

import toys
from hideseek.chance import Randomness, secure, seeded
from hideseek.chance.gaussian_noise import gaussian_noise
from hideseek.errors import BadInput
from hideseek.learn import Private, PrivateSGD, learn, private_sgd, run
from hideseek.learn.private_sgd import NoiseSource
from hideseek.learn.sources.private import PoissonBatches
from hideseek.records import Samples
from hideseek.train.schedules import Cosine
from hideseek.train.training import SGD, Training

QUICK = Training(6, 20, SGD(0.05), Cosine())
TEST = toys.patterns(90, seed=9)


def test_noise_is_the_sum_of_four_draws_after_one_that_is_thrown_away() -> None:
    reference = seeded(3)
    reference.normals(1)
    four = np.stack([reference.normals(20, 30).numpy().astype(np.float64) for _ in range(4)])
    np.testing.assert_allclose(gaussian_noise(seeded(3), 20, 30).numpy(), four.sum(0) / 2, atol=1e-6)


def test_noise_is_standard_normal() -> None:
    """Of a million draws: mean, variance and fourth moment within five deviations (1e-3, √2·1e-3, √96·1e-3)."""
    drawn = gaussian_noise(seeded(1), 1000, 1000).double()
    assert abs(float(drawn.mean())) < 5e-3
    assert abs(float(drawn.square().mean()) - 1) < 5 * 2**0.5 * 1e-3
    assert abs(float(drawn.pow(4).mean()) - 3) < 5 * 96**0.5 * 1e-3


def test_dp_sgd_adds_this_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every parameter gets noise of its shape from the step's own stream, times σ · C, over the expected batch."""
    shapes: list[tuple[int, ...]] = []

    def ones(stream: Randomness, *shape: int) -> torch.Tensor:
        shapes.append(shape)
        return torch.ones(shape)

    monkeypatch.setattr(private_sgd, "gaussian_noise", ones)
    private = replace(toys.patterns(200), labels=1e-12 * toys.patterns(200).labels)
    moved = _change(private, Training(1, 200, SGD(1.0, 0.0, 0.0)), PrivateSGD(noise=2.0, clip=0.5), 1)
    torch.testing.assert_close(moved, torch.full_like(moved, -2.0 * 0.5 / 200), rtol=1e-3, atol=0)
    assert sum(int(np.prod(shape)) for shape in shapes) == 2 * len(moved)  # of two trainings of one step each


def test_dp_sgd_spends_what_it_was_allowed() -> None:
    training = replace(QUICK, epochs=2)
    learnt = learn(Private(toys.patterns(200), PrivateSGD(epsilon=4.0)), "lenet", training, chance=secure())
    assert learnt.epsilon is not None
    assert 3.5 < learnt.epsilon <= 4.0
    assert learnt.history[0]["epsilon"] < learnt.history[1]["epsilon"] == pytest.approx(learnt.epsilon)


def test_dp_sgd_learns_with_little_noise_and_not_with_much() -> None:
    training = Training(8, 20, SGD(0.2), Cosine())
    accuracies = [
        learn(
            Private(toys.patterns(300), PrivateSGD(noise=noise)), "lenet", training, test=TEST, chance=seeded(0)
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
        patch.setattr(run, "shared_seed", lambda chance, worker: 7)  # the same initial weights
        for rate in (training.optimiser.rate, 1e-30):
            how = replace(training, optimiser=replace(training.optimiser, rate=rate))
            network = learn(Private(private, privacy), "lenet", how, chance=seeded(seed)).trained.network
            weights.append(torch.cat([parameter.detach().flatten() for parameter in network.parameters()]))
    return weights[0] - weights[1]


def test_dp_sgd_samples_by_poisson() -> None:
    """400 batches of 20 expected out of 200: mean within four deviations (0.21), and the variance is binomial."""
    noise = NoiseSource(seeded(0))
    batches = PoissonBatches(toys.patterns(200), 20, tuple(seeded(0).spawn(40)), noise)
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
        learn(Private(toys.patterns(60), privacy), "lenet", replace(QUICK, epochs=1))


def test_dp_sgd_wants_no_batch_norm() -> None:
    with pytest.raises(BadInput, match="without BatchNorm"):
        learn(Private(toys.patterns(60), PrivateSGD()), "small-resnet", QUICK)


def test_dp_sgd_without_opacus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opacus", None)
    with pytest.raises(BadInput, match=r"pip install 'hideseek\[dp\]'"):
        learn(Private(toys.patterns(60), PrivateSGD()), "lenet", QUICK)


@pytest.mark.parametrize("wrong", [{"epsilon": 0.0}, {"delta": 1.0}, {"clip": -1.0}, {"epsilon": None}])
def test_impossible_privacy_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(BadInput):
        PrivateSGD(**wrong)
