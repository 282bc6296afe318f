"""The Gaussian mechanism, exactly: ε and δ of any noise, of many rounds, and what attackers can do at most."""

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx, log_ndtr, ndtr, ndtri

FURTHEST = 60.0  # deviations of a normal: e^(−60²/2) is far below every δ that a float64 can hold


def classical_deviation(sensitivity: float, epsilon: float, delta: float) -> float:
    """Give σ = Δ √(2 ln(1.25/δ)) / ε, which is proved to be enough for ε ≤ 1 alone.

    Dwork and Roth 2014, theorem A.1.

    >>> round(classical_deviation(1.0, 1.0, 1e-5), 3)
    4.845
    """
    return sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon if epsilon > 0 else math.inf


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Give the least ε at which noise of deviation Δ / μ is (ε, δ) differentially private; μ may be huge.

    δ = Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2)    (Balle and Wang 2018, theorem 8)

    With t = ε/μ − μ/2 and x = t + μ we have x²/2 = t²/2 + ε, so that e^ε Φ(−x) = ½ erfcx(x/√2) e^(−t²/2): no large
    numbers are subtracted. It is solved for t, and ε = μ (t + μ/2).

    >>> round(gaussian_epsilon(1.0, 1e-5), 3), f"{gaussian_epsilon(2e4, 1e-5):.4g}", gaussian_epsilon(0.0, 1e-5)
    (4.377, '2.001e+08', 0.0)
    """
    if mu == 0:
        return 0.0
    if math.isinf(mu) or math.isinf(mu * mu):
        return math.inf

    def excess(t: float) -> float:
        return log_delta(t, mu) - math.log(delta)

    if excess(-mu / 2) <= 0:  # ε = 0 is enough
        return 0.0
    low = max(-mu / 2, -FURTHEST)
    t: float = brentq(excess, low, FURTHEST, xtol=1e-13, rtol=1e-13)
    return mu * (t + mu / 2)


def log_delta(t: float, mu: float) -> float:
    """Give log δ at ε = μ (t + μ/2)."""
    with np.errstate(over="ignore"):
        ratio = float(erfcx((t + mu) / math.sqrt(2)) / erfcx(t / math.sqrt(2)))
    return float(log_ndtr(-t)) + (math.log1p(-ratio) if ratio < 1 else -math.inf)


def gaussian_delta(epsilon: float, mu: float) -> float:
    """Give the least δ at which a Gaussian mechanism of this μ is (ε, δ) differentially private.

    δ = Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2)    (Balle and Wang 2018, theorem 8)

    >>> f"{gaussian_delta(3.0, 0.719):.2g}", gaussian_delta(800.0, 1.0), gaussian_delta(1.0, 0.0)
    ('1e-05', 0.0, 0.0)
    """
    return math.exp(log_delta(epsilon / mu - mu / 2, mu)) if mu > 0 else 0.0


def over_rounds(mu: float, rounds: int) -> float:
    """Give μ of so many rounds: μ √T, exactly, also where a round depends on earlier ones.

    Dong, Roth and Su 2022, corollary 3.3.

    >>> over_rounds(0.5, 16)
    2.0
    """
    return mu * math.sqrt(rounds)


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Give the μ of the Gaussian mechanism that is just (ε, δ) differentially private.

    >>> round(gaussian_epsilon(gaussian_mu(3.0, 1e-5), 1e-5), 6)
    3.0
    """
    if epsilon > 1e12:  # ε = μ²/2 but for a millionth
        return math.sqrt(2 * epsilon)
    high = 1.0
    while gaussian_epsilon(high, delta) < epsilon:
        high *= 2
    found: float = brentq(lambda mu: gaussian_epsilon(mu, delta) - epsilon, 0.0, high, xtol=1e-12)
    return found


def true_positives(mu: float, false_positives: float) -> float:
    """Give the most that a test for one image finds (TPR) at a share of false alarms (FPR): Φ(Φ⁻¹(FPR) + μ).

    Dong, Roth and Su 2022, equation 6; riskcal calls 1 − TPR beta and FPR alpha.

    >>> round(true_positives(1.0, 0.01), 4)
    0.0924
    """
    return float(ndtr(ndtri(false_positives) + mu))


def reconstruction(mu: float, prior: float) -> float:
    """Give the most that guessing an image succeeds by the release, where it succeeds by `prior` without: Φ(Φ⁻¹(κ) + μ).

    Hayes, Mahloujifar and Balle 2023, corollary 4: it is the TPR at an FPR of κ.

    >>> [round(reconstruction(mu, 0.01), 3) for mu in (0.268, 0.719, 1.666)]
    [0.02, 0.054, 0.254]
    """
    return true_positives(mu, prior)


def advantage(mu: float) -> float:
    """Give the largest TPR − FPR of a test for one image: 2 Φ(μ/2) − 1, riskcal's advantage.

    >>> round(advantage(1.0), 4)
    0.3829
    """
    return float(2 * ndtr(mu / 2) - 1)
