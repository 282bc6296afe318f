"""What every attack finds where it must, and where there is nothing: the cases of the tests of effects, with figures.

    python benchmarks/effects.py [--only NAME] [--json FILE] [--pictures FOLDER]

`--only` measures one attack, and leaves the others in FILE as they are.

The cases are those of `tests/seek/test_effects.py` (encodings) and `tests/seek/test_update_effects.py` (updates): small
images, and smaller settings than an attack has by default, so that figures say that it works, and not how well it can.
Every figure decides verdicts of audits; beside it is what the best answer reaches that ignores the release. A picture
has private images, and below each the guess that correlates most with it.
"""

import argparse
import importlib
import json
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from hideseek.chance import seeded
from hideseek.records import Attack, Evidence, Reconstruction, Release
from hideseek.records.secret import Secret
from hideseek.report import Row, contact_sheet
from hideseek.score.claims import CLAIMS
from hideseek.score.judge import judge
from hideseek.seek import run

ROOT = Path(__file__).parents[1]
SHOWN = 8  # images of a picture
CARELESS, REPEATED = ", masks of a careless generator", ", the same pairs in every round"
Given = tuple[Release, Secret]


@dataclass(frozen=True)
class Case:
    """An attack, what it must break, and where it finds nothing."""

    attack: Attack[Any]
    breaks: str
    rounds: int
    figures: tuple[str, ...]
    there: Callable[[], Given]
    nowhere: Callable[[], Given]
    nothing: str


def cases() -> dict[str, Case]:
    """Give the cases of all attacks by their names."""
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "seek")]  # which are no packages
    on_rows, on_updates = importlib.import_module("test_effects"), importlib.import_module("test_update_effects")
    rows = {
        name: Case(
            on_rows.attack(name),
            _said(effect.breaks) + CARELESS * (effect.masks is not None) + REPEATED * (effect.repeats is not None),
            effect.rounds,
            effect.figures,
            partial(on_rows.hidden, effect),
            partial(effect.nothing_in, effect),
            (effect.nothing_in.__doc__ or "").rstrip("."),
        )
        for name, effect in on_rows.EFFECTS.items()
    }
    return rows | {name: _of_updates(name, on_updates) for name in on_updates.EFFECTS}


def _said(scheme: Any) -> str:
    """Say a scheme in words: its name, how many images are in a row, and the settings that are not by default."""
    told = {
        field.name: getattr(scheme, field.name)
        for field in fields(scheme)
        if field.name == "k" or field.default is MISSING or getattr(scheme, field.name) != field.default
    }
    parts = [_said(value) if is_dataclass(value) else f"{name} = {value}" for name, value in told.items()]
    return ", ".join([getattr(scheme, "mechanism", "moved"), *parts])


def _of_updates(name: str, on_updates: Any) -> Case:
    effect, attack = on_updates.EFFECTS[name], on_updates.attack(name)

    def noise() -> Given:
        release, secret = on_updates.hidden(name)
        seen: Any = _revealed(attack, release, secret)
        return seen.as_noise(seeded(5)), secret

    return Case(
        attack,
        effect.breaks.summary(),
        effect.rounds,
        effect.figures,
        partial(on_updates.hidden, name),
        noise,
        "Noise in place of the updates",
    )


def measured(name: str, case: Case, pictures: Path | None) -> dict[str, Any]:
    """Attack both releases of a case."""
    found, picture = _judged(case, *case.there())
    if pictures is not None and picture is not None:
        picture.save(pictures / f"{name}.png", optimize=True)
    nothing, _ = _judged(case, *case.nowhere())
    return {"breaks": case.breaks, "rounds": case.rounds, "found": found, "in": case.nothing, "nothing": nothing}


def _judged(case: Case, release: Release, secret: Secret) -> tuple[dict[str, Any], Any]:
    """Give the figures of a case, and a picture where images were claimed."""
    evidence = run(case.attack, _revealed(case.attack, release, secret), seeded(2))
    decisive = [metric for claim in evidence.claims for metric in CLAIMS[claim.name].decisive]
    figures = {
        score.metric: {
            "mean": round(score.interval.mean, 4),
            "baseline": round(score.baselines[score.best_baseline].mean, 4),
            "best_baseline": score.best_baseline,
            "p_value": None if score.significance is None else float(f"{score.significance.p_value:.2g}"),
        }
        for score in judge(evidence, secret, seeded(3), decisive).scores
        if score.metric in case.figures
    }
    return figures, _picture(evidence, secret)


def _revealed(attack: Attack[Any], release: Release, secret: Secret) -> Release:
    """Give an attack what it needs of what is withheld, and was not given yet, and nothing else."""
    needs = [need for need in attack.needs if need in release.withheld and getattr(release, need) is None]
    return secret.reveal(release, needs)


def _picture(evidence: Evidence, secret: Secret) -> Any:
    """Draw private images and the guesses that are most like them; None where no image was claimed."""
    guesses = next((claim.images for claim in evidence.claims if isinstance(claim, Reconstruction)), None)
    if guesses is None or not len(guesses):
        return None
    truth = secret.private.pixels()
    alike = _unit(truth) @ _unit(guesses).T
    shown = alike.max(1).values.sort(descending=True).indices[: min(SHOWN, len(truth))].sort().values
    found = [guesses[int(alike[place].argmax())] for place in shown]
    return contact_sheet("", (), [Row("private", list(truth[shown])), Row("found", found)])


def _unit(images: Tensor) -> Tensor:
    flat = images.float().flatten(1)
    return functional.normalize(flat - flat.mean(1, keepdim=True))


def main() -> None:
    """Measure all, or one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", metavar="NAME")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--pictures", type=Path, metavar="FOLDER")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    os.environ.pop("HIDESEEK_DATA", None)  # as in the tests: no LPIPS
    if asked.pictures is not None:
        asked.pictures.mkdir(parents=True, exist_ok=True)
    kept = asked.json is not None and asked.only is not None and asked.json.exists()
    results: dict[str, Any] = json.loads(asked.json.read_text("utf-8")) if kept else {}
    with tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        for name, case in cases().items():
            if asked.only in (None, name):
                results[name] = measured(name, case, asked.pictures)
                print(name, json.dumps(results[name], ensure_ascii=False), flush=True)
    if asked.json is not None:
        asked.json.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
