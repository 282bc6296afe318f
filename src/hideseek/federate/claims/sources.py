"""Reading a project's files: Python is parsed, never imported or run; links out of the project are not followed."""

import ast
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hideseek.errors import BadInput
from hideseek.files import read_bytes

LONGEST = 1 << 22  # bytes of a source or configuration: nobody writes more by hand
MOST = 20_000  # files of a project that are looked at
SKIPPED = {"__pycache__", "node_modules", "site-packages", "venv", "build", "dist"}


@dataclass(frozen=True)
class Unread:
    """A file that may hold settings, and was not read."""

    place: str
    why: str


@dataclass(frozen=True)
class Module:
    """A parsed Python file."""

    place: str
    """Its path in the project."""
    name: str
    """Its dotted name."""
    tree: ast.Module


def project_folder(path: Path) -> Path:
    """Give the folder of a project, or say that there is none."""
    try:
        if path.is_dir():
            return path.resolve()
        there = path.exists()
    except (OSError, RuntimeError) as error:  # a loop of links is a RuntimeError where it is resolved
        raise BadInput(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    what = "is no folder" if there else "is not there"
    raise BadInput(f"{path} {what}: name the folder of a Flower project or an NVFlare job.")


def project_files(root: Path) -> tuple[list[Path], list[Unread]]:
    """Give the files of a project in order, and the links that are not followed."""
    found: list[Path] = []
    unread: list[Unread] = []
    for folder, folders, names in os.walk(root, followlinks=False):
        kept = []
        for name in sorted(folders):
            if (Path(folder) / name).is_symlink():
                unread += _left_out(root, Path(folder) / name, "a folder")
            elif not name.startswith(".") and name not in SKIPPED and not (Path(folder, name, "pyvenv.cfg")).exists():
                kept.append(name)
        folders[:] = kept
        for name in sorted(names):
            path = Path(folder) / name
            if not path.is_symlink():
                found.append(path)
            elif path.suffix in (".py", ".toml", ".json", ".conf"):
                unread += _left_out(root, path, "a file")
        if len(found) > MOST:
            raise BadInput(f"{root} has more than {MOST:,} files: name the folder of one project.")
    return sorted(found), unread


def _left_out(root: Path, link: Path, what: str) -> Iterator[Unread]:
    """Name a link that is not followed, unless it leads to what is read anyway."""
    place = link.relative_to(root).as_posix()
    try:
        inside = link.resolve(strict=True).is_relative_to(root)
    except (OSError, RuntimeError):
        yield Unread(place, "it is a link that leads nowhere")
        return
    if not inside:
        yield Unread(place, f"it is a link to {what} outside the project, which is not followed")


def read_text(path: Path, root: Path) -> str:
    """Read a text of the project, of a bounded length."""
    place = path.relative_to(root).as_posix()
    if path.stat().st_size > LONGEST:
        raise BadInput(f"{place} has more than {LONGEST >> 20} MiB, which no source or configuration has: remove it.")
    try:
        return read_bytes(path, LONGEST).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput(f"{place} is no text in UTF-8: save it as such.") from None


def read_modules(paths: Sequence[Path], root: Path) -> tuple[list[Module], list[Unread]]:
    """Parse Python files; what cannot be read, such as a file in Python 2, is named and does not stop the others."""
    modules: list[Module] = []
    unread: list[Unread] = []
    for path in paths:
        place = path.relative_to(root).as_posix()
        try:
            modules.append(read_module(path, root))
        except BadInput as mistake:
            unread.append(Unread(place, str(mistake).removesuffix(".")))
        except OSError as error:
            unread.append(Unread(place, f"{place} cannot be read ({error.strerror or error})"))
    return modules, unread


def read_module(path: Path, root: Path) -> Module:
    """Parse a Python file."""
    relative = path.relative_to(root)
    text = read_text(path, root)
    try:
        with warnings.catch_warnings():  # on escapes in strings of others' code
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except SyntaxError as error:
        where = f"{relative.as_posix()}:{error.lineno or 1}"
        raise BadInput(f"{where} is no valid Python ({error.msg}): correct it, then check again.") from None
    except (ValueError, RecursionError, MemoryError):
        raise BadInput(f"{relative.as_posix()} cannot be parsed as Python: correct or remove it.") from None
    parts = [*relative.with_suffix("").parts]
    if len(parts) > 1 and parts[0] == "src":
        parts = parts[1:]
    return Module(relative.as_posix(), ".".join(parts), tree)
