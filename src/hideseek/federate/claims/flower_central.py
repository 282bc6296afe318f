"""What Flower's strategies with central differential privacy give: they state no ε, and some need a mod at clients."""

import math

from hideseek.hide.privacy.gaussian import gaussian_epsilon, over_rounds
from hideseek.federate.claims.records import Given, NotKnown, Setting, Situation
from hideseek.federate.claims.wording import rounds_in_words

NEEDS = {
    "DifferentialPrivacyClientSideFixedClipping": "fixedclipping_mod",
    "DifferentialPrivacyClientSideAdaptiveClipping": "adaptiveclipping_mod",
    "DPFedAvgFixed": "DPFedAvgNumPyClient",
    "DPFedAvgAdaptive": "DPFedAvgNumPyClient",
}
"""What must clip at the clients, for each strategy that does not clip itself."""


def central_dp(given: Given, situation: Situation) -> Setting:
    """Recompute a strategy's noise: N(0, (z C / m)²) on the average of m updates, each clipped to C.

    If all clients weigh 1/m, removing an update changes the average by C/m, so that μ = 1/z a round (replaced: 2/z).
    """
    adaptive = "Adaptive" in given.name
    multiplier = given.number("noise_multiplier", 1.0 if given.name.startswith("DPFedAvg") else None)
    if not multiplier >= 0:
        raise NotKnown("the noise multiplier must be 0 or more")
    assumptions, rounds = situation.assumptions, situation.rounds
    change = 2.0 if assumptions.neighbours == "replaced" else 1.0
    needed = NEEDS.get(given.name)
    clipped = needed is None or needed in situation.names
    if not clipped and needed in situation.unclear:
        raise NotKnown(f"it is not known whether a client uses {needed}, without which updates are not clipped")
    mu = (_adaptive_mu(given, multiplier, change) if adaptive else change / multiplier) if multiplier else math.inf
    mu = mu if clipped else math.inf
    run = None if rounds is None else gaussian_epsilon(over_rounds(mu, rounds), assumptions.delta)
    return Setting(
        setting=f"{given.name}(noise_multiplier={multiplier:g})",
        place=given.place,
        verdict="does not hold" if math.isinf(mu) else "no ε stated",
        round_epsilon=gaussian_epsilon(mu, assumptions.delta),
        run_epsilon=run,
        delta=assumptions.delta,
        rounds=rounds,
        assumption=f"client level, for who sees the averages but not what clients send: an update is"
        f" {assumptions.neighbours}; all clients weigh the same and num_sampled_clients of them answer; a client takes"
        " part in every round (no amplification by sampling)",
        reason=_reason(needed if not clipped else None, multiplier, adaptive, rounds),
    )


def _reason(missing: str | None, multiplier: float, adaptive: bool, rounds: int | None) -> str:
    if missing is not None:
        return f"no client uses {missing}, so that updates are not clipped, and no noise is enough: no protection."
    if multiplier == 0:
        return "without noise there is no differential privacy."
    note = ", and since the noise goes by the next round's clipping norm, it may be too small" if adaptive else ""
    return f"no ε is stated; noise of {multiplier:g} clipping norms comes to this over {rounds_in_words(rounds)}{note}."


def _adaptive_mu(given: Given, multiplier: float, change: float) -> float:
    """Give μ of a round of adaptive clipping: an average and a count of clipped updates are told.

    z_Δ = (z⁻² − (2σ_b)⁻²)^(−½)    (Andrew et al. 2021, theorem 1), μ² = (change/z_Δ')² + (1/σ_b)²

    Deviation: Flower counts whole bits, not bits less a half, so that a client changes the count by 1. It also sets the
    norm for the next round before it adds this round's noise: where all updates are clipped, the noise is smaller by
    exp(−η (1 − γ)), with the rate η and the quantile γ, which gives z_Δ'.
    """
    legacy = given.name.startswith("DPFedAvg")
    prefix = "clip_count_stddev" if legacy else "clipped_count_stddev"
    clients = given.number("num_sampled_clients")
    deviation = given.number(prefix, clients / 20)
    if not deviation > 0 or multiplier >= 2 * deviation:
        raise NotKnown(f"Flower refuses a noise multiplier of {multiplier:g} with a {prefix} of {deviation:g}")
    of_updates = (multiplier**-2 - (2 * deviation) ** -2) ** -0.5
    if not legacy:  # there, each update gets its noise before the norm changes
        of_updates *= math.exp(
            -given.number("clip_norm_lr", 0.2) * max(0.0, 1 - given.number("target_clipped_quantile", 0.5))
        )
    return math.hypot(change / of_updates, 1 / deviation)


def clipping_mod(given: Given, situation: Situation) -> Setting | None:
    """Say what a mod that clips is worth without its strategy; with it, the strategy's row says all."""
    strategies = [name for name, mod in NEEDS.items() if mod == given.name]
    if any(name in situation.names for name in strategies):
        return None
    if any(name in situation.unclear for name in strategies):
        raise NotKnown(f"it is not known whether the strategy {strategies[0]} is used, which adds the noise")
    why = f"no strategy {strategies[0]} is used"
    return Setting(given.name, given.place, f"{why}, so that no noise is added: clipping alone is no protection.")


def secure_aggregation(given: Given, situation: Situation) -> Setting:
    """Say what secure aggregation is worth."""
    return Setting(
        given.name,
        given.place,
        "single updates are hidden from the server alone; their sum is not, and there is no differential privacy.",
    )


def spending_limit(given: Given, situation: Situation) -> Setting | None:
    """Judge an accountant's limit: the strategy ends the run before its bound on ε, an upper one, exceeds it."""
    if "max_epsilon" not in given.values:
        return None
    limit, delta = given.number("max_epsilon"), given.number("target_delta")
    setting = f"PrivacyConfig(max_epsilon={limit:g}, target_delta={delta:g})"
    if "accountant" not in situation.names:
        reason = "the accountant is handed to no strategy, so that nothing ends the run."
        return Setting(setting, given.place, reason, "does not hold", limit, delta)
    reason = "the strategy ends the run before its accountant, which counts too much rather than too little, passes it."
    assumption = "client level, an update is removed; all clients weigh the same, which Flower checks here"
    return Setting(
        setting, given.place, reason, "holds", limit, delta, None, limit, delta, situation.rounds, assumption
    )
