"""Defences of updates as people name them: chains with +, several side by side with commas."""

import dataclasses
import re
from typing import NamedTuple

from hideseek.errors import BadInput, no_such
from hideseek.hide import ENCODERS, RecipeEncoder
from hideseek.hide.files.schemes import BadParameter, scheme_of, to_json
from hideseek.hide.named import encoding, value_of
from hideseek.hide.updates import DEFENCES
from hideseek.records.defence import Defence

LARGEST = 0.65  # weight of an image in `mixup`, where a chain gives no other
NONE, UNDEFENDED = "none", "undefended"  # as it is written, and as reports call it
LINK = re.compile(r"\+(?=[a-zA-Z])")  # between two names; 1e+4 is a number


class Chain(NamedTuple):
    """What a client does: how images are encoded, and then what is done to the update, in this order."""

    encoding: RecipeEncoder | None = None
    defences: tuple[Defence, ...] = ()


def chains(text: str) -> dict[str, Chain]:
    """Read `NAME[:key=value…][+NAME…][,…]`; the report calls each chain by what was written, and `none` undefended.

    >>> chains("none,gradient-pruning:p=0.99+sign")["gradient-pruning:p=0.99+sign"].defences
    (GradientPruning(p=0.99), Sign())
    >>> chains("mixup:k=4,mixup:k=4:largest=1")["mixup:k=4"].encoding.largest
    0.65
    >>> chains("sign+intra-instahide:k=6")["sign+intra-instahide:k=6"].encoding.k
    6
    """
    named = [part.strip() for part in text.split(",") if part.strip()]
    if not named:
        raise BadInput(f"name a defence, or {NONE}.")
    for name in named:
        if named.count(name) > 1:
            raise BadInput(f"{name} is named twice: name every chain of defences once.")
    return {UNDEFENDED if name == NONE else name: _chain(name) for name in named}


def _chain(text: str) -> Chain:
    parts = [part.strip() for part in LINK.split(text)]
    if parts == [NONE]:
        return Chain()
    encodings, defences = [], []
    for part in parts:
        name, *settings = part.split(":")
        if name in ENCODERS:
            encodings.append(_encoding(name, *settings))
        elif name == NONE:
            raise BadInput(f"{NONE} stands alone: leave it out of {text}.")
        elif name not in DEFENCES:
            raise no_such("defence", name, [NONE, *DEFENCES, *ENCODERS])
        else:
            defences.append(_defence(name, *settings))
    if len(encodings) > 1:
        raise BadInput(f"images are encoded once, and {text} names {len(encodings)} encodings: keep one of them.")
    return Chain(next(iter(encodings), None), tuple(defences))


def _encoding(name: str, *settings: str) -> RecipeEncoder:
    """Build an encoding; `mixup` before a gradient has the bound of weights that Huang et al. (2021, A.3) have."""
    bounded = name == "mixup" and not any(setting.partition("=")[0] == "largest" for setting in settings)
    return encoding(name, *settings, *((f"largest={LARGEST}",) if bounded else ()))


def _defence(name: str, *settings: str) -> Defence:
    defence = DEFENCES[name]
    fields = [field.name for field in dataclasses.fields(defence)]  # type: ignore[arg-type] # defences are dataclasses
    given: dict[str, object] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not fields:
            raise BadInput(f"{name} has no parameters: leave out :{setting}.")
        if key not in fields:
            raise no_such(f"parameter of {name}", key, fields)
        if not equals:
            raise BadInput(f"write {name}:{key}=VALUE, not {name}:{key}.")
        given[key] = value_of(value)
    try:
        return scheme_of({**to_json(defence), **given}, Defence)  # type: ignore[type-abstract]
    except BadParameter as bad:
        raise BadInput(f"{name}: the parameter {bad.name} = {bad.value!r} is not usable: give another value.") from None
    except BadInput as mistake:
        raise BadInput(f"{name}: {mistake}") from None
