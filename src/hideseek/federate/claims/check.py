"""Recomputing all privacy settings of a Flower project or an NVFlare job."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hideseek.errors import BadInput
from hideseek.federate.claims.flower_project import flower_config, local_epochs, python_settings, run_rounds
from hideseek.federate.claims.mods import has_unread_mods
from hideseek.federate.claims.names import Project
from hideseek.federate.claims.nvflare_filters import of_unknown_filter
from hideseek.federate.claims.nvflare_job import is_config, job_rounds, job_settings, read_config
from hideseek.federate.claims.records import Assumptions, Given, Report, Setting, Situation
from hideseek.federate.claims.registry import CLAIMS, recomputed
from hideseek.federate.claims.signatures import MODS
from hideseek.federate.claims.sources import Module, Unread, project_files, project_folder, read_modules

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
    modules, unparsed = read_modules([each for each in files if each.suffix == ".py"], root)
    found, started = python_settings(modules, config or {})
    configured: list[float] = []
    for each in job:
        content, text = read_config(each, root)
        found += job_settings(content, text, each, root)
        configured += _server_rounds(content, each)
    rounds = assumptions.rounds or run_rounds(_rounds_of(started, configured), config or {})
    taking_part = _taking_part(found)
    unclear = (_unclear(found, modules) | {*(CLAIMS if unparsed else ())}) - taking_part
    situation = Situation(assumptions, rounds, taking_part, unclear, local_epochs(config or {}))
    settings = [setting for each in found if (setting := _setting(each, situation)) is not None]
    kind = FLOWER if config is not None else NVFLARE
    return Report(str(path), kind, rounds, (*settings, *_not_read([*unread, *unparsed])))


def _setting(given: Given, situation: Situation) -> Setting | None:
    if given.name not in CLAIMS:
        return of_unknown_filter(given)
    return recomputed(given, situation)


def _server_rounds(content: dict[str, Any], path: Path) -> Sequence[float]:
    rounds = job_rounds(content) if path.stem == "config_fed_server" else None
    return [] if rounds is None else [rounds]


def _rounds_of(started: Sequence[float], configured: Sequence[float]) -> Sequence[float]:
    """Give the rounds of runs: those of Python files, or of configurations, which such files often write themselves."""
    if not started or not configured or any(map(math.isnan, (*started, *configured))):
        return [*started, *configured]
    return max(started, configured, key=sum)


def _taking_part(found: Sequence[Given]) -> frozenset[str]:
    """Name the settings that are used; `accountant` is among them where a strategy is handed one."""
    used = [each for each in found if not each.unused and "" not in each.values]
    handed = {"accountant"} if any("accountant" in each.arguments for each in used) else set()
    return frozenset({each.name for each in used} | handed)


def _unclear(found: Sequence[Given], modules: Sequence[Module]) -> frozenset[str]:
    """Name the settings of which it is not known whether they take part: all mods, if a client's are not read."""
    mods = MODS if has_unread_mods(Project(modules)) else ()
    return frozenset({each.name for each in found if "" in each.values} | {*mods})


def _not_read(unread: Sequence[Unread]) -> list[Setting]:
    return [Setting("(a file)", each.place, f"not read: {each.why}.", "not known") for each in unread]
