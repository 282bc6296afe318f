"""What releases spend together, against independent references."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from hideseek.errors import BadInput
from hideseek.hide.privacy.gaussian import gaussian_delta, gaussian_epsilon
from hideseek.hide.privacy.ledger_budget import Budget, Total
from hideseek.hide.privacy.ledger_totals import spends
from hideseek.records import Spent


@pytest.mark.parametrize("mu", [0.1, 0.7, 2.0, 6.0])
def test_delta_is_that_of_two_gaussians(mu: float) -> None:
    """δ(ε) = ∫ max(0, p − e^ε q), by quadrature."""
    p, q = stats.norm(mu, 1), stats.norm(0, 1)
    for epsilon in (0.1, 1.0, 4.0):

        def excess(x: float, epsilon: float = epsilon) -> float:
            return max(0.0, p.pdf(x) - math.exp(epsilon) * q.pdf(x))

        split = epsilon / mu + mu / 2  # where the two are equal
        wanted = integrate.quad(excess, split, mu + 40, limit=200, epsabs=1e-14)[0]
        assert gaussian_delta(epsilon, mu) == pytest.approx(wanted, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.1])
@pytest.mark.parametrize("mu", [1e-3, 0.3, 1.0, 5.0, 50.0])
def test_epsilon_is_the_least_that_its_delta_allows(mu: float, delta: float) -> None:
    epsilon = gaussian_epsilon(mu, delta)
    assert gaussian_delta(epsilon, mu) <= delta * (1 + 1e-6)
    if epsilon:
        assert gaussian_delta(epsilon * 0.999, mu) > delta


def test_nothing_proved_is_infinite() -> None:
    assert gaussian_epsilon(math.inf, 1e-5) == math.inf
    assert gaussian_epsilon(0.0, 1e-5) == 0.0
    assert spends(Spent()).epsilon_at(1e-5) == math.inf


def test_gaussian_releases_add_by_mu_squared() -> None:
    """Two products of normals: the likelihood ratio of both together is that of one with √(μ₁² + μ₂²)."""
    one, two = Spent("gaussian", 0.25), Spent("gaussian", 0.11)
    both = spends(one).plus(spends(two))
    assert both.epsilon_at(1e-5) == gaussian_epsilon(math.sqrt(0.36), 1e-5)
    assert both.releases == 2


def test_sampled_releases_add_by_basic_composition_or_by_their_gaussian() -> None:
    sampled = Spent("poisson", 4.0, 1.0, 1e-6)
    plain = Spent("gaussian", 0.09)
    both = spends(sampled).plus(spends(sampled)).plus(spends(plain))
    by_sum = 2.0 + gaussian_epsilon(math.sqrt(0.09), 1e-5 - 2e-6)
    assert both.epsilon_at(1e-5) == pytest.approx(by_sum)
    assert both.epsilon_at(1e-6) == gaussian_epsilon(math.sqrt(8.09), 1e-6), "δ is spent: the other bound is left"
    many = Total()
    for _ in range(1000):
        many = many.plus(spends(Spent("poisson", 1e-3, 0.5, 0.0)))
    assert many.epsilon_at(1e-5) == pytest.approx(gaussian_epsilon(1.0, 1e-5)), "of many, the Gaussian is better"


def test_an_image_that_is_there_twice_is_a_group() -> None:
    assert spends(Spent("gaussian", 0.25), copies=3).epsilon_at(1e-5) == gaussian_epsilon(3 * 0.5, 1e-5)
    pure = spends(Spent("poisson", None, 0.7, 1e-7), copies=2)
    assert pure.epsilon == pytest.approx(1.4)
    assert pure.delta == pytest.approx(1e-7 * (1 + math.exp(0.7)))
    assert pure.releases == 1  # once, however often it is in there
    assert spends(Spent(), copies=30, rounds=4).releases == 4


def test_copies_of_a_sampled_release_by_two_steps() -> None:
    """δ of a group of k: Σ e^(jε) δ over j < k, one image after another."""
    epsilon, delta, copies = 0.3, 1e-6, 4
    by_steps = delta * float(np.exp(epsilon * np.arange(copies)).sum())
    assert spends(Spent("poisson", None, epsilon, delta), copies).delta == pytest.approx(by_steps)


@pytest.mark.parametrize("budget", [Budget(epsilon=3.0), Budget(mu=0.8), Budget(epsilon=2.0, mu=3.0, delta=1e-6)])
def test_what_is_left_fits_and_more_does_not(budget: Budget) -> None:
    spent = spends(Spent("gaussian", 0.04)).plus(spends(Spent("poisson", 0.1, 0.2, 1e-7)))
    left = budget.left(spent)
    assert left > 0
    assert budget.allows(spent.plus(spends(Spent("gaussian", left**2))))
    assert not budget.allows(spent.plus(spends(Spent("gaussian", (1.001 * left) ** 2))))


def test_nothing_is_left_of_a_budget_that_is_spent() -> None:
    assert Budget(epsilon=1.0).left(spends(Spent())) == 0
    assert Budget(releases=2).left(spends(Spent())) == math.inf
    assert Budget(releases=2).allows(spends(Spent(), rounds=2))
    assert not Budget(releases=2).allows(spends(Spent(), rounds=3))
    assert not Budget(mu=5.0).allows(spends(Spent()))


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"epsilon": 0.0}, "ε must be above 0"),
        ({"epsilon": math.inf}, "finite"),
        ({"epsilon": math.nan}, "ε must be above 0"),
        ({"mu": -1.0}, "μ must be above 0"),
        ({"epsilon": 1.0, "delta": 0.0}, "δ must be between"),
        ({"epsilon": 1.0, "delta": 1.0}, "δ must be between"),
        ({"releases": 0}, "1 or more"),
    ],
)
def test_budgets_that_cannot_be_are_refused(limits: dict[str, float], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        Budget(**limits)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "spent",
    [("none", 1.0), ("gaussian",), ("gaussian", -1.0), ("gaussian", math.inf), ("poisson", None, 1.0, 1.0)],
)
def test_spendings_that_cannot_be_are_refused(spent: tuple[object, ...]) -> None:
    with pytest.raises(BadInput):
        Spent(*spent)  # type: ignore[arg-type]
