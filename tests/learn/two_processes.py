"""Train some models, in as many processes as torchrun has started, and write them."""

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

import toys
from hideseek.chance import seeded
from hideseek.hide import InstaHide
from hideseek.learn import RunFolder, learn, train
from hideseek.learn.batches import Reencoded
from hideseek.records import Encoder
from hideseek.train.trained import write_model
from hideseek.train.training import SGD, Training
from hideseek.train.worker import this_worker

TRAINING = Training(2, 20, SGD(0.2))


class Stopped(Reencoded):
    """Batches that end the process, as far as we can tell from here, in the middle of the second epoch."""

    def epoch(self, number: int, first: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        for step, batch in enumerate(super().epoch(number, first)):
            if (number, step) == (1, 2):
                raise KeyboardInterrupt
            yield batch


def run(kind: str, training: Training, encoder: Encoder | None, run_folder: RunFolder | None = None) -> None:
    private = toys.patterns(60, side=16)
    learnt = learn(private, "tanh-convnet", training, encoder=encoder, chance=seeded(3), run_folder=run_folder)
    if this_worker().first:
        write_model(Path(sys.argv[1]) / kind, learnt.trained)


if __name__ == "__main__":
    torch.set_num_threads(1)
    run("why_no_accuracy", replace(TRAINING, optimiser=SGD(1e-30)), None)
    run("vanilla", TRAINING, None)
    run("instahide", TRAINING, InstaHide())
    augmented = replace(TRAINING, augment=True)
    run("whole", augmented, InstaHide())
    run_folder = RunFolder(Path(sys.argv[1]) / "kept", resume=True, every=0)
    with patch.object(train, "Reencoded", Stopped), contextlib.suppress(KeyboardInterrupt):
        run("stopped", augmented, InstaHide(), run_folder)
    run("resumed", augmented, InstaHide(), run_folder)
