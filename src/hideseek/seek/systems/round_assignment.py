"""Which image is in which slot: in a round, every image is in exactly k rows, and no row has one twice."""

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from hideseek.records import Task
from hideseek.seek.signals.row_slots import RowSlots
from hideseek.seek.work import LOOKUP

FORBIDDEN = -1e6  # the score of an image of another class: taken only where sizes are wrong


def gated(scores: Float[Tensor, "m n"], slots: RowSlots, column: int) -> Float[Tensor, "m n"]:
    """Forbid images of classes that a slot cannot have."""
    images, wanted = slots.image_classes, slots.classes[:, column]
    fits = torch.where((wanted >= 0)[:, None], images == wanted[:, None], slots.masses[:, images] > 0)
    return scores.masked_fill(~fits, FORBIDDEN)


def assigned(scores: Float[Tensor, "m k n"], slots: RowSlots) -> Int[Tensor, "m k"]:
    """Give every slot its image, so that each is in exactly k slots of a round and the sum of scores is largest.

    Where every slot has a class, classes are assigned one by one. A row that gets an image twice gives one of the two
    to the best of what others would gain: its second slot takes the next best image.
    """
    private, images = slots.classes.shape[1], slots.images
    answer = torch.zeros_like(slots.classes)
    alone = bool((slots.classes >= 0).all())
    owners = slots.image_classes.numpy()
    for number in range(slots.rounds):
        some = slots.round_of(number)
        part = scores[some].reshape(-1, images).double().numpy()
        part = np.where(np.isfinite(part), part, FORBIDDEN)
        found = np.zeros(len(part), np.int64)
        kinds = slots.classes[some].flatten().numpy() if alone else np.zeros(len(part), np.int64)
        for kind in np.unique(kinds):
            places = np.flatnonzero(kinds == kind)
            columns = np.flatnonzero(owners == kind) if alone else np.arange(images)
            found[places] = columns[_matched(part[np.ix_(places, columns)], private)] if len(columns) else 0
        answer[some] = torch.from_numpy(_without_repeats(found.reshape(-1, private), part.reshape(-1, private, images)))
    return answer


def _matched(scores: NDArray[np.float64], times: int) -> NDArray[np.int64]:
    """Assign slots to images, each so many times, or oftener where there are more slots than that."""
    times = max(times, -(-len(scores) // scores.shape[1]))
    columns = linear_sum_assignment(np.tile(scores, (1, times)), maximize=True)[1]
    images: NDArray[np.int64] = columns % scores.shape[1]
    return images


def _without_repeats(found: NDArray[np.int64], scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Give a slot whose image stands earlier in its row the best image that does not."""
    for column in range(1, found.shape[1]):
        for row in np.flatnonzero((found[:, :column] == found[:, column, None]).any(1)):
            others = scores[row, column].copy()
            others[found[row, :column]] = -np.inf
            found[row, column] = others.argmax()
    return found


def assignment_work(task: Task, private: int, classes: int) -> float:
    """Count the assignments of all rounds: a dozen lookups for each slot of a class and each image of it."""
    rounds = task.items / max(1, task.images)
    side = private * task.images / classes
    return rounds * classes * side**2 * 12 * LOOKUP
