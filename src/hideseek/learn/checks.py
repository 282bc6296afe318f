"""What cannot be learnt from is refused before the first step."""

import torch
from torch import nn

from hideseek.errors import BadInput
from hideseek.records import Samples
from hideseek.train.trained import Trained
from hideseek.train.training import Training
from hideseek.train.worker import Worker


def check_classes(samples: Samples) -> None:
    """Refuse samples without labels, or of one class."""
    if samples.labels.shape[1] == 0:
        raise BadInput("these images have no labels to learn from: name labelled ones (a subfolder a class).")
    if int(torch.count_nonzero(samples.labels.sum(0))) < 2:
        raise BadInput("all images are of one class, so there is nothing to tell apart: add images of another class.")


def check_processes(training: Training, worker: Worker) -> None:
    """Refuse a batch that the processes cannot share evenly."""
    if training.batch % worker.world:
        raise BadInput(
            f"a batch of {training.batch} cannot be shared evenly among {worker.world} processes: change it."
        )


def check_batch_norm(network: nn.Module, training: Training, worker: Worker) -> None:
    """Refuse a process's share of a batch that is too small for BatchNorm."""
    normed = any(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in network.modules())
    if normed and training.batch // worker.world < 2:
        raise BadInput("this network has BatchNorm, which needs at least two images at a time: raise the batch size.")


def check_test(trained: Trained, test: Samples) -> None:
    """Refuse test images that the network was not made for, or that have no labels."""
    trained.check(test)
    if test.normalisation != trained.normalisation:
        raise BadInput("test images must be normalised with the constants of the training images: pass those on.")
    if len(test) == 0 or test.labels.shape[1] == 0:
        raise BadInput("there are no labelled images to test with: name some, or train without a test.")
