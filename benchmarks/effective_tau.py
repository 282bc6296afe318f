"""The signal-to-noise ratio that rows of Singularized Mixup have, beside the τ that their noise was made for.

τ bounds E‖S‖² / E‖I‖² at the largest weight (Theorem 4.2, S = w₁x, I = x̃ − S); the ratio itself is measured.

    python benchmarks/effective_tau.py --json benchmarks/results/effective_tau.json
"""

import json
from dataclasses import dataclass
from pathlib import Path

import tyro

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide import SingularizedMixup

SETS = ("faces", "cifar10", "mnist")
IMAGES, FEW = 10_000, 500  # at most; quickly


@dataclass(frozen=True)
class Options:
    """Measure the ratio at τ = 0.01, on images that are normalised by channel."""

    json: Path | None = None
    """Write the figures to this file."""
    quick: bool = False
    """Hide fewer images."""
    tau: float = 1e-2
    """What is stated."""


def main() -> None:
    """Measure, print, and write."""
    options = tyro.cli(Options, description=__doc__)
    results = {}
    for name in SETS:
        private = normalise(load(name).take(slice(0, FEW if options.quick else IMAGES)), "channel")
        release, secret = SingularizedMixup(tau=options.tau).hide(private, None, seeded(0))
        measured, most, _ = release.scheme.effective(release, secret, seeded(1))
        results[name] = {
            "images": len(private),
            "stated": options.tau,
            "measured": float(f"{measured.effective:.3g}"),
            "bound at the radius": float(f"{most.effective:.3g}"),
        }
        print(f"{name}, {len(private):,} images: stated {options.tau:g}, measured {measured.effective:.4f}")
    if options.json is not None:
        options.json.write_text(json.dumps(results, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
