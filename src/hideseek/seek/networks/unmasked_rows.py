"""Rows without their masks, as far as may be."""

from typing import Any

from jaxtyping import Float
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.records import EncodedRelease
from hideseek.seek.networks.restore_signs import RestoreSigns


def unmasked_rows(
    release: EncodedRelease, signs: RestoreSigns | None, chance: Randomness
) -> tuple[Float[Tensor, "n c h w"], dict[str, Any]]:
    """Give the rows without their masks: as they are, with signs restored, or as absolute values; and remarks.

    A restored pixel is the mean of what it may have been: in an average, a sign that is a coin toss shall not count.
    """
    rows = release.encoded.pixels()
    if not release.scheme.masked:
        return rows, {}
    if signs is None:
        return rows.abs(), {}
    restore = signs.train(release, chance)
    return restore.expected(rows), {"wrong signs before": restore.before, "wrong signs": restore.wrong}
