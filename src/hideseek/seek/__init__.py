"""Seeking: what can still be found in a release. A new attack is one file and one line here."""

from typing import Any

from hideseek.records import Attack
from hideseek.seek.run import run

ATTACKS: dict[str, Attack[Any]] = {}

__all__ = ["ATTACKS", "run"]
