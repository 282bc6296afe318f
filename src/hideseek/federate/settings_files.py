"""Settings of a node and of a server as files: what their owners wrote, read without guessing."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from hideseek.errors import BadInput
from hideseek.federate.party import Part, PartySettings
from hideseek.federate.server import ServerSettings
from hideseek.files import read_bytes

NODE, POLICY, KEPT = "node.toml", "policy.toml", "kept"
SERVER = "server.toml"
LONGEST = 1 << 20  # bytes of such a file
PART = {"part": int, "parts": int, "alpha": float}
OF_NODE = {"data": str, "record": bool, **PART}
NODE_TEMPLATE = """# What this node has. Only its owner changes this file, and policy.toml beside it.

# Private images with labels: folder:, dicom: or npz:PATH, or a name.
data = {data}
{part}
# Whether to keep what was sent, with the ground truth, for an audit of one's own (hideseek audit --recorded kept).
record = {record}
"""


def read_node(folder: Path) -> PartySettings:
    """Read the settings of a node from its folder; it keeps what it needs again in a folder inside."""
    plain = _read(folder / NODE, OF_NODE, ("data",))
    part = None
    if "part" in plain or "parts" in plain:
        part = Part(plain.get("part", 0), plain.get("parts", 1), plain.get("alpha"))
    return PartySettings(plain["data"], folder / KEPT, part, folder / POLICY, plain.get("record", False))


def write_node(data: str, part: Part | None, record: bool) -> str:
    """Write the settings of a node."""
    said = ""
    if part is not None:
        said = f"\n# The part of these images that this node has: for a trial on one machine.\npart = {part.number}\n"
        said += f"parts = {part.of}\n" + ("" if part.alpha is None else f"alpha = {float(part.alpha)!r}\n")
    return NODE_TEMPLATE.format(data=written(data), part=said, record=written(record))


def read_server(path: Path) -> tuple[ServerSettings, str | None]:
    """Read the settings of a server, and the address of its test images; its folder is taken from the file's own."""
    types = {each.name: _KINDS[each.type] for each in fields(ServerSettings) if each.type in _KINDS}
    plain = _read(path, {**types, "out": str, "test": str}, ("out",))
    test = plain.pop("test", None)
    return ServerSettings(**{**plain, "out": path.parent / plain["out"]}), test


def write_server(settings: ServerSettings, test: str | None) -> str:
    """Write the settings of a server."""
    lines = ["# How the server runs the federation.", f"out = {written(settings.out.name)}"]
    for each in fields(ServerSettings):
        if each.name != "out" and (value := getattr(settings, each.name)) is not None:
            lines.append(f"{each.name} = {written(value)}")
    return "\n".join([*lines, *([] if test is None else [f"test = {written(test)}"])]) + "\n"


_KINDS: Mapping[Any, type] = {
    str: str, int: int, float: float, bool: bool, int | None: int, float | None: float
}  # fmt: skip


def _read(path: Path, known: Mapping[str, type], needed: tuple[str, ...]) -> dict[str, Any]:
    """Read a file of settings; what is unknown or of another kind is refused: it was meant to change something."""
    try:
        plain = tomllib.loads(read_bytes(path, LONGEST).decode("utf-8"))
    except (OSError, ValueError):
        raise BadInput(f"{path} cannot be read: write it as TOML.") from None
    if unknown := sorted(set(plain) - set(known)):
        raise BadInput(f"{path} has {unknown[0]!r}, which is unknown here: choose of {', '.join(known)}.")
    if missing := [name for name in needed if name not in plain]:
        raise BadInput(f"{path} does not say {missing[0]}: add it.")
    for name, value in plain.items():
        given = int if known[name] is int else (int, float) if known[name] is float else known[name]
        if not isinstance(value, given) or (isinstance(value, bool) and known[name] is not bool):
            raise BadInput(f"{path}: {name} must be of the kind {known[name].__name__}, not {value!r}.")
    return {name: float(value) if known[name] is float else value for name, value in plain.items()}


def written(value: str | float | bool) -> str:
    r"""Write a value as TOML does.

    >>> written('a"b'), written(True), written(0.5), written(3)
    ('"a\\"b"', 'true', '0.5', '3')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
