"""The real ε of NVFlare's SVTPrivacy: what it spends on choosing values, and what on sending them."""

import math


def values_sent(parameters: int, fraction: float) -> int:
    """Give how many values of an update are sent: c = ⌈fraction · n⌉, n at most.

    >>> values_sent(7_033_282, 0.1)
    703329
    """
    return min(parameters, math.ceil(parameters * fraction))


def sending_epsilon(sent: int, noise: float) -> float:
    """Give the ε of sending c values, each within ±γ, under Laplace noise of scale 2γ / noise.

    Where an update is replaced, each value changes by up to 2γ, which costs `noise`, and c of them c · noise
    (Dwork and Roth 2014, theorems 3.6 and 3.16). The updates +γ and −γ everywhere are chosen from alike and reach it:
    it is no loose bound.

    >>> sending_epsilon(1000, 0.1)
    100.0
    """
    return sent * noise


def sparse_vector_epsilon(choosing: float, sending: float, rounds: int = 1) -> float:
    """Give ε over rounds, at δ = 0: all of it adds up.

    `choosing` is counted as the filter's argument epsilon, as it is stated.

    Deviation: the formula is of the code at NVFlare's commits 01180f35 (without the argument `replace`) and 0f9026b3
    (with it), in which choosing costs more. There ε₁ is epsilon, ε₂ = ε₁ (2c)^(2/3), the threshold's noise has scale
    2γ/ε₁ and that of a query 4cγ/ε₂. Each |value| is within 0 and γ, so that this costs (ε₁ + ε₂)/2 where at most c
    queries pass (Lyu, Su and Li 2017, theorem 4): 628 a round in the example below, beside 70,333. The filter also lets
    more than c pass and draws c of them; at the former commit, what passed and was not drawn leaves without noise. None
    of that is counted, since the version that runs is not known: the figure is too small rather than too large.

    >>> round(sparse_vector_epsilon(0.1, sending_epsilon(values_sent(7_033_282, 0.1), 0.1)), 1)
    70333.0
    """
    return rounds * (choosing + sending)
