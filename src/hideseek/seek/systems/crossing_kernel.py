"""Several guesses of a row's signs made into one that is better than each: they are wrong in different regions.

Where two guesses differ, they differ in whole regions, each of which may be turned by itself. One annealing seldom
turns a region of many basins at once, since all that lies between is uphill.
"""

import numpy as np
from numpy.typing import NDArray

from hideseek.chance.compiled import compiled

ROUNDS = 4  # over all guesses, at most
LESS = 1e-3  # energy that a turn must save

Matrix = NDArray[np.float32]
Numbers = NDArray[np.int32]


@compiled()
def regions(differ: NDArray[np.bool_], shape: tuple[int, int, int], labels: Numbers) -> int:  # pragma: no cover
    """Give the places that differ a number for each connected region, others −1, and count the regions."""
    channels, height, width = shape
    whole, count = height * width, 0
    waiting = np.empty(len(differ), np.int32)
    labels[:] = -1
    for start in range(len(differ)):
        if not differ[start] or labels[start] >= 0:
            continue
        labels[start], waiting[0], many = count, start, 1
        while many:
            many -= 1
            place = waiting[many]
            channel, row, column = place // whole, place % whole // width, place % width
            for side in range(6):
                step = (1, width, whole)[side // 2] * (1 - 2 * (side % 2))
                at, most = ((column, width), (row, height), (channel, channels))[side // 2]
                if not 0 <= at + 1 - 2 * (side % 2) < most:
                    continue
                if differ[place + step] and labels[place + step] < 0:
                    labels[place + step] = count
                    waiting[many] = place + step
                    many += 1
        count += 1
    return count


@compiled()
def in_order(labels: Numbers, count: int, members: Numbers, starts: Numbers) -> None:  # pragma: no cover (compiled)
    """Give the places of every region, one region after another, and where each begins."""
    starts[: count + 1] = 0
    for label in labels:
        if label >= 0:
            starts[label + 1] += 1
    for region in range(count):
        starts[region + 1] += starts[region]
    for place in range(len(labels)):
        if labels[place] >= 0:
            members[starts[labels[place]]] = place
            starts[labels[place]] += 1
    for region in range(count, 0, -1):
        starts[region] = starts[region - 1]
    starts[0] = 0


@compiled(fastmath={"contract", "reassoc", "nsz"})
def crossed(  # pragma: no cover (compiled)
    found: Matrix, fields: Matrix, precision: Matrix, shape: tuple[int, int, int]
) -> int:
    """Turn every region of the best guess in which another differs, where that makes y'Q y less; give its number.

    `fields` are Q y of every guess; the best one and its fields are changed in place.
    """
    guesses, pixels = found.shape
    least, best = np.float32(np.inf), 0
    for number in range(guesses):
        energy = (found[number] * fields[number]).sum()
        if energy < least:
            least, best = energy, number
    row, field = found[best], fields[best]
    differ, labels = np.empty(pixels, np.bool_), np.empty(pixels, np.int32)
    members, starts = np.empty(pixels, np.int32), np.empty(pixels + 1, np.int32)
    for _ in range(ROUNDS):
        turned = False
        for number in range(guesses):
            differ[:] = row * found[number] < 0
            if 2 * differ.sum() > pixels:  # a guess and its negative are the same
                differ[:] = ~differ
            count = regions(differ, shape, labels)
            in_order(labels, count, members, starts)
            for region in range(count):
                inside = members[starts[region] : starts[region + 1]]
                saved = np.float32(0)  # a quarter of what a turn saves: y_C' (Q y − Q_CC y_C)
                for first in inside:
                    own = np.float32(0)
                    for second in inside:
                        own += precision[first, second] * row[second]
                    saved += row[first] * (field[first] - own)
                if saved > LESS:
                    for first in inside:
                        twice = 2 * row[first]
                        for other in range(pixels):
                            field[other] -= twice * precision[first, other]
                    for first in inside:
                        row[first] = -row[first]
                    turned = True
        if not turned:
            break
    return best
