"""The inner loops of smooth signs, compiled: signs of whole basins of a row, annealed, then of single pixels.

The annealings of a row are all kept, and crossed.
"""

import numpy as np
from numpy.typing import NDArray

from hideseek.chance.compiled import compiled
from hideseek.seek.systems.crossing_kernel import crossed

HOT, COLD = 0.3, 0.5  # the annealing begins at this share of a basin's own energy, and ends at this energy
WARM_SWEEPS, COLD_SWEEPS = 3, 2  # over single pixels: at the temperature of the model, then downhill

Matrix = NDArray[np.float32]
Labels = NDArray[np.int32]


@compiled(fastmath={"contract", "reassoc", "nsz"})
def basin_energies(row: Matrix, precision: Matrix, labels: Labels, basins: int) -> Matrix:  # pragma: no cover
    """Give J with s'J s = y'Q y for the row y whose basins are turned by s."""
    energies = np.zeros((basins, basins), np.float32)
    for first in range(len(row)):
        own, value = labels[first], row[first]
        for second in range(len(row)):
            energies[own, labels[second]] += value * precision[first, second] * row[second]
    return energies


@compiled(fastmath={"contract", "reassoc", "nsz"})
def anneal(energies: Matrix, signs: Matrix, sweeps: int) -> None:  # pragma: no cover (compiled)
    """Turn signs, in place, until s'J s / 2 is low: uphill too at first, and ever less."""
    count = len(energies)
    hot = max(np.float32(2.0), np.float32(HOT) * np.trace(energies) / count)
    fields = energies @ signs
    for sweep in range(sweeps):
        temperature = hot * (COLD / hot) ** (sweep / max(1, sweeps - 1))
        for place in range(count):
            more = 2 * (energies[place, place] - signs[place] * fields[place])
            if more < 0 or np.random.random() < np.exp(-more / temperature):
                turned = -2 * signs[place]
                for other in range(count):
                    fields[other] += turned * energies[other, place]
                signs[place] = -signs[place]


@compiled(fastmath={"contract", "reassoc", "nsz"})
def turn_pixels(row: Matrix, fields: Matrix, precision: Matrix) -> None:  # pragma: no cover (compiled)
    """Turn single pixels of a row, in place, as y'Q y / 2 has it; `fields` are Q y, and stay so."""
    for sweep in range(WARM_SWEEPS + COLD_SWEEPS):
        for place in range(len(row)):
            value = row[place]
            more = 2 * value * (value * precision[place, place] - fields[place])
            warm = sweep < WARM_SWEEPS and np.random.random() < np.exp(-max(more, np.float32(0)))
            if more < 0 or warm:
                for other in range(len(row)):
                    fields[other] -= 2 * value * precision[place, other]
                row[place] = -value


@compiled()
def restore_rows(  # pragma: no cover (compiled)
    first: int,
    last: int,
    rows: Matrix,
    precision: Matrix,
    labels: Labels,
    seeds: NDArray[np.int64],
    shape: tuple[int, int, int],
    restarts: int,
    sweeps: int,
) -> None:
    """Give some rows signs, in place; each has a seed, so that threads do not matter."""
    found = np.empty((restarts, rows.shape[1]), np.float32)
    for number in range(first, last):
        np.random.seed(seeds[number])
        basins = labels[number].max() + 1
        energies = basin_energies(rows[number], precision, labels[number], basins)
        signs = np.ones(basins, np.float32)
        for restart in range(restarts):
            if restart:
                for place in range(basins):
                    signs[place] = 1.0 if np.random.random() < 0.5 else -1.0
            anneal(energies, signs, sweeps)
            for place in range(rows.shape[1]):
                found[restart, place] = rows[number, place] * signs[labels[number, place]]
        fields = found @ precision  # of all guesses together: a matrix of this size is slow to read
        for restart in range(restarts):
            turn_pixels(found[restart], fields[restart], precision)
        best = crossed(found, fields, precision, shape)
        turn_pixels(found[best], fields[best], precision)
        rows[number] = found[best]
