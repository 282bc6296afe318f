"""What NVFlare's filters really give: one spends far more than it states, the others are no differential privacy."""

import re

from hideseek.federate.claims.records import Given, NotKnown, Setting, Situation, judged
from hideseek.federate.claims.sparse_vector import sending_epsilon, sparse_vector_epsilon, values_sent
from hideseek.federate.claims.wording import rounds_in_words, written

EPSILON = 0.1  # of SVTPrivacy, where it is given none
SUSPECT = re.compile(r"privacy|differential|noise|gauss|laplac|(^|[^a-z])(l?dp)|dp($|[^a-z])|DP|epsilon|sigma", re.I)
"""Names of filters and arguments that promise something."""


def sparse_vector(given: Given, situation: Situation) -> Setting:
    """Recompute SVTPrivacy(fraction, epsilon, noise_var, …), with NVFlare's defaults."""
    fraction, epsilon = given.number("fraction", 0.1), given.number("epsilon", EPSILON)
    noise = given.number("noise_var", 0.1)
    if not (0 < fraction <= 1 and epsilon > 0 and noise > 0):
        raise NotKnown("fraction must be above 0 and at most 1, epsilon and noise_var above 0")
    parameters, rounds = situation.assumptions.parameters, situation.rounds
    sent = values_sent(parameters or 1, fraction)
    explicit = "epsilon_release" in given.values
    sending = given.number("epsilon_release") if explicit else sending_epsilon(sent, noise)
    stated = epsilon + sending if explicit else epsilon
    one = sparse_vector_epsilon(epsilon, sending)
    run = None if rounds is None else sparse_vector_epsilon(epsilon, sending, rounds)
    if explicit:
        known = "sending has an ε of its own"
    elif parameters:
        known = f"{sent:,} of {parameters:,} values are sent"
    else:
        known = (
            "how many values are sent is not known (--parameters N says it): this is for one value, and each other one"
            f" adds {noise:g} a round"
        )
    return Setting(
        setting=f"SVTPrivacy(fraction={fraction:g}, epsilon={epsilon:g}, noise_var={noise:g})",
        place=given.place,
        verdict=judged(stated, one, run, situation.assumptions.stated_for),
        stated_epsilon=stated,
        stated_delta=0.0,
        round_epsilon=one,
        run_epsilon=run,
        delta=0.0,
        rounds=rounds,
        assumption=f"client level: the update is replaced; {known}; single numbers that are no arrays leave as"
        " they are",
        at_least=not explicit and parameters is None,
        reason=f"epsilon pays for choosing which values are sent, and sending them, under noise that noise_var sets,"
        f" costs {written(sending)} more a round; nothing stops {rounds_in_words(rounds)} from adding up.",
    )


def percentile(given: Given, situation: Situation) -> Setting:
    """Say what PercentilePrivacy is worth."""
    return Setting(
        _short(given),
        given.place,
        "small values are set to zero and large ones cut off, without any noise: no differential privacy at all.",
    )


def exclude_vars(given: Given, situation: Situation) -> Setting:
    """Say what ExcludeVars is worth."""
    return Setting(
        _short(given), given.place, "some layers are not sent, all others leave as they are: no differential privacy."
    )


def statistics(given: Given, situation: Situation) -> Setting:
    """Say what the cleansing of statistics is worth."""
    return Setting(
        _short(given),
        given.place,
        "counts below a minimum are withheld and extremes blurred, by noise that no sensitivity sets: no differential"
        " privacy.",
    )


def encryption(given: Given, situation: Situation) -> Setting:
    """Say what homomorphic encryption is worth."""
    return Setting(
        _short(given),
        given.place,
        "single updates are hidden from the server alone; who decrypts the sum sees it: no differential privacy.",
    )


def of_unknown_filter(given: Given) -> Setting | None:
    """Say that a filter that seems to promise privacy is not known; others are passed over."""
    if not SUSPECT.search(given.name) and not any(SUSPECT.search(name) for name in given.arguments):
        return None
    reason = f"not known: {given.name} is none of NVFlare's own privacy filters, and what it does is not read."
    stated = given.values.get("epsilon")
    epsilon = stated if isinstance(stated, float) else None
    return Setting(given.name, given.place, reason, "not known", epsilon)


def _short(given: Given) -> str:
    numbers = ", ".join(f"{name}={value:g}" for name, value in given.values.items() if isinstance(value, float))
    return f"{given.name}({numbers})"
