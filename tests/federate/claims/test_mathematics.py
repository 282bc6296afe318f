"""Every equation against an independent reference of few lines."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from hideseek.hide.privacy.gaussian import classical_deviation, gaussian_epsilon, gaussian_mu, over_rounds
from hideseek.federate.claims.records import NotKnown, judged
from hideseek.federate.claims.sampled_gaussian import sampled_gaussian_epsilon
from hideseek.federate.claims.sparse_vector import sending_epsilon, sparse_vector_epsilon, values_sent


def exact_delta(epsilon: float, mu: float) -> float:
    """The Gaussian mechanism's δ, as it stands in the paper."""
    second = math.exp(epsilon + float(stats.norm.logcdf(-epsilon / mu - mu / 2)))
    return float(stats.norm.cdf(-epsilon / mu + mu / 2)) - second


@pytest.mark.parametrize("mu", [0.01, 0.3, 1.0, 4.0, 20.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 1e-2])
def test_epsilon_of_the_gaussian_mechanism_solves_its_equation(mu: float, delta: float) -> None:
    epsilon = gaussian_epsilon(mu, delta)
    if epsilon == 0:
        assert exact_delta(0.0, mu) <= delta
    else:
        assert exact_delta(epsilon, mu) == pytest.approx(delta, rel=1e-6)


@pytest.mark.parametrize("mu", [1e3, 1e5, 1e8, 1e150])
def test_epsilon_for_hardly_any_noise_is_half_the_square_and_a_quantile(mu: float) -> None:
    quantile = float(stats.norm.isf(1e-5))  # the second term of δ is next to nothing there
    assert gaussian_epsilon(mu, 1e-5) == pytest.approx(mu**2 / 2 + mu * quantile, rel=1e-5)
    assert math.isinf(gaussian_epsilon(1e200, 1e-5))
    assert math.isinf(gaussian_epsilon(math.inf, 1e-5))


def test_epsilon_is_that_of_the_densities() -> None:
    """δ is the integral of what one density exceeds e^ε times the other by."""
    mu, delta = 1.5, 1e-3
    epsilon = gaussian_epsilon(mu, delta)
    above, _ = integrate.quad(
        lambda x: stats.norm.pdf(x, mu) - math.exp(epsilon) * stats.norm.pdf(x), epsilon / mu + mu / 2, 30
    )
    assert above == pytest.approx(delta, rel=1e-6)


def test_rounds_compose_as_one_longer_vector() -> None:
    """T rounds that each move a mean by μ are one mechanism that moves a vector of T means."""
    assert over_rounds(0.7, 9) == pytest.approx(np.linalg.norm(np.full(9, 0.7)))


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 3.0, 500.0, 1e13, 1e300])
def test_mu_of_a_target_gives_the_target(epsilon: float) -> None:
    assert gaussian_epsilon(gaussian_mu(epsilon, 1e-6), 1e-6) == pytest.approx(epsilon, rel=1e-5, abs=1e-4)


def test_classical_noise_is_enough_up_to_one_and_not_far_beyond() -> None:
    for stated in (0.1, 0.5, 1.0):
        assert gaussian_epsilon(1 / classical_deviation(1.0, stated, 1e-5), 1e-5) < stated
    assert gaussian_epsilon(1 / classical_deviation(1.0, 10.0, 1e-5), 1e-5) > 10


@pytest.mark.parametrize(("rate", "steps"), [(1.0, 10), (0.05, 200), (0.01, 1000)])
def test_epsilon_of_random_batches_is_what_opacus_counts(rate: float, steps: int) -> None:
    accountants = pytest.importorskip("opacus.accountants")
    accountant = accountants.RDPAccountant()
    accountant.history = [(1.1, rate, steps)]
    ours = sampled_gaussian_epsilon(1.1, rate, steps, 1e-5)
    theirs = accountant.get_epsilon(1e-5)  # by orders between whole ones, too
    assert 0.999 * theirs <= ours <= 1.03 * theirs
    if rate == 1.0:
        assert ours >= gaussian_epsilon(over_rounds(1 / 1.1, steps), 1e-5)
    assert math.isinf(sampled_gaussian_epsilon(0.0, rate, steps, 1e-5))


def test_sending_under_laplace_noise_costs_the_largest_ratio_of_densities() -> None:
    gamma, noise, sent = 1e-5, 0.1, 7
    law = stats.laplace(scale=2 * gamma / noise)
    x = np.full(sent, 3 * gamma)  # beyond both means, where the ratio is largest
    ratio = law.logpdf(x - gamma).sum() - law.logpdf(x + gamma).sum()
    assert sending_epsilon(sent, noise) == pytest.approx(ratio)


def densenet121_numbers(channels: int, classes: int) -> int:
    """The floating-point numbers in the state of a DenseNet-121, batch norm's running statistics among them."""
    weights, norms, width = channels * 64 * 49, 64, 64
    for block, layers in enumerate((6, 12, 24, 16)):
        for _ in range(layers):
            norms += width + 128
            weights += width * 128 + 128 * 32 * 9
            width += 32
        if block < 3:
            norms += width
            weights += width * (width // 2)
            width //= 2
    return weights + 4 * (norms + width) + (width + 1) * classes


def test_the_reported_figure_of_svt_privacy() -> None:
    """FACTS: 70,333 a round, by defaults, on a DenseNet of 7 million parameters (londonaicentre/FLIP, issue 1145)."""
    parameters = densenet121_numbers(channels=1, classes=2)
    assert parameters == 7_033_282
    spent = sparse_vector_epsilon(0.1, sending_epsilon(values_sent(parameters, 0.1), 0.1))
    assert spent == pytest.approx(70_333.0)


def test_a_stated_epsilon_is_for_the_run_unless_said_otherwise() -> None:
    assert judged(1.0, 1.1, 0.5, "round") == "does not hold"
    assert judged(1.0, 1.0, 1.0, "run") == "holds"
    assert judged(1.0, math.nan, None, "run") == "does not hold"


@pytest.mark.parametrize("multiplier", [math.nan, -1.0])
def test_noise_that_is_no_amount_is_refused(multiplier: float) -> None:
    with pytest.raises(NotKnown, match="0 or more"):
        sampled_gaussian_epsilon(multiplier, 0.01, 100, 1e-5)
