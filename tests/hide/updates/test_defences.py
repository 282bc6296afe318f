"""Each defence of updates against a few lines of NumPy."""

import math

import numpy as np
import pytest
import torch
from scipy.optimize import brentq
from scipy.stats import norm
from torch import Tensor

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide.updates import GradientNoise, GradientPruning, Quantised, ShareUpdates, Sign
from hideseek.records.allowed_update import AllowedUpdate
from hideseek.records.defence import Defence

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


def allowed(*defences: Defence) -> AllowedUpdate:
    """What is told of UPDATE after some defences."""
    return ShareUpdates("lenet", defences=defences).allowed(sent(*defences))


def sent(*defences: Defence) -> dict[str, Tensor]:
    update = UPDATE
    for defence in defences:
        update = defence.apply(update, seeded(3))
    return update


CHAINS: list[tuple[Defence, ...]] = [
    (),
    (GradientPruning(0.9),),
    (Sign(),),
    (Quantised(4),),
    (GradientPruning(0.9), Quantised(4)),
    (GradientPruning(0.5), Sign()),
    (Quantised(3), GradientPruning(0.5)),
]


@pytest.mark.parametrize("chain", CHAINS)
def test_what_was_there_before_is_allowed(chain: tuple[Defence, ...]) -> None:
    told = allowed(*chain)
    for name, before in UPDATE.items():
        slack = 1e-5 * float(before.abs().max())
        assert bool((told.low[name] <= before + slack).all())
        assert bool((told.high[name] >= before - slack).all())


def test_pruned_entries_are_below_the_smallest_that_is_left() -> None:
    told = allowed(GradientPruning(0.9))
    for name, after in sent(GradientPruning(0.9)).items():
        array = after.numpy()
        bound = np.abs(array[array != 0]).min()
        assert np.array_equal(told.high[name].numpy(), np.where(array == 0, bound, array))
        assert np.array_equal(told.low[name].numpy(), np.where(array == 0, -bound, array))
    assert not told.scaled
    assert told.noise == 0


def test_signs_tell_half_lines_and_no_scale() -> None:
    told, before = allowed(Sign()), UPDATE["weight"].numpy()
    assert told.scaled
    assert np.array_equal(told.high["weight"].numpy() == np.inf, before > 0)
    assert np.array_equal(told.low["weight"].numpy() == -np.inf, before < 0)
    assert np.array_equal(told.low["weight"].numpy() > 0, before > 0)


def test_levels_tell_cells() -> None:
    told, after = allowed(Quantised(4)), sent(Quantised(4))["weight"].numpy()
    step = np.abs(UPDATE["weight"].numpy()).max() / 7
    assert np.allclose(told.low["weight"], after - step)
    assert np.allclose(told.high["weight"], after + step)
    assert told.inside == 1


def test_clipping_is_told_by_the_norm() -> None:
    norm_before = float(torch.cat([each.flatten() for each in UPDATE.values()]).norm())
    told = [allowed(GradientNoise(clip, 0.01)) for clip in (norm_before / 10, norm_before * 10)]
    assert [each.scaled for each in told] == [True, False]
    assert [each.noise for each in told] == pytest.approx([norm_before / 1000, norm_before / 10])
    assert all(each.points for each in told)
    assert allowed(GradientPruning(0.9), GradientNoise(norm_before, 0.1)).points  # noise hides what was pruned
