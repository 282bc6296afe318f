"""The signs of a masked row, from that row alone: images are smooth, and a sum of images is as smooth as they are.

A mask hides the sign of each pixel. Yet |y| falls to nothing wherever y changes sign, so that between such valleys lie
basins of one sign each: some fifty unknowns where the mask seems to have hundreds.
"""

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.chance.compiled import on_threads
from hideseek.progress import track
from hideseek.records import Task
from hideseek.seek.signals.signed_clusters import whitener, whitening_work
from hideseek.seek.systems.basin_kernel import restore_rows
from hideseek.seek.systems.masked_spectrum import masked_spectrum, masked_spectrum_work, precision
from hideseek.seek.work import LOOKUP

LARGEST = 4096  # numbers in a row, whose precision fits into 64 MB
BLUR = 0.5  # pixels, before basins are told apart: single small pixels would divide them
RESTARTS, SWEEPS = 24, 60  # of the annealing
BLOCK = 256  # rows at a time
SHRUNK, FEW = 0.3, 0.65  # of the covariance of rows is taken from their spectrum; more where they are few for pixels
TYPICAL = 1 / 12  # basins for a pixel


def restored(magnitudes: Float[Tensor, "m c h w"], chance: Randomness) -> Float[Tensor, "m pixels"]:
    """Give rows with signs, each but for one sign for all of it: the likeliest of a Gaussian field.

    y'Q y is least, Q the inverse of the covariance, so that no image of anyone is needed: the squares of rows tell it,
    and once more, place by place, the rows that were found so.
    """
    shape = magnitudes.shape[1:]
    found = _likeliest(magnitudes, precision(masked_spectrum(magnitudes)), chance)
    pixels = found.shape[1]
    white = whitener(found, shape, min(1.0, max(SHRUNK, FEW * pixels / max(1, len(found)))))
    return _likeliest(magnitudes, white @ white.T, chance)


def _likeliest(
    magnitudes: Float[Tensor, "m c h w"], inverse: Float[Tensor, "pixels pixels"], chance: Randomness
) -> Float[Tensor, "m pixels"]:
    """Find signs of whole basins by annealing, and then of single pixels."""
    shape = tuple(magnitudes.shape[1:])
    matrix = np.ascontiguousarray(inverse.numpy(), np.float32)
    answer = magnitudes.flatten(1).numpy().copy()
    seeds = chance.integers(1 << 31, len(answer)).numpy()
    for first in track(range(0, len(answer), BLOCK), "signs, row by row"):
        some = slice(first, first + BLOCK)
        labels = np.stack([_basins(row.reshape(shape)) for row in answer[some]])
        on_threads(restore_rows, len(labels), answer[some], matrix, labels, seeds[some], shape, RESTARTS, SWEEPS)
    return torch.from_numpy(answer)


def _basins(row: NDArray[np.float32]) -> NDArray[np.int32]:
    """Give each basin a number: a peak of |y| and what lies around it, down to valleys.

    Colours of one place mostly have one sign, so that the channels are one more direction in which basins go on.
    """
    from skimage.segmentation import watershed  # here: it takes long to import

    smooth = gaussian_filter(row, (0, BLUR, BLUR))
    found: NDArray[np.int32] = (watershed(-smooth).ravel() - 1).astype(np.int32)
    return found


def smooth_work(task: Task) -> float:
    """Count the spectrum, basins and their energies, the annealings, sweeps over pixels of each, and crossing."""
    basins = TYPICAL * task.pixels / task.channels  # which go through all colours
    annealing = RESTARTS * SWEEPS * basins * (LOOKUP / 10 + 0.3 * basins)
    each = task.pixels * LOOKUP + (4.0 + RESTARTS) * task.pixels**2 + annealing
    return masked_spectrum_work(task) + whitening_work(task.items, task.pixels) + 2 * task.items * each
