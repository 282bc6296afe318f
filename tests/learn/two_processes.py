"""Train some models, in as many processes as torchrun has started, and write them."""

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

import toys
from hideseek.chance import Randomness, seeded
from hideseek.hide import InstaHide
from hideseek.learn import Plain, Reencoded, RunFolder, Source, learn
from hideseek.learn.sources.reencoded import EncodedBatches
from hideseek.train.trained import write_model
from hideseek.train.training import SGD, Training
from hideseek.train.worker import Worker, this_worker

TRAINING = Training(2, 20, SGD(0.2))
PRIVATE = toys.patterns(60, side=16)


class StoppedBatches(EncodedBatches):
    """Batches that end the training in the middle of the second epoch."""

    def epoch(self, number: int, first: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        for step, batch in enumerate(super().epoch(number, first)):
            if (number, step) == (1, 2):
                raise KeyboardInterrupt
            yield batch


class Stopped(Reencoded):
    """A source whose training is stopped."""

    def batches(self, training: Training, chance: Randomness, seed: int, worker: Worker) -> StoppedBatches:
        return StoppedBatches(**vars(super().batches(training, chance, seed, worker)))


def run(kind: str, training: Training, source: Source[Any], run_folder: RunFolder | None = None) -> None:
    learnt = learn(source, "tanh-convnet", training, chance=seeded(3), run_folder=run_folder)
    if this_worker().first:
        write_model(Path(sys.argv[1]) / kind, learnt.trained)


if __name__ == "__main__":
    torch.set_num_threads(1)
    run("untrained", replace(TRAINING, optimiser=SGD(1e-30)), Plain(PRIVATE))
    run("vanilla", TRAINING, Plain(PRIVATE))
    run("instahide", TRAINING, Reencoded(PRIVATE, InstaHide()))
    augmented = replace(TRAINING, augment=True)
    run("whole", augmented, Reencoded(PRIVATE, InstaHide()))
    run_folder = RunFolder(Path(sys.argv[1]) / "kept", resume=True, every=0)
    with contextlib.suppress(KeyboardInterrupt):
        run("stopped", augmented, Stopped(PRIVATE, InstaHide()), run_folder)
    run("resumed", augmented, Reencoded(PRIVATE, InstaHide()), run_folder)
