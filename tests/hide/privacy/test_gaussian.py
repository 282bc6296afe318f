"""The Gaussian mechanism against SciPy, the figures that are known of it, and riskcal."""

import math

import numpy as np
import pytest
from scipy import stats

from hideseek.hide.privacy.gaussian import (
    advantage,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    reconstruction,
    true_positives,
)


@pytest.mark.parametrize(("epsilon", "mu", "found"), [(1, 0.268, 0.020), (3, 0.719, 0.054), (8, 1.666, 0.255)])
def test_the_known_figures(epsilon: float, mu: float, found: float) -> None:
    assert gaussian_mu(epsilon, 1e-5) == pytest.approx(mu, abs=6e-4)
    assert reconstruction(gaussian_mu(epsilon, 1e-5), 0.01) == pytest.approx(found, abs=6e-4)


@pytest.mark.parametrize("mu", [0.01, 0.5, 2.0, 9.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 4.0, 30.0])
def test_delta_is_the_equation(mu: float, epsilon: float) -> None:
    norm = stats.norm
    second = math.exp(epsilon + norm.logcdf(-epsilon / mu - mu / 2))
    assert gaussian_delta(epsilon, mu) == pytest.approx(norm.cdf(-epsilon / mu + mu / 2) - second, rel=1e-6, abs=1e-15)


def test_delta_of_a_large_epsilon_is_small_and_not_lost() -> None:
    """Both terms of the equation are next to nothing, and e^ε does not fit: the tail of the first one is a bound."""
    small = gaussian_delta(2000.0, 40.0)
    assert 0 < small < stats.norm.sf(2000 / 40 - 20)
    assert gaussian_epsilon(40.0, small) == pytest.approx(2000.0, rel=1e-9)


def test_tests_and_advantages_are_those_of_riskcal() -> None:
    riskcal = pytest.importorskip("riskcal.analysis")
    for mu in (0.2, 0.719, 3.0):
        alphas = np.array([0.001, 0.01, 0.3])
        beta = riskcal.get_beta_from_gdp(mu=mu, alpha=alphas)
        np.testing.assert_allclose([1 - true_positives(mu, alpha) for alpha in alphas], beta, rtol=1e-9)
        assert advantage(mu) == pytest.approx(float(riskcal.get_advantage_from_gdp(mu)), rel=1e-9)


def test_the_advantage_is_the_largest_difference() -> None:
    rates = np.linspace(1e-6, 1 - 1e-6, 20_001)
    assert advantage(1.3) == pytest.approx(max(true_positives(1.3, rate) - rate for rate in rates), abs=1e-6)
