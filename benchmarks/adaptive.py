"""Defended updates of single images under attackers who know the defence, beside the published comparisons.

    python benchmarks/adaptive.py [--quick] [--json FILE] [--only MODEL] [--images N]

Each case is a network, freshly initialised, in eval mode, and updates of CIFAR-10 images from 20,000 on, each pruned,
reduced to signs, rounded to 4 bits, or clipped and made noisy. Labels are known to all attackers, and the images 0 to
9,999 are their own. Five attackers, by their median PSNR:

- as sent: gradient matching as if zeros had been computed, not made (the published comparison);
- surviving: by the entries that pruning left alone (Huang et al. 2021);
- allowed: by all that the message allows (`Defence.before`), with total variation as before;
- learned: kernel ridge regression from own defended updates;
- own: what the message allows, among images that are like the attacker's own (`gradient-matching-own`).

The first three take the same steps, from a grey start, which is better than noise for all three; the weight of
their total variation (TV) is the best of 0.001 to 1 for `surviving` on LeNet at p = 0.99, images 500 to 504. It was
not chosen anew for the other cases. `own` takes at most STEPS iterations of L-BFGS, which are up to twice as many
evaluations, in double precision, so that it computes more than the others; its weight was chosen on images 15,000 to
15,004 at p = 0.99. Only `learned` and `own` use images of the attacker's own.
"""

import argparse
import json
import statistics
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from gradients import FROM, Case

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide.updates import GradientNoise, GradientPruning, Quantised, ShareUpdates, Sign
from hideseek.records import Attack
from hideseek.records.defence import Defence
from hideseek.seek import ATTACKS, run
from hideseek.seek.systems.image_starts import Start
from hideseek.seek.systems.matching_loop import Adam, Lbfgs
from hideseek.seek.systems.matching_prior import Prior
from hideseek.seek.updates.gradient_matching import GradientMatching
from hideseek.seek.updates.learned_inversion import LearnedInversion

OWN = 10_000
STEPS = 200
TV = {"lenet": 0.03, "convnet": 0.03}
DEFENCES: dict[str, Defence] = {
    "pruning, p = 0.99": GradientPruning(0.99),
    "pruning, p = 0.9": GradientPruning(0.9),
    "pruning, p = 0.999": GradientPruning(0.999),
    "sign": Sign(),
    "quantised, 4 bits": Quantised(4),
    "noise, 0.01 clips": GradientNoise(1.0, 0.01),
}


def make_case(model: str, defence: Defence, count: int, own: int) -> Case:
    """Share some updates."""
    images = normalise(load("cifar10"), "channel")
    scheme = ShareUpdates(model, mode="eval", defences=(defence,))
    release, secret = scheme.hide(images.take(slice(FROM, FROM + count)), None, seeded(1))
    release = replace(secret.reveal(release, ["labels"]), own=images.take(slice(0, own)))
    return Case(f"{model}", model, 1, release, secret)


def attackers(model: str, steps: int, own: int) -> dict[str, Attack[Any]]:
    """Give the attackers, the published ones first."""
    rate, relax = (0.1, 1.0) if model == "lenet" else (0.3, 0.3)
    plain = GradientMatching(
        prior=Prior(TV[model]), optimiser=Adam(steps, rate=rate, relax=relax), smooth=None, start=Start("grey"), peel=0,
        labels="known",
    )  # fmt: skip
    among_own: Any = ATTACKS["gradient-matching-own"]
    return {
        "as sent": replace(plain, compares="as-sent"),
        "surviving": replace(plain, compares="surviving"),
        "allowed": plain,
        "learned": LearnedInversion(images=min(own, 2000)),
        "own": replace(among_own, optimiser=Lbfgs(min(steps, STEPS)), labels="known"),
    }


def measured(case: Case, attack: Attack[Any]) -> dict[str, Any]:
    """Run an attack on all updates."""
    started = time.process_time()
    evidence = run(attack, case.release, seeded(2))
    claim: Any = evidence.claims[0]
    found = [case.psnr(claim.images[number : number + 1], number) for number in range(len(case.release.updates))]
    return {
        "median psnr": round(statistics.median(found), 2),
        "psnr": [round(each, 2) for each in found],
        "seconds an update": round((time.process_time() - started) / len(found), 2),
    }


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", choices=TV, help="one network; others of the JSON file stay as they are")
    parser.add_argument("--images", type=int, default=10)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    steps, count, own = (20, 2, 300) if asked.quick else (300, asked.images, OWN)
    kept: dict[str, Any] = json.loads(asked.json.read_text()) if asked.json and asked.json.exists() else {}
    for model in [asked.only] if asked.only else ["lenet"] if asked.quick else list(TV):
        for name, defence in DEFENCES.items():
            case = make_case(model, defence, count, own)
            row = {who: measured(case, attack) for who, attack in attackers(model, steps, own).items()}
            published = max(row[who]["median psnr"] for who in ("as sent", "surviving"))
            best = max(row[who]["median psnr"] for who in ("allowed", "learned", "own"))
            kept[f"{model}, {name}"] = {**row, "above the better published": round(best - published, 2)}
            medians = {who: row[who]["median psnr"] for who in row}
            print(f"{model}, {name}", medians, {who: row[who]["seconds an update"] for who in row}, flush=True)
            if asked.json:
                asked.json.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
