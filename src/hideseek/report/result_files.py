"""result.json: writing it, and reading what may be damaged, newer than this code, or a stranger's."""

import dataclasses
import json
from collections.abc import Callable
from json import JSONDecodeError
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any, TypeVar

from hideseek.errors import BadInput
from hideseek.files import new_file, parsed, read_bytes
from hideseek.records.result import FORMAT, Advice, AttackResult, Result
from hideseek.report import sentences

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")
NAME = "result.json"
PICTURES = "pictures"
LARGEST = 1e100  # numbers below it can be divided and drawn
LONGEST_FILE = 1 << 28  # bytes: an audit writes some thousands
LONGEST = 400  # letters of a number: more are an attempt to keep us busy


def write_result(result: Result, folder: Path) -> None:
    """Write a result into its folder, after checking that it can be read back; a ValueError says what is wrong."""
    text = json.dumps(dataclasses.asdict(result), indent=1, ensure_ascii=False, allow_nan=False)
    _parsed(text)
    _checked(text)
    with new_file(folder / NAME) as file:
        file.write(text.encode() + b"\n")


def read_result(place: Path) -> Result:
    """Read a result from its folder, or from the file itself, after checking all of it."""
    path = place / NAME if place.is_dir() else place
    if not path.is_file():
        raise BadInput(
            f"{place} is not an audit's folder, since there is no {NAME}: name the folder that an audit wrote, "
            "or go on with that audit if it was stopped."
        )
    try:
        text = read_bytes(path, LONGEST_FILE).decode("utf-8")
        described = _parsed(text)
    except (JSONDecodeError, UnicodeDecodeError):
        raise BadInput(f"{path} is damaged or cut short: run the audit again.") from None
    except ValueError as error:
        raise _strange(path, error) from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror}): change its permissions or copy it again.") from None
    version = described.get("format") if isinstance(described, dict) else None
    if isinstance(version, int) and version > FORMAT:
        raise BadInput(f"{path} has the format {version}, newer than the {FORMAT} that is known here: update hideseek.")
    if isinstance(version, int) and version < FORMAT:
        raise BadInput(f"{path} has the format {version} of an older version of hideseek: run the audit again.")
    try:
        return _checked(text)
    except ValueError as error:
        raise _strange(path, error) from None


def _strange(path: Path, error: ValueError) -> BadInput:
    return BadInput(
        f"{path} is not what an audit writes ({error}): run the audit again, or get the file again from its source."
    )


def schema() -> dict[str, Any]:
    """Give the JSON Schema of result.json."""
    described = _adapter().json_schema()
    for part in (described, *described["$defs"].values()):
        part["description"] = part["description"].partition("\n\n")[0]  # without examples in Python
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The result of a hideseek audit",
        "version": FORMAT,
        **{key: value for key, value in described.items() if key != "title"},
    }


def _adapter() -> "TypeAdapter[Result]":
    from pydantic import TypeAdapter

    return TypeAdapter(Result)


def _parsed(text: str) -> Any:
    """Parse JSON; a number that is none, or too large to be drawn, or a name that stands twice, is a ValueError."""
    return parsed(text, parse_float=_drawable, parse_int=_drawable, parse_constant=_drawable)


def _drawable(text: str) -> float:
    if len(text) <= LONGEST and abs(value := float(text)) < LARGEST:  # NaN is not
        return value if set(text) & set(".eE") else int(text)
    raise ValueError(f"{text[:20]} is not a number that can be drawn")


def _checked(text: str) -> Result:
    """Build a result from JSON; what does not fit is a ValueError that says where."""
    from pydantic import ValidationError

    try:
        result = _adapter().validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))[:80] or "the whole"
        said = "an unknown field" if first["type"] == "unexpected_keyword_argument" else first["msg"]
        raise ValueError(f"{where}: {said[:1].lower()}{said[1:]}") from None
    for scheme in result.schemes:
        for attack in scheme.attacks:
            _check_drawable(attack)
    _check_facts(result)
    return result


def _check_drawable(attack: AttackResult) -> None:
    """Refuse what the types allow and a page cannot show: pictures elsewhere, curves without all their points."""
    for panel in (panel for exhibit in attack.exhibits for panel in exhibit.panels):
        if not inside(panel.file):
            raise ValueError(f"the picture {panel.file[:80]!r} is not in the audit's folder")
    for curve in attack.curves:
        if not len(curve.x) == len(curve.y) or len(curve.baseline) not in (0, len(curve.x)):
            raise ValueError(f"the curve {curve.title[:80]!r} has not as many heights as places")


def _check_facts(result: Result) -> None:
    """Refuse flags and refusals without the facts that their sentences need."""
    for flag in result.flags:
        _check(f"the flag {flag.kind.value!r}", sentences.flag, flag)
    for scheme in result.schemes:
        records: list[AttackResult | Advice] = [*scheme.attacks, *scheme.advice]
        for refusal in (each.refusal for each in records if each.refusal):
            _check(f"the refusal {refusal.reason.value!r}", sentences.refusal, refusal)


def _check(what: str, say: Callable[[T], str], record: T) -> None:
    try:
        say(record)
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"{what} lacks a fact") from None


def inside(name: str) -> bool:
    r"""Tell whether a picture's name stays in its folder, on any machine.

    >>> inside("mixup/best-1.png"), inside("../faces/1.png"), inside("/faces/1.png"), inside("C:\\faces\\1.png")
    (True, False, False, False)
    """
    strange = not name or "\\" in name or "\0" in name or PureWindowsPath(name).drive
    path = PurePosixPath(name)
    return not strange and not path.is_absolute() and ".." not in path.parts
