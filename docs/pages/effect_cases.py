"""What every attack finds where it must, and where there is nothing: as `benchmarks/effects.py` measured it."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from page import joined, table

ROOT = Path(__file__).parents[2]
RESULTS, PICTURES = ROOT / "benchmarks" / "results" / "effects.json", ROOT / "benchmarks" / "results" / "effects"
ABOUT = (
    "Small images, and smaller settings than by default, so that this says that the attack works, and not how well it"
    " can: what decides a verdict, beside the best answer that ignores the release (`python benchmarks/effects.py`)."
)


@cache
def _measured() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(RESULTS.read_text("utf-8"))
    return found


def effects(names: tuple[str, ...]) -> str:
    """Give a section on the effects of an attack and its presets, with a picture where it recovers images."""
    known = [name for name in names if name in _measured()]
    rows = [row for name in known for row in _rows(name, _measured()[name])]
    nothing = ", or ".join(dict.fromkeys(_measured()[name]["in"] for name in known))
    pictures = [
        f"`{name}`:\n\n![Private images, and the guesses of {name} that are most like them](effects/{name}.png)"
        for name in known
        if (PICTURES / f"{name}.png").exists()
    ]
    head = ["attack", "what it must break", "figure", "there (baseline)", "where there is nothing (baseline)"]
    return (
        joined(
            "## Its effect",
            ABOUT,
            table(head, rows),
            f"Where there is nothing: {nothing[:1].lower()}{nothing[1:]}.",
            *pictures,
        )
        if rows
        else ""
    )


def _rows(name: str, case: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    about = case["breaks"].rstrip(".") + (f", {case['rounds']} rounds" if case["rounds"] > 1 else "")
    for metric, found in case["found"].items():
        nothing = case["nothing"].get(metric)
        yield f"`{name}`", about, metric, _beside(found), "no claim" if nothing is None else _beside(nothing)


def _beside(figure: dict[str, Any]) -> str:
    return f"{figure['mean']:.2f} ({figure['baseline']:.2f})"
