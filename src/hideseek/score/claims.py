"""Every kind of claim by its name, with all that is known of it: a new one is a file and a line."""

from hideseek.records import Claim
from hideseek.score import attribution, labels, links, masks, membership, public_images, reconstruction
from hideseek.score.claim_rules import ClaimRules

CLAIMS: dict[str, ClaimRules] = {
    rules.claim.name: rules
    for rules in (
        reconstruction.RULES,
        public_images.RULES,
        links.RULES,
        masks.RULES,
        attribution.RULES,
        labels.RULES,
        membership.RULES,
    )  # a new one goes to the end: figures of a seed depend on the order
}


def without_rules() -> list[str]:
    """List the kinds of claim of this library that nobody could judge."""
    ours = {name: kind for name, kind in Claim.kinds.items() if kind.__module__.startswith("hideseek.")}
    return [name for name in ours if name not in CLAIMS]


if without_rules():
    raise TypeError(f"there are no rules to judge {', '.join(without_rules())} by.")
