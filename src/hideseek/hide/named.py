"""Schemes as people name them: several with commas between, each with parameters of its own."""

import dataclasses
import json
from collections.abc import Mapping

from hideseek.errors import BadInput, no_such
from hideseek.hide import ENCODERS, Coarse, RecipeEncoder
from hideseek.hide.files.schemes import BadParameter, scheme_of, to_json

SHARED = ("labels", "rows")  # parameters of every scheme


def schemes(text: str) -> dict[str, RecipeEncoder]:
    """Read `NAME,NAME:key=value:key=value`; the report calls each by what was written.

    Every scheme has the keys `labels` and `rows` too, which say how exactly these are shared.

    >>> schemes("mixup,singularized-mixup:tau=1e-4")["singularized-mixup:tau=1e-4"].tau
    0.0001
    """
    named = [part.strip() for part in text.split(",") if part.strip()]
    for name in named:
        if named.count(name) > 1:
            raise BadInput(f"{name} is named twice: name every scheme once.")
    return {name: encoding(*name.split(":")) for name in named}


def encoding(name: str, *settings: str) -> RecipeEncoder:
    """Build a scheme of ENCODERS with settings of the form key=value."""
    if name not in ENCODERS:
        raise no_such("scheme", name, ENCODERS)
    scheme = ENCODERS[name]
    fields = [field.name for field in dataclasses.fields(scheme)]  # type: ignore[arg-type] # encoders are dataclasses
    given: dict[str, object] = {}
    shared: dict[str, object] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        key = key.replace("-", "_")
        if key not in (*fields, *SHARED):
            raise no_such(f"parameter of {name}", key, [*fields, *SHARED])
        if not equals:
            raise BadInput(f"write {name}:{key}=VALUE, not {name}:{key}.")
        (given if key in fields else shared)[key] = value_of(value)
    described = {**to_json(scheme), **given}
    if shared:
        described = {**to_json(Coarse(scheme)), **shared, "scheme": described}
    return _checked(name, described)


def value_of(text: str) -> object:
    """Read a number, none, or a word."""
    try:
        return json.loads({"none": "null", "None": "null"}.get(text, text))
    except ValueError:
        return text


def _checked(name: str, described: Mapping[str, object]) -> RecipeEncoder:
    try:
        return scheme_of(described, RecipeEncoder)  # type: ignore[type-abstract] # which is built by its name
    except BadParameter as bad:
        raise BadInput(
            f"{name}: the parameter {bad.name} = {bad.value!r} is not usable here: give another value."
        ) from None
    except BadInput as mistake:
        raise BadInput(f"{name}: {mistake}") from None
