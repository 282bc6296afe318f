"""Pieces of a result, each with sensible values for what a test does not care about."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from hideseek.records import Contents
from hideseek.records.result import (
    AttackResult,
    Curve,
    Exhibit,
    Figure,
    Harm,
    Outcome,
    Panel,
    Proof,
    Range,
    WeakCase,
)

SIDE = 25
NASTY = """<b>&"'</b><script>alert(1)</script>"""
MISSING = "mixup-mixup-pairs-2-2.png"  # never written


def portrait(number: int) -> NDArray[np.uint8]:
    """Something with as much detail as a face, and no two alike: waves of all lengths, and grain."""
    chance = np.random.default_rng(number)
    down, across = np.mgrid[:SIDE, :SIDE] / SIDE
    values = 0.5 * chance.normal(size=(SIDE, SIDE, 3)) + chance.normal(size=3)
    for speed in range(1, 9):
        a, b, phase = chance.normal(size=3) * [1, 1, 9]
        values += (2 / speed * np.sin(2 * np.pi * speed * (a * down + b * across) + phase))[..., None]
    return np.clip(128 + 35 * values, 0, 255).astype(np.uint8)


def figure(metric: str = "fitted-ssim", mean: float = 0.84, baseline: float = 0.31, **changes: Any) -> Figure:
    """How an attack did, with an interval of ± 0.03; it beats its baseline where the interval does."""
    values: dict[str, Any] = {
        "claim": "reconstruction",
        "number": 0,
        "unit": "",
        "higher_is_better": True,
        "meaning": "structural similarity once brightness and contrast are set to fit the ground truth",
        "finding": "SSIM {value} against {baseline} for {name}",
        "found": Range(mean, mean - 0.03, mean + 0.03, 160),
        "baselines": {"mean image": baseline, "random image of the class": baseline / 2},
        "best_baseline": "mean image",
        "advantage": Range(mean - baseline, mean - baseline - 0.04, mean - baseline + 0.04, 160),
        "p_value": 0.0 if mean > baseline + 0.03 else 0.41,
        "harm": Harm.LIKENESS,
        "beats": mean > baseline + 0.03,
    }
    return Figure(metric=metric, **values | changes)


def curve(log_x: bool = True) -> Curve:
    """The true positive rate at each false positive rate, far better than by chance."""
    x = tuple(float(each) for each in np.geomspace(1e-3, 1, 40))
    label = "pairs of rows with a common image that are found"
    return Curve("Rows that share an image", "false positive rate", label, x, tuple(each**0.2 for each in x), x, log_x)


def attacked(attack: str, **changes: Any) -> AttackResult:
    """One attack, which resisted unless told otherwise."""
    values: dict[str, Any] = {
        "summary": "Find rows that share an image, average them, take the mixtures apart.",
        "source": "InstaHide §2.1; the last step is ours",
        "threat": "outsider",
        "contents": Contents("encoding", 3200, labelled=True),
        "given": (),
        "outcome": Outcome.RESISTED,
        "harm": Harm.NOTHING,
        "settings": {"steps": 200, "rate": 0.1, "layers": [64, 128], "white": True},
        "allowed": 120.0,
        "seconds": 42.5,
        "memory": 312 * 2**20,
        "figures": (figure(mean=0.3),),
        "proofs": (
            Proof("weak case", True, WeakCase("Mixup", 48, 10), (figure(),)),
            Proof("noise", True, None, (figure(mean=0.3),)),
        ),
    }
    return AttackResult(attack=attack, **values | changes)


def exhibits(folder: Path, name: str) -> tuple[Exhibit, ...]:
    """Write pictures, two of each kind: private ones are portraits, shared ones noise."""
    pictures = folder / "pictures"
    pictures.mkdir(exist_ok=True)
    shown = []
    for number, kind in enumerate(("best", "best", "median", "median", "worst", "worst")):
        original = portrait(10 * number)
        shared, error = np.random.default_rng(number).integers(0, 256, (2, SIDE, SIDE, 3), dtype=np.uint8)
        recovered = (0.8 * original + 0.2 * error).astype(np.uint8)
        panels = []
        for place, (label, pixels) in enumerate(
            (("original", original), ("what was shared", shared), ("what was recovered", recovered))
        ):
            file = f"{name}-{number}-{place}.png"
            if file != MISSING:
                Image.fromarray(pixels).save(pictures / file)
            panels.append(Panel(label, file, label != "what was shared"))
        value = 0.9 + number / 100
        shown.append(Exhibit(kind, "image", number, "correlation", value, "", tuple(panels)))  # type: ignore[arg-type]
    return tuple(shown)
