"""How candidates are compared with an update, by an attacker who knows how it was defended."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from torch import Tensor

from hideseek.records.update_encoder import UpdateEncoder
from hideseek.seek.systems.gradient_distance import Comparison, Cosine, Distance

PRUNING = "gradient-pruning"
Compares = Literal["allowed", "surviving", "as-sent"]


def comparison_with(
    update: Mapping[str, Tensor], scheme: UpdateEncoder, distance: Distance, compares: Compares, sent: Sequence[Tensor]
) -> Comparison:
    """Prepare the comparison with an update, whose tensors `sent` are in the order and precision of the candidates'.

    With what its defences allow (`Defence.before`), with the entries that pruning left alone (Huang et al. 2021), or
    with the update as if it were undefended.
    """
    if scheme.scaled:
        distance = Cosine(distance.balance)
    if compares == "as-sent":
        return distance.to(sent)
    if compares == "surviving":
        pruned = any(defence.mechanism == PRUNING for defence in scheme.defences)
        return distance.to(sent, [each != 0 for each in sent] if pruned else None)
    allowed = scheme.allowed(update)
    if allowed.noise:  # it is as large in all tensors, so that small ones tell nothing
        distance = replace(distance, balance=0.0)
    if allowed.scaled:
        distance = Cosine(distance.balance)
    if allowed.points:
        return distance.to(sent)
    low, high = (
        [some[name].to(each) for name, each in zip(update, sent, strict=True)] for some in (allowed.low, allowed.high)
    )
    return distance.to_allowed(sent, low, high, allowed.inside)
