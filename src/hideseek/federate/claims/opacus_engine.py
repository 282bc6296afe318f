"""What Opacus gives in a client: privacy of single examples in one round; an engine that is made anew forgets."""

import math

from hideseek.hide.privacy.gaussian import gaussian_epsilon, gaussian_mu, over_rounds
from hideseek.federate.claims.records import Given, NotKnown, Setting, Situation, judged
from hideseek.federate.claims.sampled_gaussian import sampled_gaussian_epsilon
from hideseek.federate.claims.wording import rounds_in_words, written

LEVEL = "example level: one of a client's examples is added or left out, batches are drawn by Poisson sampling"


def make_private(given: Given, situation: Situation) -> Setting:
    """Recompute the noise of an engine that states no ε."""
    multiplier = given.number("noise_multiplier")
    assumptions, rounds = situation.assumptions, situation.rounds
    rate, steps = assumptions.sample_rate, assumptions.local_steps
    if given.number("poisson_sampling", 1.0) == 0:
        raise NotKnown("without Poisson sampling the accountant's proof does not apply")
    if multiplier > 0 and (rate is None or steps is None):
        raise NotKnown(
            "ε also depends on the share of examples in a batch and on the steps of a round, which are only known when"
            " the project runs: say them by --sample-rate Q and --local-steps N"
        )
    delta = assumptions.delta
    one = sampled_gaussian_epsilon(multiplier, rate or 1.0, steps or 1, delta)
    run = None if rounds is None else sampled_gaussian_epsilon(multiplier, rate or 1.0, (steps or 1) * rounds, delta)
    return Setting(
        setting=f"make_private(noise_multiplier={multiplier:g})",
        place=given.place,
        verdict="does not hold" if math.isinf(one) else "no ε stated",
        round_epsilon=one,
        run_epsilon=run,
        delta=delta,
        rounds=rounds,
        assumption=f"{LEVEL} at a rate of {rate}, {steps} steps a round; an upper bound",
        reason="without noise there is no differential privacy."
        if math.isinf(one)
        else f"no ε is stated; an engine that is made anew in each round forgets the rounds before, and this is what"
        f" {rounds_in_words(rounds)} come to.",
    )


def make_private_with_epsilon(given: Given, situation: Situation) -> Setting:
    """Recompute a target_epsilon at target_delta, for epochs of one engine, over the rounds of a run.

    The noise is such that `epochs` epochs come to the target. Many small steps come to a Gaussian mechanism (Dong, Roth
    and Su 2022, theorem 3.4), so that e epochs have μ √(e / epochs), where μ is that of the target.
    """
    epsilon, delta = given.number("target_epsilon"), given.number("target_delta")
    if not (epsilon > 0 and 0 < delta < 1):
        raise NotKnown("target_epsilon must be above 0 and target_delta between 0 and 1")
    planned, rounds = given.number("epochs"), situation.rounds
    if not planned > 0:
        raise NotKnown("epochs must be above 0")
    local = situation.local_epochs or planned
    mu = gaussian_mu(epsilon, delta) * math.sqrt(local / planned)
    one = epsilon if local == planned else gaussian_epsilon(mu, delta)
    run = None if rounds is None else gaussian_epsilon(over_rounds(mu, rounds), delta)
    run = one if rounds == 1 else run
    verdict = judged(epsilon, one, run, situation.assumptions.stated_for)
    total = "" if rounds is None else f"; whatever the curve, {written(epsilon * rounds)} at δ = {delta * rounds:.3g}"
    reason = (
        f"the noise is for {planned:g} epochs, which no engine of one round carries over {rounds_in_words(rounds)}."
    )
    if verdict == "holds":
        reason = f"the noise is for {planned:g} epochs, and that is enough for {rounds_in_words(rounds)}."
    return Setting(
        setting=f"make_private_with_epsilon(target_epsilon={epsilon:g}, target_delta={delta:g}, epochs={planned:g})",
        place=given.place,
        verdict=verdict,
        stated_epsilon=epsilon,
        stated_delta=delta,
        round_epsilon=one,
        run_epsilon=run,
        delta=delta,
        rounds=rounds,
        assumption=f"{LEVEL}; a round trains {local:g} epochs"
        f"{'' if situation.local_epochs else ' (as many as the noise is for)'}; an estimate by the Gaussian limit"
        f"{total}",
        reason=reason,
    )
