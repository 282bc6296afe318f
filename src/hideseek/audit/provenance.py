"""Where figures come from: versions, commit, machine."""

import os
import platform
import subprocess
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil
import torch

from hideseek.device import device
from hideseek.records.result import Provenance

PACKAGES = ("hideseek", "torch", "numpy", "scipy", "scikit-image", "scikit-learn")


def provenance(
    started: str,
    command: str,
    seed: int | None,
    settings: Mapping[str, Any],
    *,
    seconds: float,
    budget: float,
    wall: float,
    wall_limit: float,
) -> Provenance:
    """Say what ran, on what, how, and how long."""
    place = device()
    return Provenance(
        started=started,
        seconds=seconds,
        command=command,
        versions={"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
        commit=_commit(),
        machine=f"{platform.system()} {platform.release()}, {_processor()}",
        cores=os.cpu_count() or 1,
        memory=psutil.virtual_memory().total,
        device=torch.cuda.get_device_name(place) if place.type == "cuda" else str(place),
        seed=seed,
        budget=budget,
        settings=dict(settings),
        wall=wall,
        wall_limit=wall_limit,
    )


def without_folders(argument: str) -> str:
    """Leave out the folders that a file lies in: a report is passed around, and folders have people's names.

    >>> [without_folders(each) for each in ("folder:/home/a doctor/xrays/", "--out=../audits/a", "mixup:k=3", "--seed")]
    ['folder:xrays', '--out=a', 'mixup:k=3', '--seed']
    """
    option, equals, value = argument.partition("=") if argument.startswith("--") else ("", "", argument)
    kind, colon, path = value.rpartition(":")
    return f"{option}{equals}{kind}{colon}{path.rstrip('/').rpartition('/')[2]}"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


def _commit() -> str:
    """Give the commit of the code that runs, where it lies in a repository of its own."""
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        return ""
    try:
        told = subprocess.run(  # noqa: S603 (no user's words in it)
            ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"],  # noqa: S607
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return told.stdout.strip()


def _processor() -> str:
    """Give the processor's name."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text("utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
