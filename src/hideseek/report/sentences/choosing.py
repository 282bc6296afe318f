"""What is said of ways to learn from private images that were compared."""

from hideseek.report.sentences.numbers import points


def chosen(way: str, epsilon: float, delta: float, lost: float | None) -> str:
    """Say which way to take at an ε, and what it costs.

    >>> chosen("noisy-means", 3.0, 1e-5, 0.123)
    'At ε = 3 (δ = 1e-05) take noisy-means: of what was measured nothing is clearly more accurate, and no such way is simpler. It loses 12.3 points of accuracy against hiding nothing.'
    """  # noqa: E501 (a sentence)
    said = (
        f"At ε = {epsilon:g} (δ = {delta:g}) take {way}: of what was measured nothing is clearly more accurate, and no"
        " such way is simpler."
    )
    if lost is None:
        return said
    costs = f"loses {points(lost)} points of accuracy against" if lost > 0 else "costs no accuracy beside"
    return f"{said} It {costs} hiding nothing."
