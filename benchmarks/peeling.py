"""How many images of a batch the gradient of a first dense layer of 1,000 ReLUs shows, exactly and certified.

CIFAR-10's training images from the 20,000th on; settings were chosen on the first thousand. An image is exact if no
pixel is wrong by more than 1e-4; certified are those that the attack itself is sure of, without the truth.

    python benchmarks/peeling.py --json benchmarks/results/peeling.json
"""

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import tyro

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide.updates import GradientNoise, GradientPruning, Quantised, ShareUpdates, Sign
from hideseek.records import Samples
from hideseek.records.claims import Reconstruction
from hideseek.seek import ATTACKS, run

FIRST = 20_000  # image that is attacked
EXACT, NEAR = 1e-4, 0.01  # of a pixel, whose values have deviation one


@dataclass(frozen=True)
class Options:
    """Count the images that a first dense layer shows."""

    json: Path | None = None
    """Write the figures to this file."""
    quick: bool = False
    """One small case of each kind, once."""


@dataclass(frozen=True)
class Found:
    """What was found in one case."""

    case: str
    seed: int
    images: int
    exact: int
    near: int
    """Within a hundredth of a deviation."""
    certified: int
    wrong: int
    """Certified, but not near to any image of the batch."""
    worst: float
    """The largest error of a pixel of certified images."""
    seconds: float


def cases(quick: bool) -> dict[str, tuple[ShareUpdates, str]]:
    """Give schemes by their names, and how images are normalised."""
    large, small = (16, 8) if quick else (64, 32)

    def share(batch: int, **other: object) -> ShareUpdates:
        return ShareUpdates("relu-dense", batch=batch, **other)  # type: ignore[arg-type]

    found = {
        f"batch {large}": (share(large), "channel"),
        f"batch {large}, pixels in [0, 1]": (share(large), "none"),
        f"{large // 8} local steps of 8": (share(8, local_steps=large // 8, sends="weights"), "channel"),
        f"batch {small}, half pruned": (share(small, defences=(GradientPruning(0.5),)), "channel"),
        f"batch {large}, noise": (share(large, defences=(GradientNoise(1.0, 1e-3),)), "channel"),
        f"batch {large}, signs": (share(large, defences=(Sign(),)), "channel"),
        f"batch {large}, 8 bits": (share(large, defences=(Quantised(8),)), "channel"),
    }
    if not quick:
        found["batch 64, half pruned"] = share(64, defences=(GradientPruning(0.5),)), "channel"
        found["batch 128"] = share(128), "channel"
        found["batch 128, pixels in [0, 1]"] = share(128), "none"
    return found


def images(count: int, seed: int, kind: str) -> Samples:
    """Give images that no setting was chosen on."""
    some = load("cifar10").take(torch.arange(FIRST + seed * count, FIRST + (seed + 1) * count))
    return normalise(some, "channel") if kind == "channel" else some


def measure(name: str, scheme: ShareUpdates, kind: str, seed: int) -> Found:
    """Share one update, and attack it."""
    private = images(scheme.work.images, seed, kind)
    release, _ = scheme.hide(private, None, seeded(seed))
    started = time.monotonic()
    claim = run(ATTACKS["first-layer"], release, seeded(100 + seed)).claims[0]
    seconds = time.monotonic() - started
    assert isinstance(claim, Reconstruction)  # noqa: S101
    sure = torch.zeros(len(claim.images), dtype=torch.bool) if claim.sure is None else claim.sure
    truth = private.pixels()
    errors = torch.stack([(truth - guess).abs().flatten(1).amax(1).min() for guess in claim.images])
    return Found(
        name,
        seed,
        len(truth),
        int((errors < EXACT).sum()),
        int((errors < NEAR).sum()),
        int(sure.sum()),
        int((errors[sure] > NEAR).sum()),
        float(errors[sure].max()) if bool(sure.any()) else 0.0,
        round(seconds, 1),
    )


def main(options: Options) -> None:
    """Measure every case, twice."""
    found = []
    for name, (scheme, kind) in cases(options.quick).items():
        for seed in range(1 if options.quick else 2):
            found.append(measure(name, scheme, kind, seed))
            print(found[-1])
            if options.json is not None:
                options.json.write_text(json.dumps([asdict(each) for each in found], indent=1) + "\n")


if __name__ == "__main__":
    main(tyro.cli(Options))
