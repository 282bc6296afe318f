"""What a way of sharing costs beside accuracy: bytes that are sent, and time of a training."""

import math
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from numpy.typing import NDArray
from safetensors.numpy import load_file

from hideseek.audit import Question
from hideseek.audit.planning.clock import ProcessClock
from hideseek.audit.question import Learnable
from hideseek.audit.utility import TrainingPlan, measure
from hideseek.bench.problem import Problem
from hideseek.chance import seeded
from hideseek.federate.packing import packed
from hideseek.records import Encoder

IMAGES = 1280  # that are trained on, to compare times
MODEL = "model.safetensors"  # what the server sends, beside updates
TURNS = 5


@dataclass(frozen=True)
class Cost:
    """What it costs to share in some way."""

    shared: float
    """Bytes that are sent of an image in a round, packed without loss, over those of the image in a file of pixels."""
    time: float
    """Processor time of a training on what is shared, hiding included, over that of one on images; their medians."""


def cost(problem: Problem, scheme: Encoder | None, question: Question | None) -> Cost:
    """Measure what a scheme costs; None: nothing is hidden, which costs nothing."""
    if scheme is None or question is None:
        return Cost(1.0, 1.0)
    return Cost(_shared(scheme, question), _time(problem, scheme))


def _shared(scheme: Encoder, question: Question) -> float:
    """Write a release, and count the bytes of its arrays as federations send them: zeros and few levels packed."""
    private = question.private
    with tempfile.TemporaryDirectory() as folder:
        release = Path(folder) / "release"
        scheme.write(private, question.public, seeded(0), release, Path(folder) / "truth", question.rounds)
        files = [path for path in release.rglob("*.safetensors") if path.name != MODEL]
        sent = sum(_fewest(array) for path in files for array in load_file(path).values())
    return sent / (len(private) * question.rounds * math.prod(private.shape))


def _fewest(array: NDArray[Any]) -> int:
    shorter = packed(array)
    return array.nbytes if shorter is None else len(shorter[1])


def _time(problem: Problem, scheme: Encoder) -> float:
    """Train an epoch in turns, on what is shared and on images."""
    assert isinstance(scheme, Learnable)  # noqa: S101 (rows and updates both are)
    learning, plan = problem.learning, problem.training
    few = replace(learning, train=learning.train.take(slice(0, IMAGES)), test=learning.test.take(slice(0, 1)))
    how = TrainingPlan(replace(plan.training, epochs=1), 1)
    turns = [(_seconds(few, scheme, how), _seconds(few, None, how)) for _ in range(TURNS + 1)][1:]  # the first warms up
    return median(hidden / plain for hidden, plain in turns)


def _seconds(learning: Any, scheme: Learnable | None, how: TrainingPlan) -> float:
    started = time.process_time()
    measure(learning, scheme, how, seeded(0), ProcessClock())
    return time.process_time() - started
