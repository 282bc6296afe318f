"""How figures of privacy are written, the same everywhere."""

import math


def written(epsilon: float | None) -> str:
    """Write an ε: three digits, thousands apart, powers of ten where it is huge.

    >>> written(0.12345), written(70333.0), written(2.1308e8), written(math.inf), written(None)
    ('0.123', '70,333', '2.13e8', 'infinite', '')
    """
    if epsilon is None:
        return ""
    if math.isinf(epsilon):
        return "infinite"
    if epsilon < 1000:
        return f"{epsilon:.3g}"
    if epsilon < 1e6:
        return f"{epsilon:,.0f}"
    digits, _, power = f"{epsilon:.2e}".partition("e")
    return f"{digits}e{int(power)}"


def rounds_in_words(rounds: int | None) -> str:
    """Say how many rounds there are.

    >>> rounds_in_words(1), rounds_in_words(20), rounds_in_words(None)
    ('1 round', '20 rounds', 'a number of rounds that is not known (--rounds N says it)')
    """
    if rounds is None:
        return "a number of rounds that is not known (--rounds N says it)"
    return "1 round" if rounds == 1 else f"{rounds:,} rounds"
