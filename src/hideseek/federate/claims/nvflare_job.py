"""Reading an NVFlare job: the filters and rounds of its configurations, in JSON or HOCON."""

import importlib
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hideseek.errors import BadInput
from hideseek.federate.claims.records import Given, NotKnown
from hideseek.federate.claims.sources import read_text
from hideseek.files import parsed

NAMES = ("config_fed_client", "config_fed_server")
SUFFIXES = (".json", ".conf")
LISTS = ("task_result_filters", "task_data_filters")
VARIABLE = re.compile(r"\{(\w+)\}")
DEEPEST = 40


def is_config(path: Path) -> bool:
    """Tell whether a file is a job's configuration, or a site's privacy policy."""
    return (path.stem in NAMES and path.suffix in SUFFIXES) or path.name == "privacy.json"


def read_config(path: Path, root: Path) -> tuple[dict[str, Any], str]:
    """Read a configuration, and its text."""
    place = path.relative_to(root).as_posix()
    text = read_text(path, root)
    try:
        content = parsed(text)
    except ValueError as error:
        if path.suffix != ".conf":
            raise BadInput(f"{place} is no valid JSON ({error}): correct it.") from None
        content = _hocon(text, place)
    if not isinstance(content, dict):
        raise BadInput(f"{place} holds no table of settings: correct it.")
    return content, text


def _hocon(text: str, place: str) -> Any:
    """Read HOCON by pyhocon, where that is installed; nothing may be included from elsewhere."""
    if re.search(r"^\s*[{,]?\s*include\b", text, re.MULTILINE):
        raise BadInput(f"{place} includes other files, which are not read: write it whole, as JSON.")
    try:
        library = importlib.import_module("pyhocon")
    except ImportError:
        raise BadInput(f"{place} is HOCON, and pyhocon is not installed: install it, or write it as JSON.") from None
    try:
        return library.ConfigFactory.parse_string(text).as_plain_ordered_dict()
    except Exception as error:  # noqa: BLE001 (pyhocon lets errors of its parser through)
        raise BadInput(f"{place} is no valid HOCON ({type(error).__name__}): correct it.") from None


def job_settings(content: Mapping[str, Any], text: str, path: Path, root: Path) -> Iterator[Given]:
    """Give the filters of a configuration; those of a site's policy lie in its scopes."""
    place = path.relative_to(root).as_posix()
    scopes = content.get("scopes")
    lines = _Lines(place, text)
    for table in (content, *(each for each in _list(scopes) if isinstance(each, dict))):
        for kind in LISTS:
            for group in _list(table.get(kind)):
                filters = group.get("filters") if isinstance(group, dict) else None
                for each in _list(filters):
                    if isinstance(each, dict):
                        yield _filter(each, content, lines, why=_direction(path, kind))


def _filter(entry: Mapping[str, Any], variables: Mapping[str, Any], lines: "_Lines", why: str) -> Given:
    """Describe one filter; one that does not act on what leaves a client is said to be of no use."""
    full = str(entry.get("path") or entry.get("class_path") or entry.get("name") or "a filter without a name")
    name = full.rpartition(".")[2]
    args = entry.get("args")
    args = args if isinstance(args, dict) else {}
    found: dict[str, float | NotKnown] = {}
    for key, value in args.items():
        if (number := _number(value, variables)) is not None:
            found[key] = number
    if "." in full and not full.startswith("nvflare."):
        found[""] = NotKnown(f"{full} is not NVFlare's own, and what it does is not read")
    return Given(name, lines.of(full), found, unused=why, arguments=frozenset(map(str, args)))


def _direction(path: Path, kind: str) -> str:
    """Say why a filter does not act on what leaves a client, if it does not."""
    if path.stem == "config_fed_server":
        return "it is a filter of the server, which acts on updates after they have left the clients"
    return "it filters what a client receives, not what leaves it" if kind == "task_data_filters" else ""


def _number(value: object, variables: Mapping[str, Any], depth: int = 0) -> float | NotKnown | None:
    """Give a number; a text {name} stands for a value at the top of the file."""
    if isinstance(value, bool | int | float):
        return float(value)
    if isinstance(value, str) and (variable := VARIABLE.fullmatch(value)) is not None:
        name = variable[1]
        if name not in variables or depth > DEEPEST:
            return NotKnown(f"is {{{name}}}, which the file does not have")
        return _number(variables[name], variables, depth + 1)
    if isinstance(value, str) and re.fullmatch(r"[-+.\deE]+", value):
        return NotKnown(f"is the text {value!r}, no number")
    return None


def job_rounds(content: Mapping[str, Any]) -> float | None:
    """Give the rounds of all workflows of a server, which run one after another; NaN where one's are not known."""
    workflows = [most for each in _list(content.get("workflows")) if (most := _most_rounds(each, content)) is not None]
    return sum(workflows) if workflows else _most_rounds(content, content)


def _most_rounds(part: object, content: Mapping[str, Any]) -> float | None:
    """Give the most rounds that are written anywhere in a part of a configuration."""
    found: list[float] = []
    waiting: list[object] = [part]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            for key, value in node.items():
                number = _number(value, content) if key == "num_rounds" else None
                found += [] if number is None else [math.nan if isinstance(number, NotKnown) else number]
                waiting.append(value)
        elif isinstance(node, list):
            waiting += node
    return math.nan if any(map(math.isnan, found)) else max(found, default=None)


class _Lines:
    """The lines of a file in which names stand, taken in order."""

    def __init__(self, place: str, text: str) -> None:
        self.place, self.text = place, text
        self.seen: dict[str, int] = {}

    def of(self, name: str) -> str:
        """Give the place of the next mention of a name."""
        at = self.text.find(name, self.seen.get(name, 0))
        if at < 0:
            return self.place
        self.seen[name] = at + len(name)
        return f"{self.place}:{self.text.count(chr(10), 0, at) + 1}"


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
