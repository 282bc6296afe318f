"""Random rows against quadrature, the Gaussian mechanism, and the figures that are known."""

import math

import numpy as np
import pytest
from scipy import stats

from hideseek.hide.privacy.allocation import allocated_losses
from hideseek.hide.privacy.calibration import Account
from hideseek.hide.privacy.gaussian import gaussian_epsilon, gaussian_mu, true_positives
from hideseek.hide.privacy.renyi import renyi_epsilon
from hideseek.hide.privacy.sampled import sampled_losses

pytest.importorskip("dp_accounting")


def one_step(z: float, rate: float, epsilon: float) -> float:
    """δ of one step, in the worse direction, by a sum over a fine grid."""
    x = np.linspace(-12 * z, 1 + 12 * z, 400_001)
    without, other = stats.norm.pdf(x, 0, z), stats.norm.pdf(x, 1, z)
    mixed = (1 - rate) * without + rate * other
    gaps = (np.maximum(p - math.exp(epsilon) * q, 0) for p, q in ((mixed, without), (without, mixed)))
    return float(max(np.trapezoid(gap, x) for gap in gaps))


@pytest.mark.parametrize(("z", "rate"), [(0.7, 0.1), (1.5, 0.3)])
def test_one_step_is_the_integral_of_the_densities(z: float, rate: float) -> None:
    losses = sampled_losses(z, rate, 1)
    for epsilon in (0.1, 0.5):
        exact = one_step(z, rate, epsilon)
        assert exact * (1 - 1e-6) <= losses.delta(epsilon) <= exact * 1.001


def test_where_every_image_is_in_every_row_it_is_the_gaussian_mechanism() -> None:
    losses = sampled_losses(4.0, 1.0, 9)
    exact = gaussian_epsilon(0.75, 1e-5)
    assert exact <= losses.epsilon(1e-5) <= 1.005 * exact
    assert losses.true_positives(0.01) == pytest.approx(true_positives(0.75, 0.01), rel=0.01)
    assert losses.true_positives(0.01) >= true_positives(0.75, 0.01)


def test_it_is_below_the_bound_by_divergences_and_not_far() -> None:
    for z, rate, steps in ((1.0, 0.01, 1000), (0.8, 0.004, 1000)):
        found, bound = sampled_losses(z, rate, steps).epsilon(1e-5), renyi_epsilon(z, rate, steps, 1e-5)
        assert 0.6 * bound < found <= bound


@pytest.mark.parametrize(("m", "known"), [(1, 4.95), (4, 3.51), (16, 1.42), (64, 1.01)])
def test_the_central_limit_understates(m: int, known: float) -> None:
    """μ = (m/n) √(T (e^(1/z²) − 1)) claims ε = 1 at δ = 1e-5 for n = T = 50,000; these are what it comes to."""
    count, mu = 50_000, gaussian_mu(1.0, 1e-5)
    z = 1 / math.sqrt(math.log1p((mu * count / m) ** 2 / count))
    grid = 2e-4 if m >= 16 else 1e-3  # finer where little noise a step adds up over many
    assert sampled_losses(z, m / count, count, grid).epsilon(1e-5) == pytest.approx(known, rel=5e-3)


def test_tests_are_those_of_riskcal() -> None:
    riskcal = pytest.importorskip("riskcal.analysis")
    losses = sampled_losses(1.0, 0.02, 200)
    for alpha in (0.01, 0.2):
        beta = float(riskcal.get_beta_from_pld(losses.distribution, alpha=alpha))
        assert 1 - losses.true_positives(alpha) == pytest.approx(beta, abs=2e-3)


def test_allocation_is_between_an_image_in_all_rows_that_are_known_and_a_mixture_by_simulation() -> None:
    """One of t rows: the loss is log (1/t) Σ e^((2 y_i − 1) / 2z²), and δ is E max(0, 1 − e^(ε − loss))."""
    pytest.importorskip("PLD_accounting")
    z, rows = 0.8, 40
    losses = allocated_losses(z, rows, 1, 1)
    rng = np.random.default_rng(0)
    drawn = z * rng.standard_normal((200_000, rows))
    drawn[:, 0] += 1
    loss = np.log(np.exp((2 * drawn - 1) / (2 * z**2)).mean(1))
    for epsilon in (0.5, 1.0):
        simulated = np.maximum(0.0, 1 - np.exp(epsilon - loss))
        error = 4 * simulated.std() / math.sqrt(len(loss))
        assert simulated.mean() - error <= losses.delta(epsilon) <= 1.35 * simulated.mean() + error
    assert losses.epsilon(1e-5) < gaussian_epsilon(1 / z, 1e-5)


@pytest.mark.parametrize("proof", ["known-mix", "poisson", "allocation"])
def test_noise_from_epsilon_and_back(proof: str) -> None:
    account = Account(proof, 4, 400, rounds=2)  # type: ignore[arg-type]
    z = account.multiplier(2.0, 1e-4)
    assert account.epsilon(z, 1e-4) <= 2.0 * (1 + 1e-9)
    assert account.epsilon(z * 0.98, 1e-4) > 2.0
    assert Account("known-mix", 4, 400, 2).epsilon(z, 1e-4) >= account.epsilon(z, 1e-4) * (1 - 1e-9)
