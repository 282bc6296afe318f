"""What guesses refute: against sums over all outcomes, and against mechanisms whose ε is known."""

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
import torch

from hideseek.errors import BadInput
from hideseek.score.refuted_epsilon import (
    gaussian_epsilon,
    one_run_p_value,
    refuted_by_guesses,
    refuted_epsilon,
    refuted_mu,
)


def law(guesses: int, epsilon: float) -> list[float]:
    """Probabilities of 0, 1, … right guesses."""
    right = 1 / (1 + math.exp(-epsilon))
    return [math.comb(guesses, w) * right**w * (1 - right) ** (guesses - w) for w in range(guesses + 1)]


@pytest.mark.parametrize("epsilon", [0.0, 0.7, 3.0])
@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_against_sums_over_all_outcomes(epsilon: float, delta: float) -> None:
    candidates, guesses = 20, 9
    chances = law(guesses, epsilon)
    for right in range(guesses + 1):
        beta = sum(chances[right:])
        alpha = max((sum(chances[max(0, right - i) : right]) / i for i in range(1, candidates + 1)), default=0.0)
        wanted = min(1.0, beta + 2 * candidates * delta * alpha)
        assert one_run_p_value(candidates, guesses, right, epsilon, delta) == pytest.approx(wanted, abs=1e-12)


def test_more_right_guesses_refute_more_and_delta_less() -> None:
    found = [refuted_by_guesses(200, 100, right, 0.0, 0.05) for right in (50, 70, 90, 100)]
    assert found[0] == 0
    assert all(one < other for one, other in pairwise(found))
    at = refuted_by_guesses(200, 100, 90, 0.0, 0.05)
    assert one_run_p_value(200, 100, 90, at, 0.0) == pytest.approx(0.05)
    assert refuted_by_guesses(200, 100, 90, 1e-3, 0.05) < at


def randomised_response(
    count: int, epsilon: float, generator: np.random.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """Every bit is told rightly with e^ε to 1: exactly ε-private."""
    members = generator.random(count) < 0.5
    kept = generator.random(count) < 1 / (1 + math.exp(-epsilon))
    return torch.from_numpy(np.where(kept, members, ~members).astype(float)), torch.from_numpy(members)


def gaussians(count: int, mu: float, generator: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    members = generator.random(count) < 0.5
    return torch.from_numpy(generator.standard_normal(count) + mu * members), torch.from_numpy(members)


def test_a_true_promise_is_seldom_refuted() -> None:
    """At 95 % confidence, of 60 audits 3 may; the promise of randomised response is tight. ε itself is approached."""
    generator = np.random.default_rng(0)
    found = [refuted_epsilon(*randomised_response(1000, 1.0, generator), 0.0) for _ in range(60)]
    assert sum(each > 1.0 for each in found) <= 3
    assert np.median(found) > 0.7


def test_a_true_mu_is_seldom_refuted() -> None:
    generator = np.random.default_rng(1)
    found = [refuted_mu(*gaussians(1000, 0.719, generator)) for _ in range(200)]
    assert 1 < sum(each > 0.719 for each in found) < 20  # 10 expected, deviation 3.1; a binomial is a little below
    assert np.median(found) > 0.5


@pytest.mark.parametrize(("mu", "count"), [(0.268, 10_000), (0.719, 2000), (1.666, 1000)])
def test_a_gaussian_mechanism_is_refuted_at_more_than_half_of_its_epsilon(mu: float, count: int) -> None:
    stated = gaussian_epsilon(mu, 1e-5)
    generator = np.random.default_rng(2)
    found = [gaussian_epsilon(refuted_mu(*gaussians(count, mu, generator)), 1e-5) for _ in range(5)]
    assert all(each > stated / 2 for each in found)
    assert min(found) < stated


def test_whatever_the_mechanism_less_is_refuted() -> None:
    generator = np.random.default_rng(3)
    scores, members = gaussians(10_000, 1.666, generator)
    assert 1.5 < refuted_epsilon(scores, members, 1e-5) < 8
    assert refuted_epsilon(torch.zeros(1000), members[:1000]) == 0
    assert refuted_epsilon(-scores, members) == 0


def test_gaussian_epsilon_solves_its_equation() -> None:
    def phi(value: float) -> float:
        return math.erfc(-value / math.sqrt(2)) / 2

    for mu in (0.1, 1.0, 5.0):
        for delta in (1e-6, 1e-3):
            epsilon = gaussian_epsilon(mu, delta)
            back = phi(-epsilon / mu + mu / 2) - math.exp(epsilon) * phi(-epsilon / mu - mu / 2)
            assert back == pytest.approx(delta, rel=1e-6)
    assert gaussian_epsilon(0.0, 1e-5) == 0


def test_what_cannot_be_audited_is_refused() -> None:
    one = torch.ones(4, dtype=torch.bool)
    calls: list[tuple[Callable[[], float], str]] = [
        (lambda: refuted_epsilon(torch.zeros(4), one), "both needed"),
        (lambda: refuted_mu(torch.tensor([math.nan, 0.0]), torch.tensor([True, False])), "finite"),
        (lambda: refuted_epsilon(torch.zeros(2), torch.tensor([True, False]), 1.0), "delta"),
        (lambda: gaussian_epsilon(1.0, 0.0), "delta"),
        (lambda: one_run_p_value(3, 4, 1, 0.0, 0.0), "cannot be guessed"),
    ]
    for call, words in calls:
        with pytest.raises(BadInput, match=words):
            call()
