"""Which of its possible bytes each pixel has: belief propagation among neighbours, first by channel, then by colour.

A channel's pixel knows little: its neighbours in the channel, and the other channels' pixels at its place. That is
enough to keep the few likeliest solutions of each channel; the products of these are colours, for which the whole
prior of differences counts.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hideseek.chance.compiled import compiled
from hideseek.seek.systems.byte_prior import BytePrior
from hideseek.seek.systems.propagation import Array, Floats, Graph, Places, propagate

SWEEPS = 8
Values = NDArray[np.uint8]  # nodes × room × k


def grid(height: int, width: int) -> Places:
    """Give the pairs of pixels next to each other, beside and below."""
    places = np.arange(height * width).reshape(height, width)
    beside = np.stack([places[:, :-1].ravel(), places[:, 1:].ravel()], 1)
    below = np.stack([places[:-1].ravel(), places[1:].ravel()], 1)
    return np.concatenate([beside, below])


def channel_beliefs(
    values: Values, likelihoods: Array, counts: Places, shape: tuple[int, int, int], priors: Sequence[BytePrior]
) -> Array:
    """Give the logarithms of beliefs about the solutions of every channel's pixels; nodes are c·h·w."""
    channels, height, width = shape
    pixels = height * width
    inside = grid(height, width)
    edges = [inside + channel * pixels for channel in range(channels)]
    laws = [
        (np.array([prior.differences[c, c] ** 0.5 for prior in priors]), np.zeros(len(priors))) for c in range(channels)
    ]
    kinds = [np.full(len(inside), c) for c in range(channels)]
    places = np.arange(pixels)
    for one in range(channels):
        for two in range(one + 1, channels):
            edges.append(np.stack([places + one * pixels, places + two * pixels], 1))
            kinds.append(np.full(pixels, len(laws)))
            laws.append(
                (
                    np.array([prior.between_colours()[one, two] for prior in priors]),
                    np.array([prior.mean[one] - prior.mean[two] for prior in priors]),
                )
            )
    graph = Graph.room(np.concatenate(edges), counts)
    scales, shifts = (np.stack(each).astype(np.float32) for each in zip(*laws, strict=True))
    _channel_tables(values, counts, graph.edges, graph.starts, graph.tables, np.concatenate(kinds), scales, shifts)
    return propagate(likelihoods, counts, graph, SWEEPS)


@compiled(fastmath=True)
def _channel_tables(  # pragma: no cover (compiled)
    values: Values,
    counts: Places,
    edges: Places,
    starts: Places,
    tables: Floats,
    kinds: Places,
    scales: Floats,
    shifts: Floats,
) -> None:
    """Fill in ψ(x, y) = Π_j 1 / (1 + ((x_j − y_j − shift) / scale)²), by the law of an edge's kind, kinds × images."""
    k = values.shape[2]
    for edge in range(len(edges)):
        p, q = edges[edge, 0], edges[edge, 1]
        place, kind = starts[edge], kinds[edge]
        for x in range(counts[p]):
            for y in range(counts[q]):
                product = np.float32(1)
                for j in range(k):
                    step = np.float32(values[p, x, j]) - np.float32(values[q, y, j]) - shifts[kind, j]
                    step /= scales[kind, j]
                    product *= np.float32(1) + step * step
                tables[place] = np.float32(1) / product
                place += 1


def colour_beliefs(
    colours: NDArray[np.float32], likelihoods: Array, counts: Places, size: tuple[int, int], priors: Sequence[BytePrior]
) -> Array:
    """Give the logarithms of beliefs about the colours of every pixel, pixels × room × k × c.

    A pixel by itself is believed by the likelihood of its colours, and by how common each image's colour is.
    """
    channels = colours.shape[3]
    own, white = likelihoods.copy(), np.empty_like(colours)
    for j, prior in enumerate(priors):
        about = (colours[:, :, j] - prior.mean) @ np.linalg.cholesky(np.linalg.inv(prior.pixels))
        own -= (channels + 1) / 2 * np.log1p((about**2).sum(2))
        white[:, :, j] = colours[:, :, j] @ np.linalg.cholesky(np.linalg.inv(prior.differences))
    graph = Graph.room(grid(*size), counts)
    _colour_tables(white, counts, graph.edges, graph.starts, graph.tables)
    return propagate(own, counts, graph, SWEEPS)


@compiled(fastmath=True)
def _colour_tables(  # pragma: no cover (compiled)
    white: NDArray[np.float32], counts: Places, edges: Places, starts: Places, tables: Floats
) -> None:
    """Fill in ψ(x, y) = Π_j (1 + ‖x_j − y_j‖²)^(−(c+1)/2), of colours that are white."""
    k, channels = white.shape[2:]
    power = np.float32(-(channels + 1) / 2)
    for edge in range(len(edges)):
        p, q = edges[edge, 0], edges[edge, 1]
        place = starts[edge]
        for x in range(counts[p]):
            for y in range(counts[q]):
                product = np.float32(1)
                for j in range(k):
                    length = np.float32(1)
                    for c in range(channels):
                        step = white[p, x, j, c] - white[q, y, j, c]
                        length += step * step
                    product *= length
                if channels == 3:
                    tables[place] = np.float32(1) / (product * product)
                elif channels == 1:
                    tables[place] = np.float32(1) / product
                else:
                    tables[place] = product**power
                place += 1


@compiled()
def combine(  # pragma: no cover (compiled)
    values: Values, beliefs: Array, likelihoods: Array, counts: Places, channels: int, room: int
) -> tuple[NDArray[np.float32], Array, Places]:
    """Give the colours of every pixel, made of the likeliest solutions of its channels, at most `room` of them.

    The solutions of a channel are taken in the order of belief, as many of each as leave no more products than there
    is room for: always one more of the channel whose next solution is likeliest.
    """
    pixels, k = len(values) // channels, values.shape[2]
    colours = np.zeros((pixels, room, k, channels), np.float32)
    weights, numbers = np.full((pixels, room), -np.inf), np.zeros(pixels, np.int64)
    for pixel in range(pixels):
        taken = np.ones(channels, np.int64)
        orders = np.zeros((channels, values.shape[1]), np.int64)
        empty = False
        for c in range(channels):
            node = c * pixels + pixel
            empty = empty or counts[node] == 0
            orders[c, : counts[node]] = np.argsort(-beliefs[node, : counts[node]])
        if empty:
            continue
        while True:
            best, likeliest = -1, -np.inf
            for c in range(channels):
                node = c * pixels + pixel
                if taken[c] < counts[node]:
                    product = taken[c] + 1
                    for other in range(channels):
                        product *= taken[other] if other != c else 1
                    value = beliefs[node, orders[c, taken[c]]]
                    if product <= room and value > likeliest:
                        best, likeliest = c, value
            if best < 0:
                break
            taken[best] += 1
        total = 1
        for c in range(channels):
            total *= taken[c]
        for number in range(total):
            left, weight = number, 0.0
            for c in range(channels):
                node, which = c * pixels + pixel, orders[c, left % taken[c]]
                left //= taken[c]
                weight += likelihoods[node, which]
                for j in range(k):
                    colours[pixel, number, j, c] = values[node, which, j]
            weights[pixel, number] = weight
        numbers[pixel] = total
    return colours, weights, numbers
