"""What a client's local work hides: batch norm in train mode, and several steps, beside gradients in eval mode.

    python benchmarks/local_work.py [--quick] [--json FILE] [--steps N] [--only train-mode|local-steps|sensitivity]

Train mode: small-resnet, freshly initialised, one local step whose weights are sent, batches of 1, 4 and 16, against
attackers who know nothing of what batch norm saw (none), have images of their own (own), derive it from running
statistics before and after (running), or know it (exact); "as before" has the settings of eval mode. Local steps: 1, 4
and 16 steps of one image, and 20 epochs of 10 images, inverted as if they were one gradient, by a gradient between both
states (surrogate), and by simulation. Labels are known and in order. Sensitivity: the cosine of each of some
tensors with itself after white noise on four images, in both modes.

Figures are medians of the PSNR of five updates, of CIFAR-10 from image 20,000 on; settings were chosen on images before
1,000, and own images are those from 5,000 on. A run that was stopped leaves what it measured, and says what it did not.
"""

import argparse
import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from gradients import FROM, Case, figures

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide.updates import ShareUpdates
from hideseek.records import Samples
from hideseek.seek import run
from hideseek.seek.updates.gradient_matching import GradientMatching
from hideseek.train.gradients import gradient, parameters_of

OWN = slice(5_000, 5_256)
NOISE = 0.2
Steps = tuple[str, int, int, int, float]
"""A model, its batch, local steps, epochs, and rate."""
STEPS: tuple[Steps, ...] = (
    *(("lenet", 1, 4, 1, 0.1), ("convnet", 10, 1, 20, 0.004)),
    *(("convnet", 1, steps, 1, rate) for steps in (1, 4) for rate in (0.01, 0.1)),
    *(("convnet", 10, 1, 5, 0.1), ("convnet", 1, 16, 1, 0.01), ("convnet", 1, 16, 1, 0.1)),
)
EVAL_SETTINGS = replace(GradientMatching(), train_mode=None, statistics="none")


def make_case(images: Samples, scheme: ShareUpdates, count: int) -> Case:
    """Share some updates; the attacker knows labels, and can be told statistics."""
    private = images.take(slice(FROM, FROM + count * scheme.work.images))
    release, secret = scheme.hide(private, None, seeded(1))
    release = secret.reveal(replace(release, own=images.take(OWN)), ["labels", "statistics"])
    return Case(scheme.summary(), scheme.model, scheme.batch, release, secret)


def attacked(case: Case, attack: GradientMatching, steps: int) -> dict[str, Any]:
    """Invert every update of a case."""
    chosen = replace(attack, labels="known", optimiser=replace(attack.optimiser, steps=steps))
    started = time.process_time()
    claim: Any = run(chosen, case.release, seeded(2)).claims[0]
    seconds = (time.process_time() - started) / len(case.release.updates)
    found = [case.psnr(claim.images[claim.about == number], number) for number in range(len(case.release.updates))]
    return figures(found, [seconds])


def train_mode(images: Samples, count: int, steps: int, batches: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """Compare modes, and what is known of batch norm."""
    for batch in batches:
        row: dict[str, Any] = {"batch": batch}
        fixed = make_case(images, ShareUpdates("small-resnet", batch=batch, mode="eval"), count)
        row["eval"] = attacked(fixed, GradientMatching(), steps)
        case = make_case(images, ShareUpdates("small-resnet", batch=batch, sends="weights"), count)
        row["train, as before"] = attacked(case, EVAL_SETTINGS, steps)
        for known in ("none", "own", "running", "exact"):
            row[f"train, {known}"] = attacked(case, GradientMatching(statistics=known), steps)
        yield row


def local_steps(images: Samples, count: int, steps: int, cases: tuple[Steps, ...]) -> Iterator[dict[str, Any]]:
    """Compare ways to compute several local steps again."""
    for model, batch, local, epochs, rate in cases:
        scheme = ShareUpdates(model, batch, local, epochs, rate, sends="weights", mode="eval")
        case = make_case(images, scheme, count)
        row: dict[str, Any] = {"model": model, "batch": batch, "steps": local, "epochs": epochs, "rate": rate}
        ways = ("one gradient", "surrogate", "simulated") if local * epochs > 1 else ("one gradient",)
        for way in ways:
            if way != "simulated" or local * epochs <= 16:
                row[way] = attacked(case, GradientMatching(local=way, simulate=16, peel=0), steps)  # type: ignore[arg-type]
        yield row


def sensitivity(images: Samples) -> dict[str, dict[str, float]]:
    """Give the cosine of gradients with themselves after some noise on the images, by layers."""
    found: dict[str, dict[str, float]] = {}
    for mode in ("eval", "train"):
        case = make_case(images, ShareUpdates("small-resnet", batch=4, mode=mode), 1)
        network = case.release.models[0].network().train(mode == "train")
        held = case.secret.private.pixels(case.secret.holds(torch.tensor([0]))[0])
        noisy = held + NOISE * seeded(5).normals(*held.shape)
        update = gradient(network, parameters_of(network), noisy, (case.release.labels or ())[0])
        found[mode] = {
            name: round(float(torch.cosine_similarity(each.flatten(), update[name].flatten(), dim=0)), 3)
            for name, each in case.release.updates[0].items()
            if each.dim() in (2, 4)
        }
    return found


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--only", choices=("train-mode", "local-steps", "sensitivity"))
    asked = parser.parse_args()
    torch.set_num_threads(1)
    images = normalise(load("cifar10"), "channel")
    count, steps, batches = (1, 20, (4,)) if asked.quick else (5, asked.steps, (1, 4, 16))
    cases = STEPS[:1] if asked.quick else STEPS
    kept = json.loads(asked.json.read_text()) if asked.json and asked.json.exists() and asked.only else {}
    kept |= {"threads": 1, "steps of matching": steps}
    planned: dict[str, tuple[object, ...]] = {"sensitivity": (4,), "train-mode": batches, "local-steps": cases}
    parts: dict[str, Iterable[dict[str, Any]]] = {
        "sensitivity": (sensitivity(images) for _ in range(1)),
        "train-mode": train_mode(images, count, steps, batches),
        "local-steps": local_steps(images, count, steps, cases),
    }
    for name, rows in parts.items():
        if asked.only not in (None, name):
            continue
        kept[name] = []
        for row in rows:  # each is kept at once: all of them take long
            print(json.dumps({name: row}), flush=True)
            kept[name].append(row)
            kept["not measured"] = {part: each[len(kept.get(part, ())) :] for part, each in planned.items()}
            if asked.json:
                asked.json.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
