"""The attacks on encodings, of all that there are."""

from typing import Any

from hideseek.records import Attack, EncodedRelease
from hideseek.seek import ATTACKS, VARIANTS

ROW_ATTACKS: dict[str, Attack[Any]] = {name: each for name, each in ATTACKS.items() if each.sees is EncodedRelease}
ROW_VARIANTS: dict[str, Attack[Any]] = {name: each for name, each in VARIANTS.items() if each.sees is EncodedRelease}
