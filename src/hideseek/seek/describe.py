"""Saying in a line what an attack does, so that presets of one mechanism can be told apart; and its settings."""

import json
from dataclasses import asdict, fields, is_dataclass
from typing import Any

from hideseek.records import Attack


def describe(attack: Attack[Any]) -> str:
    """Give the first line of an attack's docstring, and the settings that are not its defaults.

    >>> from hideseek.seek.rows.public_search import PublicSearch
    >>> describe(PublicSearch(similarity="ssim", demask=True)).split(" (")[1]
    'similarity ssim, demask)'
    """
    line = (attack.__doc__ or "").partition("\n")[0].rstrip(".")
    changed = ", ".join(_changed(attack))
    return f"{line} ({changed})" if changed else line


def settings(attack: Attack[Any]) -> dict[str, Any]:
    """Give an attack's settings as JSON has them."""
    told: dict[str, Any] = json.loads(json.dumps(asdict(attack)))  # type: ignore[call-overload] # attacks are dataclasses
    return told


def _changed(settings: Any) -> list[str]:
    """Name the fields of a dataclass that differ from what they are by default."""
    names, default = [], type(settings)()
    for field in fields(settings):
        value, usual = getattr(settings, field.name), getattr(default, field.name)
        if is_dataclass(value):
            names += [f"{field.name} {change}" for change in _changed(value)]
        elif value != usual:
            names.append(field.name if value is True else f"{field.name} {value}")
    return names
