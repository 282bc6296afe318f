"""What a study has measured, kept trial by trial: one that was stopped goes on, and nothing is measured twice."""

import json
import os
import platform
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from statistics import mean, stdev
from typing import Any, Literal

import tyro
from filelock import FileLock

from hideseek.files import new_file
from hideseek.score.judge import VERSION

HERE = Path(__file__).parent
LIBRARIES = ("hideseek", "torch", "numpy", "opacus")
MARK = "†"  # of a figure that was judged by older rules


@dataclass(frozen=True)
class Study:
    """Measure what a paper claims, and write both side by side.

    Results go to studies/results as JSON and as a Markdown table; what is there already is not measured again, unless
    its settings have changed. `cpu` fits two cores and some hours, `paper` is the paper's own size, for a GPU.
    """

    scale: Literal["cpu", "paper"] = "cpu"
    only: tuple[str, ...] = ()
    """Only these items, such as "table2" or "figure3", or trials whose name begins like that."""
    json: Path | None = None
    """The file to write; by default studies/results/STUDY-SCALE.json."""
    stale: bool = False
    """Only what was judged before the baselines or metrics of the judge changed (marked in the tables): again."""
    render: bool = False
    """Measure nothing: write tables and pictures again, from what was measured."""


@dataclass(frozen=True)
class Trial:
    """One measurement: a name, what decides its outcome, and the function that takes it."""

    item: str
    name: str
    settings: Mapping[str, Any]
    run: Callable[[], dict[str, Any]]
    judged: bool = False
    """Whether the figures come from the judge, so that they grow old when its rules change."""


def provenance() -> dict[str, Any]:
    """Say which code, which libraries and what machine a figure comes from."""
    changed = [line for line in _git("status", "--porcelain", "--", "../src", ".").split("\n") if line.endswith(".py")]
    versions = {}
    for name in LIBRARIES:
        try:
            versions[name] = version(name)
        except ImportError:
            continue
    return {
        "commit": _git("rev-parse", "--short", "HEAD").strip() + ("+" if changed else ""),
        "versions": {"python": platform.python_version(), **versions},
        "machine": f"{platform.machine()}, {os.cpu_count()} processors",
        "date": time.strftime("%Y-%m-%d"),
    }


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=HERE, capture_output=True, text=True, check=False).stdout


def chosen(trials: Iterable[Trial], only: Sequence[str]) -> list[Trial]:
    """Give the trials that were asked for."""
    return [trial for trial in trials if not only or trial.item in only or trial.name.startswith(tuple(only))]


@dataclass
class Ledger:
    """The results of a study at one scale."""

    path: Path
    title: str
    entries: dict[str, dict[str, Any]] = field(default_factory=dict)
    code: dict[str, Any] = field(default_factory=provenance)
    """Of the code that was loaded, before somebody changes it on disk."""

    @classmethod
    def open(cls, path: Path, title: str) -> "Ledger":
        """Read what is there."""
        kept = json.loads(path.read_text())["trials"] if path.exists() else {}
        return cls(path, title, kept)

    def measure(self, trials: Sequence[Trial], stale: bool = False) -> None:
        """Take the measurements that are missing, or those that are stale, and write the file after each."""
        missing = [trial for trial in trials if (self.stale(trial.name) if stale else not self.has(trial))]
        print(f"{self.title}: {len(trials) - len(missing)} of {len(trials)} trials are in {self.path.name}")
        for number, trial in enumerate(missing, start=1):
            started, worked = time.monotonic(), time.process_time()
            result = trial.run()
            seconds, processor = round(time.monotonic() - started, 1), round(time.process_time() - worked, 1)
            self.entries[trial.name] = {
                "item": trial.item,
                "settings": dict(trial.settings),
                "result": result,
                "seconds": seconds,
                "processor_seconds": processor,  # what a quiet core would take; ours is seldom quiet
                "provenance": self.code,
                **({"judge": VERSION} if trial.judged else {}),
            }
            self.write(trial.name)
            shown = {key: value for key, value in result.items() if isinstance(value, int | float | str)}
            print(f"[{number}/{len(missing)}] {trial.name}: {shown} in {seconds:.0f} s", flush=True)

    def has(self, trial: Trial) -> bool:
        """Tell whether a trial was run with these very settings."""
        kept = self.entries.get(trial.name)
        return kept is not None and kept["settings"] == json.loads(json.dumps(dict(trial.settings)))

    def results(self, name: str) -> dict[str, Any] | None:
        """Give the result of a trial, if there is one."""
        entry = self.entries.get(name)
        return None if entry is None else entry["result"]

    def stale(self, name: str) -> bool:
        """Tell whether a trial was judged by older rules than today's."""
        return bool(self.entries.get(name, {}).get("judge", VERSION) < VERSION)

    def mark(self, name: str) -> str:
        """Give what is written behind a figure of a trial: a mark where it is stale."""
        return f" {MARK}" if self.stale(name) else ""

    def legend(self, script: str) -> str:
        """Explain the mark, where one is used."""
        if not any(map(self.stale, self.entries)):
            return ""
        return (
            f"{MARK}: measured before the judge's baselines and metrics changed (see CHANGELOG.md);"
            f" `python studies/{script} --stale` measures it again.\n"
        )

    def write(self, *names: str) -> None:
        """Write these new results beside what is there: several processes may share the work, an item each."""
        with FileLock(self.path.with_name(f".{self.path.name}.lock")):
            kept = Ledger.open(self.path, self.title).entries
            self.entries = kept | {name: self.entries[name] for name in names}
            content = {"study": self.title, "trials": dict(sorted(self.entries.items()))}
            with new_file(self.path) as file:
                file.write(json.dumps(content, indent=1, ensure_ascii=False).encode() + b"\n")


def conduct(
    about: str | None,
    name: str,
    title: str,
    trials: Callable[[str], Iterable[Trial]],
    render: Callable[[Ledger, Path, str], None],
) -> None:
    """Ask the command line for a scale, measure what is missing of its trials, and write the page."""
    asked = tyro.cli(Study, description=about)
    path = asked.json or HERE / "results" / f"{name}-{asked.scale}.json"
    ledger = Ledger.open(path, title)
    if not asked.render:
        ledger.measure(chosen(trials(asked.scale), asked.only), asked.stale)
    render(ledger, path, asked.scale)


def shown(values: Sequence[float]) -> str:
    """Give a mean, and its deviation where there is more than one value.

    >>> shown([97.0, 98.0]), shown([97.0]), shown([])
    ('97.5 ± 0.7', '97.0', '–')
    """
    if not values:
        return "–"
    return f"{mean(values):.1f}" + (f" ± {stdev(values):.1f}" if len(values) > 1 else "")


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Give a Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
