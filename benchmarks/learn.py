"""What hiding costs a training, and what our loop costs: ratios of times that were measured side by side in this run.

    python benchmarks/learn.py [--quick] [--json FILE]

- epochs: training with InstaHide (k = 4, inside and cross), encoded anew on the way, against vanilla training, same
  network and images (the paper claims under 1.05); and what making the batches alone takes longer than plain ones, as
  a share of a vanilla epoch, which scatters far less;
- loop: our vanilla training against a bare PyTorch loop over tensors in memory;
- inference: asking about ten encodings of every image against ten plain predictions.

Every contender runs some steps in turn, many times over; a ratio is the median over the rounds.
"""

import argparse
import json
import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from hideseek.chance import secure
from hideseek.hide import InstaHide
from hideseek.learn import Plain, Reencoded, Source, predict
from hideseek.learn.objective import classification
from hideseek.models import build
from hideseek.records import Samples
from hideseek.train.fit import fit
from hideseek.train.loop import Batches
from hideseek.train.trained import Trained
from hideseek.train.training import SGD, Training
from hideseek.train.worker import Worker

SHAPE, CLASSES, BATCH = (3, 32, 32), 10, 128
REACH = {"epoch": 1.02, "loop": 0.95, "inference": 1.1}
INSIDE, CROSS = InstaHide(k=4), InstaHide(k=4, k_private=2)


def images(count: int, seed: int = 0) -> Samples:
    """Random images as bytes, normalised by an affine map, as CIFAR-10 is."""
    stored = np.random.default_rng(seed).integers(0, 256, (count, *SHAPE), dtype=np.uint8)
    labels = torch.eye(CLASSES)[torch.arange(count) % CLASSES]
    scale, shift = torch.tensor([[0.016, 0.017, 0.015]]), torch.tensor([[-2.0, -1.9, -1.8]])
    return Samples(torch.from_numpy(stored), labels, scale, shift)


class Bare:
    """The loop that everybody writes: tensors in memory, shuffled, one step after another."""

    def __init__(self, network: nn.Module, samples: Samples) -> None:
        self.network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.optimiser = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
        self.inputs, self.targets = samples.pixels(), samples.labels

    def __call__(self) -> None:
        """Train for one epoch."""
        self.network.train()
        for rows in torch.randperm(len(self.inputs)).split(BATCH):
            self.optimiser.zero_grad()
            inputs = self.inputs[rows].contiguous(memory_format=torch.channels_last)
            functional.cross_entropy(self.network(inputs), self.targets[rows]).backward()
            self.optimiser.step()


class Ours:
    """Our loop, one epoch a call, on whatever source."""

    def __init__(self, network: nn.Module, source: Source[Any]) -> None:
        self.network, self.source = network, source
        self.training, self.worker = Training(1, BATCH, SGD(0.01)), Worker(torch.device("cpu"))

    def batches(self) -> Batches:
        """Give the batches of one epoch, under fresh keys."""
        batches: Batches = self.source.batches(self.training, secure(), secrets.randbits(48), self.worker)
        return batches

    def __call__(self) -> None:
        """Train for one epoch."""
        fit(self.network, self.batches(), classification(augment=False), self.training, worker=self.worker)


