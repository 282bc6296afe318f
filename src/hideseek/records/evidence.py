"""What an attack brings back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hideseek.records.claims import Claim


@dataclass(frozen=True)
class Evidence:
    """An attack's claims, which a judge can score, its own remarks, and what it cost.

    `remarks` are figures of the attacker's side, fit for JSON: how well his network did on images of his own, the
    p-values of a test. They are no proof of a leak; claims are what is scored.
    """

    claims: tuple[Claim, ...]
    remarks: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    memory: int = 0  # bytes, the most that the attack needed beyond what was there before
