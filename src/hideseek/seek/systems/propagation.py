"""Belief propagation on a graph whose nodes have a few states each: how likely each state is.

Sum-product: the message of p to q about its state y is Σ_x h(x) ψ(x, y), where h(x) is what p believes without what q
told it. Messages go along every edge in turn, there and back, and are used at once (Pearl 1988; on graphs with loops
it is an approximation that mostly settles, Murphy, Weiss and Jordan 1999).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hideseek.chance.compiled import compiled

LEAST = 1e-9  # of the largest number in a message: nothing is impossible

Floats = NDArray[np.float32]
Array = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True)
class Graph:
    """Edges between nodes, with a table ψ for each, states of the first × states of the second, one after another."""

    edges: Places  # edges × 2
    starts: Places  # where the table of an edge begins
    tables: Floats

    @classmethod
    def room(cls, edges: Places, counts: Places) -> "Graph":
        """Give a graph with tables to be filled in."""
        sizes = counts[edges[:, 0]] * counts[edges[:, 1]]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return cls(edges, starts, np.empty(starts[-1], np.float32))


def propagate(own: Array, counts: Places, graph: Graph, sweeps: int) -> Array:
    """Give what is believed of every node's states, as logarithms of probabilities, nodes × room.

    `own` is what each node has to say by itself, as logarithms; of its states the first `counts` are there.
    """
    beliefs = own.copy()
    messages = np.zeros((len(graph.edges), 2, own.shape[1]))
    for sweep in range(sweeps):
        _sweep(beliefs, counts, graph.edges, graph.starts, graph.tables, messages, sweep % 2 == 1)
    _normalise(beliefs, counts)
    return beliefs


@compiled(fastmath=True)
def _sweep(  # pragma: no cover (compiled)
    beliefs: Array, counts: Places, edges: Places, starts: Places, tables: Floats, messages: Array, backward: bool
) -> None:
    room = beliefs.shape[1]
    said, heard = np.empty(room, np.float32), np.empty(room, np.float32)
    for step in range(len(edges)):
        edge = len(edges) - 1 - step if backward else step
        p, q = edges[edge, 0], edges[edge, 1]
        n, m = counts[p], counts[q]
        if n == 0 or m == 0:
            continue
        table = tables[starts[edge] : starts[edge + 1]].reshape(n, m)
        for way in range(2):
            one, other = (p, q) if way == 0 else (q, p)
            size, others = (n, m) if way == 0 else (m, n)
            back = messages[edge, 1 - way]
            top = -np.inf
            for x in range(size):
                top = max(top, beliefs[one, x] - back[x])
            for x in range(size):
                said[x] = np.exp(beliefs[one, x] - back[x] - top)
            if way == 0:
                heard[:others] = 0
                for x in range(size):
                    if said[x] > 1e-12:
                        for y in range(others):
                            heard[y] += said[x] * table[x, y]
            else:
                for y in range(others):
                    total = np.float32(0)
                    for x in range(size):
                        total += said[x] * table[y, x]
                    heard[y] = total
            most = np.float32(0)
            for y in range(others):
                most = max(most, heard[y])
            for y in range(others):
                fresh = np.log(max(heard[y] / most, LEAST)) if most > 0 else 0.0
                beliefs[other, y] += fresh - messages[edge, way, y]
                messages[edge, way, y] = fresh


@compiled()
def _normalise(beliefs: Array, counts: Places) -> None:  # pragma: no cover (compiled)
    """Let probabilities of a node sum to one; states that are not there have none."""
    for node in range(len(beliefs)):
        top, total = -np.inf, 0.0
        for x in range(counts[node]):
            top = max(top, beliefs[node, x])
        for x in range(counts[node]):
            total += np.exp(beliefs[node, x] - top)
        for x in range(beliefs.shape[1]):
            beliefs[node, x] = beliefs[node, x] - top - np.log(total) if x < counts[node] else -np.inf
