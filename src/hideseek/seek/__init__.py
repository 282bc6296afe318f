"""Seeking: what can still be found in a release. A new attack is one file and one line here."""

from typing import Any

from hideseek.records import Attack
from hideseek.seek.describe import describe, settings
from hideseek.seek.rows.averaging import AverageKnown, AverageSearch
from hideseek.seek.rows.braverman import Braverman
from hideseek.seek.rows.demask import Demask
from hideseek.seek.rows.distinguish import Distinguish
from hideseek.seek.rows.linear_inversion import LinearInversion
from hideseek.seek.rows.mixup_pairs import MixupPairs
from hideseek.seek.rows.mixup_public import MixupPublic
from hideseek.seek.rows.public_search import PublicSearch
from hideseek.seek.run import run

ATTACKS: dict[str, Attack[Any]] = {
    # InstaHide (Huang et al. 2020)
    "mixup-pairs": MixupPairs(),
    "mixup-public": MixupPublic(),
    "braverman": Braverman(),
    "demask": Demask(),
    "average-known": AverageKnown(),
    "average-search": AverageSearch(),
    "public-search": PublicSearch(),
    "distinguish": Distinguish(),
    # Singularized Mixup
    "linear-inversion": LinearInversion(),
    "linear-optimum": LinearInversion(prior="public"),
}

__all__ = ["ATTACKS", "describe", "run", "settings"]
