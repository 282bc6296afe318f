"""The settings that are known, each with the function that recomputes it."""

import math
from collections.abc import Callable
from dataclasses import replace

from hideseek.federate.claims.flower_central import (
    NEEDS,
    central_dp,
    clipping_mod,
    secure_aggregation,
    spending_limit,
)
from hideseek.federate.claims.flower_local import local_dp
from hideseek.federate.claims.nvflare_filters import (
    EPSILON,
    encryption,
    exclude_vars,
    percentile,
    sparse_vector,
    statistics,
)
from hideseek.federate.claims.opacus_engine import make_private, make_private_with_epsilon
from hideseek.federate.claims.records import Given, NotKnown, Setting, Situation, not_known

Claim = Callable[[Given, Situation], Setting | None]
CLAIMS: dict[str, Claim] = {
    "LocalDpMod": local_dp,
    "DifferentialPrivacyServerSideFixedClipping": central_dp,
    "DifferentialPrivacyServerSideAdaptiveClipping": central_dp,
    **dict.fromkeys(NEEDS, central_dp),
    "fixedclipping_mod": clipping_mod,
    "adaptiveclipping_mod": clipping_mod,
    "DPFedAvgNumPyClient": clipping_mod,
    "secagg_mod": secure_aggregation,
    "secaggplus_mod": secure_aggregation,
    "PrivacyConfig": spending_limit,
    "make_private": make_private,
    "make_private_with_epsilon": make_private_with_epsilon,
    "SVTPrivacy": sparse_vector,
    "PercentilePrivacy": percentile,
    "ExcludeVars": exclude_vars,
    "StatisticsPrivacyFilter": statistics,
    "HEModelEncryptor": encryption,
}


def recomputed(given: Given, situation: Situation) -> Setting | None:
    """Recompute one setting; what it needs and cannot be told is said, and never counts as fine."""
    try:
        if "" in given.values:
            given.number("")
        return of_unused(given) if given.unused else CLAIMS[given.name](given, situation)
    except NotKnown as why:
        return not_known(given, str(why).strip())
    except ArithmeticError:
        return not_known(given, "its numbers are too large or too small to compute with")


def of_unused(given: Given) -> Setting:
    """Say that a setting takes no part, so that updates leave as they are."""
    values = {**({"epsilon": EPSILON} if given.name == "SVTPrivacy" else {}), **given.values}
    full = replace(given, values=values)
    stated, delta = (full.number(name) if name in values else None for name in ("epsilon", "delta"))
    promises = stated is not None or CLAIMS[given.name] is central_dp
    return Setting(
        given.name,
        given.place,
        f"{given.unused}, so that updates leave as they are.",
        "does not hold" if promises else "no ε stated",
        stated,
        delta,
        round_epsilon=math.inf if promises else None,
        run_epsilon=math.inf if promises else None,
    )
