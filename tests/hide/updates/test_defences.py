"""Each defence of updates against a few lines of NumPy."""

import math

import numpy as np
import pytest
import torch
from scipy.optimize import brentq
from scipy.stats import norm

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide.updates import GradientNoise, GradientPruning, Quantised, Sign

UPDATE = {"weight": seeded(1).normals(40, 25), "bias": seeded(2).normals(40) * 10}


@pytest.mark.parametrize("p", [0.0, 0.5, 0.9, 0.999])
def test_pruning_keeps_the_largest(p: float) -> None:
    for name, pruned in GradientPruning(p).apply(UPDATE, seeded(3)).items():
        before, after = UPDATE[name].numpy().ravel(), pruned.numpy().ravel()
        kept = max(1, len(before) - math.floor(p * len(before)))
        largest = np.argsort(-np.abs(before))[:kept]
        wanted = np.zeros_like(before)
        wanted[largest] = before[largest]
        assert np.array_equal(after, wanted)


def test_noise_is_added_to_what_was_clipped() -> None:
    whole = torch.cat([tensor.flatten() for tensor in UPDATE.values()])
    clipped = GradientNoise(clip=2.0, noise=0.0).apply(UPDATE, seeded(3))
    assert np.allclose(clipped["bias"], UPDATE["bias"] * 2 / whole.norm())
    noisy = GradientNoise(clip=2.0, noise=3.0).apply(UPDATE, seeded(3))
    added = torch.cat([(noisy[name] - clipped[name]).flatten() for name in UPDATE]).numpy()
    assert abs(added.std() - 6) < 6 * 4 / math.sqrt(2 * len(added))  # four standard errors
    small = {"weight": UPDATE["weight"] * 1e-3}
    assert torch.equal(GradientNoise(noise=0.0).apply(small, seeded(3))["weight"], small["weight"])


def test_epsilon_is_near_the_exact_one() -> None:
    defence, rounds, delta = GradientNoise(noise=4.0), 3, 1e-5
    mu = math.sqrt(rounds) / 4

    def excess(epsilon: float) -> float:  # of δ(ε) of a Gaussian mechanism (Balle and Wang 2018)
        return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)) - delta

    exact = brentq(excess, 0, 20)
    assert exact <= defence.epsilon(rounds) <= 1.3 * exact  # Rényi accounting is an upper bound
    assert GradientNoise(noise=0.0).epsilon(1) == math.inf
    assert GradientNoise(noise=0.01).epsilon(1) > 1000  # and says so without a warning


def test_signs() -> None:
    found = Sign().apply(UPDATE, seeded(3))["weight"].numpy()
    before = UPDATE["weight"].numpy()
    assert np.allclose(found, np.sign(before) * np.abs(before).mean())


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_levels_are_few_and_right_on_average(bits: int) -> None:
    tensor = torch.linspace(-1, 1, 101)
    chance, step = seeded(3), 1 / (2 ** (bits - 1) - 1)
    drawn = torch.stack([Quantised(bits).apply({"w": tensor}, chance)["w"] for _ in range(400)])
    assert torch.allclose(drawn / step, (drawn / step).round(), atol=1e-4)
    assert len((drawn / step).round().unique()) <= 2**bits - 1
    assert (drawn.mean(0) - tensor).abs().max() < 5 * step / math.sqrt(4 * 400)  # five standard errors of ½ a step
    assert torch.equal(Quantised().apply({"w": torch.zeros(3)}, chance)["w"], torch.zeros(3))


@pytest.mark.parametrize(
    "make",
    [
        lambda: GradientPruning(1.0),
        lambda: GradientPruning(-0.1),
        lambda: GradientNoise(clip=0),
        lambda: GradientNoise(noise=-1),
        lambda: Quantised(1),
    ],
)
def test_settings_that_cannot_be(make: object) -> None:
    with pytest.raises(BadInput):
        make()  # type: ignore[operator]
