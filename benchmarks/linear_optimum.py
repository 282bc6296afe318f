"""How long the linear optimum takes on all of CIFAR-10, and how much memory: 50,000 images, one round and two.

    python benchmarks/linear_optimum.py [--quick] [--json FILE]

Singularized Mixup at τ = 1e-2; the attacker knows weights and sources, and has the 10,000 test images. Aims: ten
minutes and 6 GiB for the whole process, the images and the release included. `processor seconds` are those of all
threads: what a quiet core would take.
With --quick, drawn images stand in for CIFAR-10, fewer and smaller.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide import SingularizedMixup
from hideseek.records import Reconstruction, Samples
from hideseek.seek import ATTACKS, run
from hideseek.similarity import snr

TAU = 1e-2
AIM = {"seconds": 600.0, "GiB": 6.0}


def drawn(count: int, seed: int) -> Samples:
    """Draw images with the smoothness of photographs: sums of noise at several sizes."""
    chance = seeded(seed)
    total = torch.zeros(count, 3, 16, 16)
    for side in (2, 4, 8, 16):
        noise = chance.normals(count, 3, side, side) / side**0.8
        total += torch.nn.functional.interpolate(noise, (16, 16), mode="bilinear")
    return Samples(total, torch.eye(10)[torch.arange(count) % 10])


def images(quick: bool) -> tuple[Samples, Samples]:
    """Give private images, and the attacker's own."""
    if quick:
        return drawn(3000, 0), drawn(1000, 1)
    private = normalise(load("cifar10"), "channel")
    return private, normalise(load("cifar10?split=test"), private.normalisation)


def measured(rounds: int, quick: bool) -> dict[str, Any]:
    """Run the attack in this process, and say what it took."""
    private, own = images(quick)
    release, secret = SingularizedMixup(tau=TAU).hide(private, None, seeded(0), rounds)
    known = replace(release, weights=secret.weights, sources=secret.sources, own=own)
    worked = time.process_time()
    evidence = run(ATTACKS["linear-optimum"], known, seeded(1))
    (claim,) = evidence.claims
    assert isinstance(claim, Reconstruction)  # noqa: S101
    seconds, gibibytes = evidence.seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    some = range(0, len(private), 1000)
    scores = [snr(private.pixels(slice(at, at + 1000)), claim.images[at : at + 1000]) for at in some]
    return {
        "images": len(private),
        "numbers of an image": claim.images[0].numel(),
        "seconds": round(seconds, 1),
        "processor seconds": round(time.process_time() - worked, 1),
        "GiB of the process, at most": round(gibibytes, 2),
        "GiB of the attack": round(evidence.memory / 2**30, 2),
        "mean SNR in dB": round(float(torch.cat(scores).mean()), 3),
        "reached": seconds <= AIM["seconds"] and gibibytes <= AIM["GiB"],
    }


def main() -> None:
    """Measure one round and two, each in a process of its own, whose memory is its own, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer and smaller images, in under a minute")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--rounds", type=int, help="measure so many rounds, in this process")
    asked = parser.parse_args()
    if asked.rounds is not None:
        print(json.dumps(measured(asked.rounds, asked.quick)))
        return
    results: dict[str, Any] = {"tau": TAU, "threads": torch.get_num_threads()}
    for rounds in (1, 2):
        command = [sys.executable, __file__, "--rounds", str(rounds), *(["--quick"] if asked.quick else [])]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        results[f"rounds = {rounds}"] = json.loads(done.stdout.splitlines()[-1])
    print(json.dumps(results, indent=1))
    if asked.json is not None:
        asked.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