def side_by_side(rounds: int, contenders: dict[str, Callable[[], object]]) -> dict[str, list[float]]:
    """Time every contender once a round, in turns of both directions, after one round that does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds + 1):
        for name in list(contenders)[:: 1 if number % 2 else -1]:
            start = time.perf_counter()
            contenders[name]()
            if number:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def ratio(seconds: dict[str, list[float]], one: str, other: str) -> float:
    """Compare two contenders round by round, so that a busy moment hits both."""
    return median(a / b for a, b in zip(seconds[one], seconds[other], strict=True))


def epochs(model: str, rows: int, rounds: int) -> dict[str, Any]:
    """Compare epochs of one network: bare, vanilla in our loop, InstaHide inside and cross."""
    private, public = images(rows), images(rows, seed=1)

    def network() -> nn.Module:
        torch.manual_seed(0)
        return build(model, SHAPE, CLASSES)

    contenders: dict[str, Callable[[], object]] = {
        "bare": Bare(network(), private),
        "vanilla": Ours(network(), Plain(private)),
        "inside": Ours(network(), Reencoded(private, INSIDE)),
        "cross": Ours(network(), Reencoded(private, CROSS, public)),
    }
    seconds = side_by_side(rounds, contenders)
    made = side_by_side(rounds, {name: _making(ours) for name, ours in contenders.items() if isinstance(ours, Ours)})
    extra = {name: 1 + (median(made[name]) - median(made["vanilla"])) / median(seconds["vanilla"]) for name in made}
    return {
        "images": rows,
        "inside, batches alone": round(extra["inside"], 4),
        "cross, batches alone": round(extra["cross"], 4),
        "images a second": round(rows / median(seconds["vanilla"])),
        "inside over vanilla": round(ratio(seconds, "inside", "vanilla"), 3),
        "cross over vanilla": round(ratio(seconds, "cross", "vanilla"), 3),
        "throughput over bare loop": round(ratio(seconds, "bare", "vanilla"), 3),
    }


def _making(ours: Ours) -> Callable[[], object]:
    """Give the function that makes an epoch's batches, and does nothing with them."""

    def make() -> None:
        for _ in ours.batches().epoch(0, 0):
            pass

    return make


def inference(rows: int, rounds: int) -> dict[str, Any]:
    """Compare asking about ten encodings of every image with asking ten times plainly."""
    asked, pool, public = images(rows), images(5 * rows, seed=1), images(rows, seed=2)
    trained = Trained(build("small-resnet", SHAPE, CLASSES), "small-resnet", SHAPE, tuple(map(str, range(CLASSES))))

    def plainly() -> None:
        for _ in range(10):
            predict(trained, asked)

    seconds = side_by_side(
        rounds,
        {
            "plain": plainly,
            "inside": lambda: predict(trained, asked, encoder=INSIDE, pool=pool),
            "cross": lambda: predict(trained, asked, encoder=CROSS, pool=pool, public=public),
        },
    )
    return {
        "images": rows,
        "plain images a second": round(10 * rows / median(seconds["plain"])),
        "inside over ten plain": round(ratio(seconds, "inside", "plain"), 3),
        "cross over ten plain": round(ratio(seconds, "cross", "plain"), 3),
    }


def report(results: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Say what was measured and what was to be reached."""
    for name, figures in results.items():
        yield f"{name}: " + ", ".join(f"{key} {value:,}" for key, value in figures.items())
    yield ""
    for model in ("small-resnet", "resnet18"):
        for scheme in ("inside", "cross"):
            value = results[model][f"{scheme} over vanilla"]
            yield _line(f"{model}, epoch with InstaHide {scheme} over vanilla", value, "under", REACH["epoch"])
    value = results["small-resnet"]["throughput over bare loop"]
    yield _line("small-resnet, throughput over a bare loop", value, "at least", REACH["loop"])
    for scheme in ("inside", "cross"):
        value = results["inference"][f"{scheme} over ten plain"]
        yield _line(f"ten encodings, {scheme}, over ten plain predictions", value, "at most", REACH["inference"])


def _line(what: str, value: float, bound: str, reach: float) -> str:
    reached = value >= reach if bound == "at least" else value < reach if bound == "under" else value <= reach
    return f"{'reached' if reached else 'MISSED '}  {what}: {value:.3f} ({bound} {reach})"


def main() -> None:
    """Measure, print, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer images and rounds, under a minute")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    asked = parser.parse_args()
    results = {
        "small-resnet": epochs("small-resnet", 1280, 5 if asked.quick else 60),
        "resnet18": epochs("resnet18", 128, 1 if asked.quick else 11),
        "inference": inference(500 if asked.quick else 2000, 2 if asked.quick else 13),
    }
    print("\n".join(report(results)))
    if asked.json:
        about = {"torch": torch.__version__, "threads": torch.get_num_threads(), "quick": asked.quick}
        asked.json.write_text(json.dumps({**about, **results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
