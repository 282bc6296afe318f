"""Schemes as JSON and back: the public half of a release, checked field by field since anyone may have written it."""

import dataclasses
import math
import typing
from types import NoneType, UnionType
from typing import Any

from hideseek.errors import BadInput
from hideseek.records import Encoder, MixingEncoder


class BadParameter(BadInput):
    """A parameter that a scheme cannot have; whoever knows where it was written says so in words of their own."""

    def __init__(self, name: str, value: object) -> None:
        super().__init__(f"the parameter {name} = {value!r} of the scheme is not usable: give another value.")
        self.name, self.value = name, value


def to_json(scheme: Any) -> dict[str, Any]:
    """Give the mechanism and the parameters of a scheme, or of a part of it.

    >>> from hideseek.hide import PairInstaHide
    >>> to_json(PairInstaHide(alpha=0.25))
    {'mechanism': 'pair-instahide', 'alpha': 0.25}
    """
    parameters = {field.name: getattr(scheme, field.name) for field in dataclasses.fields(scheme)}
    return {
        "mechanism": scheme.mechanism,
        **{key: to_json(value) if dataclasses.is_dataclass(value) else value for key, value in parameters.items()},
    }


def from_json(described: object) -> MixingEncoder:
    """Build the scheme that a JSON object describes, or say what is wrong with it."""
    try:
        scheme: MixingEncoder = _build(described, MixingEncoder)
    except (RecursionError, OverflowError):
        raise BadInput("the release describes a scheme that cannot be: it was damaged.") from None
    return scheme


def _build(described: object, wanted: type[Any]) -> Any:
    """Build a scheme, or a part of one: any dataclass that has a `mechanism`."""
    name = described.get("mechanism") if isinstance(described, dict) else None
    known = Encoder.mechanisms if issubclass(wanted, Encoder) else {wanted.mechanism: wanted}
    if not isinstance(described, dict) or not isinstance(name, str) or name not in known:
        raise BadInput(f"the scheme {name!r} is unknown here: update hideseek.")
    mechanism: type[Any] = known[name]
    hints = typing.get_type_hints(mechanism)
    kinds = {field.name: hints[field.name] for field in dataclasses.fields(mechanism)}
    given = {key: value for key, value in described.items() if key != "mechanism"}
    if not issubclass(mechanism, wanted) or set(given) != set(kinds):
        raise BadInput(f"the scheme {name} of the release does not have the parameters that it should: it was damaged.")
    return mechanism(**{key: _value(value, kinds[key], key) for key, value in given.items()})


def _value(value: object, kind: Any, name: str) -> Any:
    """Check a parameter against its declared type."""
    if hasattr(kind, "mechanism") or (isinstance(kind, type) and issubclass(kind, Encoder)):
        return _build(value, kind)
    options = typing.get_args(kind) if isinstance(kind, UnionType) else (kind,)
    if typing.get_origin(kind) is typing.Literal:
        fits = isinstance(value, str) and value in typing.get_args(kind)
    elif isinstance(value, bool) or value is None:
        fits = (bool if isinstance(value, bool) else NoneType) in options
    elif isinstance(value, (int, float)):
        fits = math.isfinite(value) and (float in options or (int in options and isinstance(value, int)))
    else:
        fits = False
    if not fits:
        raise BadParameter(name, value)
    return float(value) if isinstance(value, int) and float in options else value
