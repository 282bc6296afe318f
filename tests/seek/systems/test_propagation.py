import itertools

import numpy as np

from hideseek.seek.systems.propagation import Graph, propagate


def test_on_a_tree_beliefs_are_the_marginals() -> None:
    """A chain with a branch: every assignment, one by one."""
    generator = np.random.default_rng(0)
    counts, edges = np.array([2, 3, 2, 3]), np.array([[0, 1], [1, 2], [1, 3]])
    graph = Graph.room(edges, counts)
    graph.tables[:] = generator.random(len(graph.tables)) + 0.1
    own = np.log(generator.random((4, 3)))
    own[np.arange(3) >= counts[:, None]] = -np.inf
    marginals = np.zeros((4, 3))
    for states in itertools.product(*map(range, counts)):
        weight = np.exp(sum(own[node, state] for node, state in enumerate(states)))
        for edge, (one, two) in enumerate(edges):
            table = graph.tables[graph.starts[edge] : graph.starts[edge + 1]].reshape(counts[one], counts[two])
            weight *= table[states[one], states[two]]
        for node, state in enumerate(states):
            marginals[node, state] += weight
    marginals /= marginals.sum(1, keepdims=True)
    assert np.allclose(np.exp(propagate(own, counts, graph, sweeps=4)), marginals, atol=1e-5)


def test_a_node_without_states_says_nothing() -> None:
    counts, edges = np.array([2, 0]), np.array([[0, 1]])
    own = np.log(np.array([[0.25, 0.75], [1.0, 1.0]]))
    beliefs = np.exp(propagate(own, counts, Graph.room(edges, counts), sweeps=2))
    assert np.allclose(beliefs[0], [0.25, 0.75])
