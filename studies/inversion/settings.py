"""Figures 4 and 5: how much total variation and batch-norm statistics should weigh.

python studies/gradient_inversion.py --only figure4
python studies/gradient_inversion.py --only figure5
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from inversion.columns import COLUMNS, attacked_images, own_images
from inversion.measured import attacked, file_name
from inversion.table5 import SETTINGS, STEPS, published
from ledger import Trial

from hideseek.hide.files.schemes import to_json
from hideseek.hide.updates import ShareUpdates
from hideseek.records import Attack
from hideseek.seek.systems.matching_prior import Prior

VARIATION = (0.0, 1e-3, 5e-3, 1e-2, 5e-2, 1e-1, 5e-1)  # α_TV of Figure 4, for one image
STATISTICS = (0.0, 5e-4, 1e-3, 5e-3, 1e-2)  # α_BN of Figure 5, for a batch of 16
ONE, SIXTEEN = 10, 16  # images that are attacked, one by one and together


def trials(scale: str) -> Iterator[Trial]:
    """Give every weight of both figures."""
    setting = SETTINGS[scale][-1]  # the network with BatchNorm
    usual = published("strongest", STEPS[scale])
    for weight in VARIATION:
        attack = replace(usual, prior=Prior(weight))
        scheme = replace(COLUMNS["none"].scheme(setting.model, 1, setting.mode))
        yield _trial("figure4", variation(weight), scheme, ONE, attack, {"total variation": weight})
    for weight in STATISTICS:
        attack = replace(usual, statistics_weight=weight, statistics="own", prior=Prior(1e-3))
        scheme = COLUMNS["none"].scheme(setting.model, SIXTEEN, setting.mode)
        yield _trial("figure5", statistics(weight), scheme, SIXTEEN, attack, {"statistics": weight})


def variation(weight: float) -> str:
    """Name a trial of Figure 4."""
    return f"figure4: total variation {weight:g}"


def statistics(weight: float) -> str:
    """Name a trial of Figure 5."""
    return f"figure5: batch-norm statistics {weight:g}"


def _trial(
    item: str, title: str, scheme: ShareUpdates, images: int, attack: Attack[Any], about: dict[str, Any]
) -> Trial:
    steps = getattr(attack, "optimiser").steps  # noqa: B009 (attacks of other kinds have none)
    settings = about | {"scheme": to_json(scheme), "images": images, "steps": steps, "seed": 0}
    run_it = partial(_measured, scheme, images, attack, title)
    return Trial(item, title, settings, run_it, judged=True)


def _measured(scheme: ShareUpdates, images: int, attack: Attack[Any], title: str) -> dict[str, Any]:
    return attacked(scheme, attacked_images(images), attack, images, own=own_images(), picture=file_name(title))
