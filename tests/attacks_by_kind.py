"""Attacks by the kind of release that they are on."""

from typing import Any

from hideseek.records import Attack, EncodedRelease
from hideseek.seek import ATTACKS, VARIANTS

ROW_ATTACKS: dict[str, Attack[Any]] = {name: each for name, each in ATTACKS.items() if each.sees is EncodedRelease}
ROW_VARIANTS: dict[str, Attack[Any]] = {name: each for name, each in VARIANTS.items() if each.sees is EncodedRelease}
UPDATE_ATTACKS: dict[str, Attack[Any]] = {
    name: each for name, each in {**ATTACKS, **VARIANTS}.items() if name not in {**ROW_ATTACKS, **ROW_VARIANTS}
}
