"""result.json: writing it, and reading what may be damaged, newer than this code, or a stranger's."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

from hideseek.errors import BadInput
from hideseek.files import new_file
from hideseek.records.result import FORMAT, Result

if TYPE_CHECKING:
    from pydantic import TypeAdapter

NAME = "result.json"
PICTURES = "pictures"
Way = tuple[str | int, ...]
LARGEST = 1e100  # numbers below it can be divided and drawn


def write_result(result: Result, folder: Path) -> None:
    """Write a result into its folder, after checking that it can be read back; a ValueError says what is wrong."""
    described = dataclasses.asdict(result)
    text = json.dumps(described, indent=1, ensure_ascii=False, allow_nan=False)
    _checked(json.loads(text))
    with new_file(folder / NAME) as file:
        file.write(text.encode() + b"\n")


def read_result(place: Path) -> Result:
    """Read a result from its folder, or from the file itself, after checking all of it."""
    path = place / NAME if place.is_dir() else place
    if not path.is_file():
        raise BadInput(
            f"{place} is not an audit's folder, since there is no {NAME}: name the folder that `hideseek audit` wrote, "
            "or run that audit again with --resume if it was stopped."
        )
    try:
        described = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError):  # no JSON, no text, or a number of thousands of digits
        raise BadInput(f"{path} is damaged or cut short: run the audit again with --resume.") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror}): change its permissions or copy it again.") from None
    version = described.get("format") if isinstance(described, dict) else None
    if isinstance(version, int) and version > FORMAT:
        raise BadInput(f"{path} has the format {version}, newer than the {FORMAT} that is known here: update hideseek.")
    try:
        return _checked(described)
    except RecursionError:
        raise BadInput(f"{path} is nested too deeply for an audit's result: run the audit again.") from None
    except ValueError as error:
        raise BadInput(
            f"{path} is not what an audit writes ({error}): run the audit again, or get the file again from its source."
        ) from None


def schema() -> dict[str, Any]:
    """Give the JSON Schema of result.json."""
    described = _adapter().json_schema()
    for part in (described, *described["$defs"].values()):
        if "properties" in part:
            part["additionalProperties"] = False
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The result of a hideseek audit",
        "version": FORMAT,
        **{key: value for key, value in described.items() if key != "title"},
    }


def _adapter() -> "TypeAdapter[Result]":
    from pydantic import TypeAdapter

    return TypeAdapter(Result)


def _checked(described: Any) -> Result:
    """Build a result from what JSON says; what does not fit is a ValueError that says where."""
    from pydantic import ValidationError

    adapter = _adapter()
    for where, value in _leaves(described):
        if isinstance(value, int | float) and not -LARGEST < value < LARGEST:  # NaN is not
            raise ValueError(f"{_way(where)}: not a number that can be drawn")
    try:
        result = adapter.validate_json(json.dumps(described), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise ValueError(f"{_way(first['loc'])}: {first['msg'][:1].lower()}{first['msg'][1:]}") from None
    known = {where for where, _ in _leaves(dataclasses.asdict(result))}
    if strange := next((where for where, _ in _leaves(described) if where not in known), None):
        raise ValueError(f"{_way(strange)}: an unknown field")
    _check_drawable(result)
    return result


def _leaves(value: Any, where: Way = ()) -> Iterator[tuple[Way, Any]]:
    """Walk through all that is in a value, with the way to it."""
    yield where, value
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list | tuple) else ()
    for key, part in parts:
        yield from _leaves(part, (*where, key))


def _way(where: Way) -> str:
    return ".".join(map(str, where))[:80] or "the whole"


def _check_drawable(result: Result) -> None:
    """Refuse what the types allow and a page cannot show: pictures elsewhere, curves without all their points."""
    for scheme in result.schemes:
        for tried in scheme.attacks:
            for panel in (panel for exhibit in tried.exhibits for panel in exhibit.panels):
                if not inside(panel.file):
                    raise ValueError(f"the picture {panel.file[:80]!r} is not in the audit's folder")
            for curve in tried.curves:
                if not len(curve.x) == len(curve.y) or len(curve.baseline) not in (0, len(curve.x)):
                    raise ValueError(f"the curve {curve.title[:80]!r} has not as many heights as places")


def inside(name: str) -> bool:
    r"""Tell whether a picture's name stays in its folder, on any machine.

    >>> inside("mixup/best-1.png"), inside("../faces/1.png"), inside("/faces/1.png"), inside("C:\\faces\\1.png")
    (True, False, False, False)
    """
    strange = not name or "\\" in name or "\0" in name or PureWindowsPath(name).drive
    path = PurePosixPath(name)
    return not strange and not path.is_absolute() and ".." not in path.parts
