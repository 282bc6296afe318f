"""Schemes as JSON and back: the public half of a release, checked field by field since anyone may have written it."""

import dataclasses
import math
import typing
from types import NoneType, UnionType
from typing import Any, TypeVar

from hideseek.errors import BadInput
from hideseek.records import Encoder, MixingEncoder
from hideseek.records.defence import Defence

S = TypeVar("S", bound=Encoder | Defence)


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
    parameters = {field.name: getattr(scheme, field.name) for field in _parameters(scheme)}
    return {"mechanism": scheme.mechanism, **{key: _described(value) for key, value in parameters.items()}}


def _parameters(mechanism: Any) -> list["dataclasses.Field[Any]"]:
    """Give the fields that schemes are told apart by: what is not compared is no parameter."""
    return [field for field in dataclasses.fields(mechanism) if field.compare]


def _described(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_described(each) for each in value]
    return to_json(value) if dataclasses.is_dataclass(value) else value


def from_json(described: object) -> MixingEncoder:
    """Build the scheme that a JSON object describes, or say what is wrong with it."""
    return scheme_of(described, MixingEncoder)  # type: ignore[type-abstract] # which is built by its name


def scheme_of(described: object, wanted: type[S]) -> S:
    """Do the same for a scheme of another kind, or a defence."""
    try:
        scheme: S = _build(described, wanted)
    except (RecursionError, OverflowError):
        raise BadInput("the release describes a scheme that cannot be: it was damaged.") from None
    return scheme


def _build(described: object, wanted: type[Any]) -> Any:
    """Build a scheme, or a part of one: any dataclass that has a `mechanism`."""
    name = described.get("mechanism") if isinstance(described, dict) else None
    known: dict[str, Any] = {wanted.mechanism: wanted} if hasattr(wanted, "mechanism") else {}
    for kind, mechanisms in ((Encoder, Encoder.mechanisms), (Defence, Defence.defences)):
        known = mechanisms if issubclass(wanted, kind) else known
    if not isinstance(described, dict) or not isinstance(name, str) or name not in known:
        raise BadInput(f"the scheme {name!r} is unknown here: update hideseek.")
    mechanism: type[Any] = known[name]
    hints = typing.get_type_hints(mechanism)
    kinds = {field.name: hints[field.name] for field in _parameters(mechanism)}
    given = {key: value for key, value in described.items() if key != "mechanism"}
    if not issubclass(mechanism, wanted) or set(given) != set(kinds):
        raise BadInput(f"the scheme {name} of the release does not have the parameters that it should: it was damaged.")
    return mechanism(**{key: _value(value, kinds[key], key) for key, value in given.items()})


def _has_parameters(kind: Any) -> bool:
    """Tell whether a parameter is a scheme, a defence, or a part of one."""
    return hasattr(kind, "mechanism") or (isinstance(kind, type) and issubclass(kind, (Encoder, Defence)))


def _value(value: object, kind: Any, name: str) -> Any:
    """Check a parameter against its declared type."""
    options = typing.get_args(kind) if isinstance(kind, UnionType) else (kind,)
    nested = next((each for each in options if _has_parameters(each)), None)
    if nested is not None and (value is not None or NoneType not in options):
        return _build(value, nested)
    if typing.get_origin(kind) is tuple and isinstance(value, list):
        return tuple(_value(each, typing.get_args(kind)[0], name) for each in value)
    if typing.get_origin(kind) is typing.Literal:
        fits = isinstance(value, str) and value in typing.get_args(kind)
    elif isinstance(value, bool) or value is None:
        fits = (bool if isinstance(value, bool) else NoneType) in options
    elif isinstance(value, (int, float)):
        fits = math.isfinite(value) and (float in options or (int in options and isinstance(value, int)))
    else:
        fits = isinstance(value, str) and str in options
    if not fits:
        raise BadParameter(name, value)
    return float(value) if isinstance(value, int) and float in options else value
