"""How fast attacks search: their rate of multiplications beside that of one large matrix product, in this run.

    python benchmarks/seek.py [--quick] [--json FILE]

5,000 encodings of 3×32×32 are searched for 10,000 public images:

- `public-search`: one product of encodings and images, the hundred best kept;
- `mixup-public`: for every public image of a row two products, since places are weighted anew for each row. Its exact
  weights are left out (`exact=False`): they are found row by row, after the search; the seconds a row takes are shown.

The rate counts the multiplications and additions of the products alone, 2 · rows · images · pixels each, over the time
of the whole attack: whitening, weighting, ranking and fitting are paid from it. Memory is the most that the attack
needed beyond what was there before.
"""

import argparse
import json
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

from hideseek.chance import seeded
from hideseek.hide import Mixup
from hideseek.records import Attack, EncodedRelease, Samples
from hideseek.seek import run
from hideseek.seek.rows.mixup_public import MixupPublic
from hideseek.seek.rows.public_search import PublicSearch

SHAPE, PIXELS = (3, 32, 32), 3072
REACH = {"rate": 0.5, "memory": 2048.0}


def photographs(count: int, seed: int) -> Samples:
    """Draw bytes with the smoothness of photographs: sums of noise at several sizes."""
    generator = torch.Generator().manual_seed(seed)
    total = torch.zeros(count, *SHAPE)
    for side in (2, 4, 8, 16, 32):
        noise = torch.randn(count, SHAPE[0], side, side, generator=generator) / side**0.8
        total += torch.nn.functional.interpolate(noise, SHAPE[1:], mode="bilinear")
    stored = (128 + 60 * total).clamp(0, 255).byte()
    labels = torch.eye(10)[torch.from_numpy(np.arange(count) % 10)]
    return Samples(stored, labels, scale=torch.full((1, 1), 1 / 60), shift=torch.full((1, 1), -128 / 60))


def product(rows: int, images: int) -> float:
    """Give the operations a second of one large product, in GFLOP/s."""
    left, right = torch.randn(rows, PIXELS), torch.randn(PIXELS, images)
    seconds = []
    for _ in range(4):
        start = time.perf_counter()
        left @ right
        seconds.append(time.perf_counter() - start)
    return 2 * rows * images * PIXELS / median(seconds[1:]) / 1e9


def measure(attack: Attack[EncodedRelease], release: EncodedRelease, products: int, bare: float) -> dict[str, Any]:
    """Run an attack; give its rate beside the bare product's, and its memory."""
    assert release.public is not None  # noqa: S101
    evidence = run(attack, release, seeded(1))
    work = products * 2 * len(release.encoded) * len(release.public) * PIXELS
    rate = work / evidence.seconds / 1e9
    return {
        "seconds": round(evidence.seconds, 2),
        "GFLOP/s": round(rate, 1),
        "rate over a product's": round(rate / bare, 3),
        "MiB": round(evidence.memory / 2**20),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer encodings and images, in under a minute")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    asked = parser.parse_args()
    rows, images = (1500, 4000) if asked.quick else (5000, 10_000)
    private, public = photographs(rows, 0), photographs(images, 1)
    release, _ = Mixup(k=4, k_private=1).hide(private, public, seeded(0))
    bare = product(rows, images)
    results: dict[str, Any] = {
        "rows": rows,
        "public images": images,
        "threads": torch.get_num_threads(),
        "product": {"GFLOP/s": round(bare, 1)},
        "public-search": measure(PublicSearch(), release, 1, bare),
        "mixup-public": measure(MixupPublic(exact=False), release, 6, bare),
    }
    some = run(MixupPublic(rows=50), release, seeded(1))
    plain = run(MixupPublic(rows=50, exact=False), release, seeded(1))
    results["seconds of exact weights, a row"] = round((some.seconds - plain.seconds) / 50, 3)
    for name in ("public-search", "mixup-public"):
        reached = results[name]["rate over a product's"] >= REACH["rate"] and results[name]["MiB"] <= REACH["memory"]
        results[name]["reached"] = reached
    print(json.dumps(results, indent=1))
    if asked.json is not None:
        asked.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
