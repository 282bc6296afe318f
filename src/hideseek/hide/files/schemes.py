"""Schemes as JSON and back: the public half of a release, checked field by field since anyone may have written it."""

import dataclasses
import math
import typing
from types import NoneType, UnionType
from typing import Any

from hideseek.errors import BadInput
from hideseek.hide.encoders.augmented import Augmented
from hideseek.hide.encoders.instahide import InstaHide, PairInstaHide
from hideseek.hide.encoders.laplace import Laplace
from hideseek.hide.encoders.mixup import Mixup
from hideseek.hide.encoders.singularized_mixup import SingularizedMixup
from hideseek.hide.mixing.geometry import Geometry

MECHANISMS: dict[str, type[Any]] = {
    "mixup": Mixup,
    "instahide": InstaHide,
    "pair-instahide": PairInstaHide,
    "laplace": Laplace,
    "singularized-mixup": SingularizedMixup,
    "augmented": Augmented,
    "geometry": Geometry,
}
_NAMES = {mechanism: name for name, mechanism in MECHANISMS.items()}


def to_json(scheme: Any) -> dict[str, Any]:
    """Give a scheme's mechanism and parameters.

    >>> to_json(PairInstaHide(alpha=0.25))
    {'mechanism': 'pair-instahide', 'alpha': 0.25}
    """
    parameters = {field.name: getattr(scheme, field.name) for field in dataclasses.fields(scheme)}
    return {
        "mechanism": _NAMES[type(scheme)],
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
    name = described.get("mechanism") if isinstance(described, dict) else None
    if not isinstance(described, dict) or not isinstance(name, str) or name not in MECHANISMS:
        raise BadInput(f"the scheme {name!r} is unknown here: update hideseek.")
    mechanism = MECHANISMS[name]
    kinds = typing.get_type_hints(mechanism)
    given = {key: value for key, value in described.items() if key != "mechanism"}
    if not issubclass(mechanism, wanted) or set(given) != set(kinds):
        raise BadInput(f"the scheme {name} of the release does not have the parameters that it should: it was damaged.")
    return mechanism(**{key: _value(value, kinds[key], key) for key, value in given.items()})


def _value(value: object, kind: Any, name: str) -> Any:
    """Check a parameter against its declared type."""
    options = typing.get_args(kind) if isinstance(kind, UnionType) else (kind,)
    if kind in (MixingEncoder, Geometry):
        return _build(value, kind)
    if typing.get_origin(kind) is typing.Literal:
        fits = isinstance(value, str) and value in typing.get_args(kind)
    elif isinstance(value, bool) or value is None:
        fits = (bool if isinstance(value, bool) else NoneType) in options
    elif isinstance(value, (int, float)):
        fits = math.isfinite(value) and (float in options or (int in options and isinstance(value, int)))
    else:
        fits = False
    if not fits:
        raise BadInput(f"the parameter {name} = {value!r} of the release's scheme is not usable: it was damaged.")
    return float(value) if isinstance(value, int) and float in options else value
