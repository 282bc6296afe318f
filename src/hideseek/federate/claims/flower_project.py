"""Reading a Flower project: the run's configuration from pyproject.toml, the settings from its Python files."""

import ast
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hideseek.errors import BadInput
from hideseek.federate.claims.names import SCOPES, Names, Project
from hideseek.federate.claims.records import Given, NotKnown
from hideseek.federate.claims.sources import Module, read_text
from hideseek.federate.claims.uses import uses
from hideseek.federate.claims.values import Values

ROUNDS = ("num-server-rounds", "num_server_rounds", "num-rounds", "num_rounds")
EPOCHS = ("local-epochs", "local_epochs")
DEFAULT_ROUNDS = 3.0  # of Strategy.start
MOST = 1e15  # rounds
ROUNDS_ARGUMENT = 3  # its place among the arguments: grid, initial_arrays, num_rounds


def flower_config(path: Path, root: Path) -> dict[str, Any] | None:
    """Give the run's configuration as Flower does, nested names joined by dots; None where there is no Flower app."""
    try:
        content = tomllib.loads(read_text(path, root))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadInput(f"{path.relative_to(root)} is no valid TOML ({error}): correct it.") from None
    found: Any = content
    for key in ("tool", "flwr", "app"):
        found = found.get(key) if isinstance(found, dict) else None
    if not isinstance(found, dict):
        return None
    config = found.get("config", {})
    if not isinstance(config, dict):
        raise BadInput(f"tool.flwr.app.config in {path.relative_to(root)} is no table: correct it.")
    return dict(_flat(config))


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def python_settings(modules: Sequence[Module], config: Mapping[str, object]) -> tuple[list[Given], list[float]]:
    """Give all settings in Python files, and the numbers of rounds that they start runs with."""
    project = Project(modules)
    values = Values(project, config)
    return [*uses(project, values)], [*_rounds(project, values)]


def run_rounds(started: Sequence[float], config: Mapping[str, object]) -> int | None:
    """Give the rounds of all that the source starts, one after another, or else what the configuration has.

    Where the source has a number of rounds that is not known (NaN), so is their sum.
    """
    numbers = [*started] or [value for key in ROUNDS if isinstance(value := config.get(key), int | float)][:1]
    known = bool(numbers) and all(1 <= each <= MOST for each in numbers) and sum(numbers) <= MOST
    return int(sum(numbers)) if known else None


def local_epochs(config: Mapping[str, object]) -> int | None:
    """Give the epochs of a client in a round, where the configuration has them."""
    numbers = [value for key in EPOCHS if isinstance(value := config.get(key), int) and value >= 1]
    return numbers[0] if numbers else None


def _rounds(project: Project, values: Values) -> Iterator[float]:
    """Give the rounds of `strategy.start(…, num_rounds=…)` and `ServerConfig(num_rounds=…)`; NaN for not known."""
    for file in project.files:
        for node in ast.walk(file.module.tree):
            if not isinstance(node, ast.Call):
                continue
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            start = called == "start" and ("grid" in given or "initial_arrays" in given or len(node.args) >= 2)
            if not start and called not in ("ServerConfig", "FedAvgRecipe", "FedJob", "FedAvg"):
                continue
            if _is_repeated(node, file):
                yield math.nan
                continue
            if start and "num_rounds" not in given and len(node.args) < ROUNDS_ARGUMENT and None not in given:
                yield DEFAULT_ROUNDS
            argument = given.get("num_rounds", node.args[2] if start and len(node.args) >= ROUNDS_ARGUMENT else None)
            if argument is not None:
                try:
                    yield values.number(argument, file)
                except NotKnown:
                    yield math.nan


def _is_repeated(node: ast.AST, file: Names) -> bool:
    """Tell whether something stands in a loop, which makes it happen nobody knows how often."""
    around = file.parents.get(node)
    while around is not None and not isinstance(around, SCOPES):
        if isinstance(around, ast.For | ast.AsyncFor | ast.While | ast.comprehension):
            return True
        around = file.parents.get(around)
    return False
