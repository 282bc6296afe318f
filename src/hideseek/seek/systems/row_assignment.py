"""Which images are in which row: the assignment that has most of the scores, as a flow of least cost."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack, vstack
from torch import Tensor

from hideseek.progress import track
from hideseek.seek.work import CALL, LOOKUP

MISSING = 2.0  # what an image that is missing costs, in ranges of the scores: more than any other choice

Numbers = NDArray[np.float64]


def assigned(
    scores: Float[Tensor, "m n"],
    there: Bool[Tensor, "m classes"],
    of_class: Int[Tensor, " n"],
    rounds: int,
    per_row: int,
) -> Int[Tensor, "m per_row"]:
    """Give every row its images: different ones, of the classes that its label shows, and of each of these one or more.

    In a round every image is in as many rows as a row has images, since permutations made them. Of all assignments that
    are so, the one with the largest sum of scores is a flow of least cost from rows through their classes to images
    (Carlini et al. 2021 assign so), and the answer of a linear program, which is whole. Where there is none, what is
    missing or too much has a cost.
    """
    rows, images = scores.shape
    wanted = min(per_row, images)
    found = torch.empty(rows, per_row, dtype=torch.int64)
    size = -(-rows // rounds)
    spread = float(scores.max() - scores.min()) or 1.0
    values = ((scores - scores.min()) / spread).double()
    for first in track(range(0, rows, size), "assigning rows"):
        part = slice(first, min(first + size, rows))
        flows = torch.from_numpy(_flows(values[part].numpy(), there[part].numpy(), of_class.numpy(), wanted))
        allowed = there[part][:, of_class]
        best = (4 * flows.round() + 2 * allowed + values[part]).topk(wanted, 1).indices
        found[part] = torch.cat([best, best[:, :1].expand(len(best), per_row - wanted)], 1)
    return found


def _flows(values: Numbers, there: NDArray[np.bool_], of_class: NDArray[np.int64], wanted: int) -> Numbers:
    """Solve the linear program of one round: how much of every image flows to every row, 0 or 1."""
    rows, images = values.shape
    flows = np.zeros((rows, images))
    row, image = there[:, of_class].nonzero()
    edges, pairs = len(row), int(there.sum())
    if not edges:
        return flows
    numbers = np.full(there.shape, -1)
    numbers[there] = np.arange(pairs)  # of a row and one of its classes
    several = there.sum(1)[there.nonzero()[0]] < wanted  # then a class may have more than one image in the row

    def sums(places: NDArray[np.int64], count: int) -> Any:
        return csr_array((np.ones(edges), (places, np.arange(edges))), shape=(count, edges))

    def slack(count: int) -> Any:
        identity = np.arange(count)
        return hstack(
            [csr_array((np.full(count, sign), (identity, identity)), shape=(count, count)) for sign in (1.0, -1.0)],
            format="csr",
        )

    equations = vstack(
        [
            hstack([sums(row, rows), slack(rows), csr_array((rows, 2 * (pairs + images)))]),
            hstack(
                [
                    sums(numbers[row, of_class[image]], pairs),
                    csr_array((pairs, 2 * rows)),
                    slack(pairs),
                    csr_array((pairs, 2 * images)),
                ]
            ),
            hstack([sums(image, images), csr_array((images, 2 * (rows + pairs))), slack(images)]),
        ],
        format="csr",
    )
    totals = np.concatenate([np.full(rows, float(wanted)), np.ones(pairs), np.full(images, rows * wanted / images)])
    more = np.where(several, 0.0, MISSING)
    costs = np.concatenate(
        [
            -values[row, image],
            np.full(2 * rows, 2 * MISSING),
            np.full(pairs, MISSING),
            more,
            np.full(2 * images, MISSING),
        ]
    )
    bounds = [(0.0, 1.0)] * edges + [(0.0, None)] * (2 * (rows + pairs + images))
    solved = linprog(costs, A_eq=equations, b_eq=totals, bounds=bounds)
    if solved.x is not None:
        flows[row, image] = solved.x[:edges]
    return flows


def assignment_work(rows: int, images: int) -> float:
    """Count flows of rounds of twenty rows: a simplex method goes over pairs of a class, a third, a thousand times."""
    return 1000.0 * (rows / 20 * CALL + rows * images / 3 * LOOKUP)
