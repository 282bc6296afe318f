"""`hideseek audit --config FILE`: the command line in a TOML file; what is typed wins over what is in the file."""

import dataclasses
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from tyro.conf import FlagCreatePairsOff

from hideseek.errors import BadInput, no_such
from hideseek.files import read_bytes

OPTION = "--config"
TABLE = "audit"
SCHEMES, UPDATES = "schemes", "updates"
NAMED = ("recorded", "release")  # what else an audit may be of, each an option
FORMS = (SCHEMES, UPDATES, *NAMED)
MODEL = "model"  # what is audited where no form is named; among the options of updates, the model that they change
LONGEST = 1 << 20  # bytes of a file


@dataclass(frozen=True)
class ConfigFile:
    """Options by their names without dashes in front, as a file has them."""

    path: Path
    values: Mapping[str, Any]

    def options(self, typed: Sequence[str], kind: Any) -> list[str]:
        """Give the options of the file that are not typed; a key that is no option of this command is refused."""
        known = dict(_options_of(kind))
        for key in self.values:
            if key not in known:
                raise BadInput(f"{self.path}: {no_such('key', key, known)}")
        given = {_name(each) for each in typed if each.startswith("--")}
        words = [self._words(key, value, known[key]) for key, value in self.values.items() if key not in given]
        return [word for each in words for word in each]

    def _words(self, key: str, value: Any, switch: bool) -> list[str]:
        if isinstance(value, bool):
            return [f"--{key}"] if value else [] if switch else [f"--no-{key}"]
        return [f"--{key}", self.text(key, value)]

    def text(self, key: str, value: Any) -> str:
        """Give a value as it would be typed: a list has commas between."""
        parts = value if isinstance(value, list) else [value]
        if not parts or any(isinstance(part, bool) or not isinstance(part, str | int | float) for part in parts):
            raise BadInput(f"{self.path}: {key} must be text, a number, true or false, or a list of texts.")
        return ",".join(map(str, parts))


def configured(arguments: Sequence[str]) -> tuple[list[str], ConfigFile | None]:
    """Take the file out of a command line, and put what it says is audited first, unless that is typed."""
    rest = list(arguments)
    path = _taken(rest)
    if path is None:
        return rest, None
    values = _read(path)
    if _of_model(rest, values):
        options = rest[1:] if rest[:1] == [MODEL] else rest
        named = [] if options and not options[0].startswith("-") else _model_named(ConfigFile(path, values))
        rest = [MODEL, *named, *options]
        return rest, ConfigFile(path, {key: value for key, value in values.items() if key != MODEL})
    file = ConfigFile(path, {key: value for key, value in values.items() if key not in FORMS})
    typed = next((place for place, each in enumerate(rest) if _is_named(each)), None)
    if typed is not None:  # that option decides what is audited, and so comes first
        width = 1 if "=" in rest[typed] else 2
        return [*rest[typed : typed + width], *rest[:typed], *rest[typed + width :]], file
    if rest[:1] and (not rest[0].startswith("-") or rest[0] in ("-h", "--help")):
        return rest, file
    return [*_audited(ConfigFile(path, values)), *rest], file


def _of_model(typed: Sequence[str], values: Mapping[str, Any]) -> bool:
    """Tell whether a trained model is audited: that is typed, or nothing is, and the file names nothing else."""
    if typed and not typed[0].startswith("-"):
        return typed[0] == MODEL
    return MODEL in values and not any(key in values for key in FORMS) and not any(map(_is_named, typed))


def _is_named(option: str) -> bool:
    return option.startswith("--") and _name(option) in NAMED


def _model_named(file: ConfigFile) -> list[str]:
    return [file.text(MODEL, file.values[MODEL])] if MODEL in file.values else []


def _taken(arguments: list[str]) -> Path | None:
    """Remove the option that names the file, and give the path."""
    places = [place for place, each in enumerate(arguments) if each.partition("=")[0] == OPTION]
    if not places:
        return None
    if len(places) > 1:
        raise BadInput(f"{OPTION} is given twice: one file holds all options.")
    option = arguments.pop(places[0])
    if "=" not in option and (places[0] == len(arguments) or arguments[places[0]].startswith("-")):
        raise BadInput(f"{OPTION} needs a file.")
    return Path(option.partition("=")[2] if "=" in option else arguments.pop(places[0]))


def _audited(file: ConfigFile) -> list[str]:
    """Give what a file says is audited, as it would be typed."""
    chosen = [key for key in FORMS if key in file.values and file.values[key] is not False]
    if len(chosen) != 1:
        said = f"{' and '.join(chosen)} are all" if chosen else "nothing is"
        raise BadInput(f"{file.path}: {said} named to be audited: name one of {', '.join((*FORMS, MODEL))}.")
    key, value = chosen[0], file.values[chosen[0]]
    if key == UPDATES:
        if value is not True:
            raise BadInput(f"{file.path}: {UPDATES} must be true or false.")
        return [UPDATES]
    return [*([f"--{key}"] if key in NAMED else []), file.text(key, value)]


def _read(path: Path) -> dict[str, Any]:
    """Read the table of an audit; a file of another verb, or of several, is refused."""
    try:
        content = tomllib.loads(read_bytes(path, LONGEST).decode("utf-8"))
    except FileNotFoundError:
        raise BadInput(f"there is no file {path}: check the path of {OPTION}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} is not TOML ({error}): repair it.") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror}): check the path of {OPTION}.") from None
    for name, value in content.items():
        if name != TABLE and isinstance(value, dict):
            raise BadInput(f"{path} has a table [{name}], and is read by `hideseek audit` alone: write [{TABLE}].")
        if name != TABLE:
            raise BadInput(f"{path}: {name} is in no table: write [{TABLE}] above it.")
    table = content.get(TABLE)
    if not isinstance(table, dict):
        raise BadInput(f"{path} has no table [{TABLE}]: write it above the options.")
    return {name.replace("_", "-"): value for name, value in table.items()}


def _name(option: str) -> str:
    """Give an option as its key: `--no-learn=…` is learn."""
    return option.partition("=")[0].removeprefix("--").removeprefix("no-").replace("_", "-")


def _options_of(kind: Any) -> Iterator[tuple[str, bool]]:
    """Name the options that tyro makes of a dataclass and those in it, and whether each is a switch that is off."""
    whole = get_origin(kind) or kind
    filled = dict(zip(getattr(whole, "__parameters__", ()), get_args(kind), strict=False))
    hints = get_type_hints(whole, include_extras=True)
    for field in dataclasses.fields(whole):
        hint, notes = hints[field.name], ()
        if hasattr(hint, "__metadata__"):
            hint, notes = hint.__origin__, hint.__metadata__
        hint = filled.get(hint, hint) if isinstance(hint, TypeVar) else hint
        if dataclasses.is_dataclass(hint):
            yield from _options_of(hint)
        else:
            yield field.name.replace("_", "-"), FlagCreatePairsOff in notes
