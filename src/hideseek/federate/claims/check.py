"""Recomputing all privacy settings of a Flower project or an NVFlare job."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hideseek.errors import BadInput
from hideseek.federate.claims.flower_project import flower_config, local_epochs, python_settings, run_rounds
from hideseek.federate.claims.nvflare_filters import of_unknown_filter
from hideseek.federate.claims.nvflare_job import is_config, job_rounds, job_settings, read_config
from hideseek.federate.claims.records import Assumptions, Given, Report, Setting, Situation
from hideseek.federate.claims.registry import CLAIMS, recomputed
from hideseek.federate.claims.sources import Unread, project_files, project_folder, read_module

FLOWER, NVFLARE = "Flower project", "NVFlare job"


def check_project(path: Path, assumptions: Assumptions) -> Report:
    """Read a project, without running any of it, and recompute what its privacy settings promise."""
    root = project_folder(path)
    files, unread = project_files(root)
    project = root / "pyproject.toml"
    config = flower_config(project, root) if project in files else None
    job = [each for each in files if is_config(each)]
    if config is None and not any(each.name != "privacy.json" for each in job):
        raise BadInput(
            f"{path} is no Flower project (pyproject.toml with [tool.flwr.app]) and no NVFlare job"
            " (config_fed_client.json): name the folder of one."
        )
    modules = [read_module(each, root) for each in files if each.suffix == ".py"]
    found, started = python_settings(modules, config or {})
    for each in job:
        content, text = read_config(each, root)
        found += job_settings(content, text, each, root)
        started += _server_rounds(content, each)
    rounds = assumptions.rounds or run_rounds(started, config or {})
    situation = Situation(assumptions, rounds, _taking_part(found), local_epochs(config or {}))
    settings = [setting for each in found if (setting := _setting(each, situation)) is not None]
    kind = FLOWER if config is not None else NVFLARE
    return Report(str(path), kind, rounds, (*settings, *_not_read(unread)))


def _setting(given: Given, situation: Situation) -> Setting | None:
    if given.name not in CLAIMS:
        return of_unknown_filter(given)
    return recomputed(given, situation)


def _server_rounds(content: dict[str, Any], path: Path) -> Sequence[float]:
    rounds = job_rounds(content) if path.stem == "config_fed_server" else None
    return [] if rounds is None else [rounds]


def _taking_part(found: Sequence[Given]) -> frozenset[str]:
    """Name the settings that are used; `accountant` is among them where a strategy is handed one."""
    used = [each for each in found if not each.unused and "" not in each.values]
    handed = {"accountant"} if any("accountant" in each.arguments for each in used) else set()
    return frozenset({each.name for each in used} | handed)


def _not_read(unread: Sequence[Unread]) -> list[Setting]:
    return [Setting("(a file)", each.place, f"not known: {each.why}.", "not known") for each in unread]
