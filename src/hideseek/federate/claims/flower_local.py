"""What Flower's LocalDpMod really gives: its noise is set by a sensitivity that nothing ties to the clipping norm."""

import math

from hideseek.hide.privacy.gaussian import classical_deviation, gaussian_epsilon, over_rounds
from hideseek.federate.claims.records import Assumptions, Given, NotKnown, Setting, Situation, judged
from hideseek.federate.claims.wording import rounds_in_words, written


def local_dp(given: Given, situation: Situation) -> Setting:
    """Recompute LocalDpMod(clipping_norm, sensitivity, epsilon, delta).

    It clips an update to ‖u‖₂ ≤ C and adds N(0, σ²), σ = s √(2 ln(1.25/δ)) / ε. Removed, an update of norm C changes
    what is sent by C; replaced, by 2C. So μ = C/σ or 2C/σ a round, whatever s says.
    """
    names = ("clipping_norm", "sensitivity", "epsilon", "delta")
    clip, sensitivity, epsilon, delta = (given.number(name) for name in names)
    if not (clip > 0 and sensitivity >= 0 and epsilon > 0 and 0 < delta < 1):
        raise NotKnown("Flower's formula needs clipping_norm and epsilon above 0, and delta between 0 and 1")
    assumptions, rounds = situation.assumptions, situation.rounds
    deviation = classical_deviation(sensitivity, epsilon, delta)
    change = clip * (2 if assumptions.neighbours == "replaced" else 1)
    mu = change / deviation if deviation > 0 else math.inf
    one = gaussian_epsilon(mu, delta)
    run = None if rounds is None else gaussian_epsilon(over_rounds(mu, rounds), delta)
    verdict = judged(epsilon, one, run, assumptions.stated_for)
    other = gaussian_epsilon(mu * (2 if change == clip else 0.5), delta)
    relation, opposite = ("replaced", "removed") if change > clip else ("removed", "replaced")
    return Setting(
        setting=f"LocalDpMod(clipping_norm={clip:g}, sensitivity={sensitivity:g}, epsilon={epsilon:g},"
        f" delta={delta:g})",
        place=given.place,
        verdict=verdict,
        stated_epsilon=epsilon,
        stated_delta=delta,
        round_epsilon=one,
        run_epsilon=run,
        delta=delta,
        rounds=rounds,
        assumption=f"client level: the client's whole update is {relation}, which changes what is sent by {change:g}"
        f" ({opposite} instead: ε = {written(other)} a round); a client takes part in every round",
        reason=_enough(assumptions, rounds)
        if verdict == "holds"
        else _too_little(sensitivity, change, epsilon, one, rounds),
    )


def _enough(assumptions: Assumptions, rounds: int | None) -> str:
    over = "in each round by itself" if assumptions.stated_for == "round" else f"over {rounds_in_words(rounds)}"
    return f"the noise is enough for what is stated, {over}."


def _too_little(sensitivity: float, change: float, epsilon: float, one: float, rounds: int | None) -> str:
    if one <= epsilon:
        return f"a round keeps what is stated, but nothing is composed over {rounds_in_words(rounds)}."
    if sensitivity < change:
        times = f"{written(change / sensitivity)} times" if sensitivity else "infinitely"
        return (
            f"the noise is set for a sensitivity of {sensitivity:g}, while the clipping norm lets an update change what"
            f" is sent by {change:g}, {times} as much, and nothing is composed over rounds."
        )
    return f"√(2 ln(1.25/δ))/ε is proved to be enough for ε ≤ 1 alone, and ε = {epsilon:g} is above that."
