"""Saying in a line what an attack does, so that presets of one mechanism can be told apart; and its settings."""

import re
from dataclasses import fields, is_dataclass
from typing import Any

from hideseek.records import Attack


def describe(attack: Attack[Any]) -> str:
    """Give the first line of an attack's docstring, and the settings that are not its defaults.

    >>> from hideseek.seek.rows.public_search import PublicSearch
    >>> from hideseek.seek.signals.ssim_search import Ssim
    >>> describe(PublicSearch(similarity=Ssim(), top=5)).split(" (")[1]
    'similarity: ssim, top 5)'
    """
    line = (attack.__doc__ or "").partition("\n")[0].rstrip(".")
    changed = ", ".join(_changed(attack))
    return f"{line} ({changed})" if changed else line


def settings(part: Any) -> dict[str, Any]:
    """Give the settings of an attack, or of a part of one, as JSON has them; a part says by `kind` which it is."""
    values = {field.name: getattr(part, field.name) for field in fields(part)}
    return {name: _kind_and_settings(value) if is_dataclass(value) else value for name, value in values.items()}


def _kind_and_settings(part: Any) -> dict[str, Any]:
    return {"kind": _words(part), **settings(part)}


def _changed(part: Any, default: Any = None) -> list[str]:
    """Name the fields of a dataclass that differ from what they are by default, of its kind or where it is a part."""
    names, default = [], type(part)() if default is None else default
    for field in fields(part):
        value, usual = getattr(part, field.name), getattr(default, field.name)
        if is_dataclass(value):
            same = type(value) is type(usual)
            names += [] if same else [f"{field.name}: {_words(value)}"]
            names += [f"{field.name} {change}" for change in _changed(value, usual if same else None)]
        elif value != usual:
            names.append(field.name if value is True else f"{field.name} {value}")
    return names


def _words(part: object) -> str:
    """Give the name of a class as words: restore signs."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(part).__name__).lower()
