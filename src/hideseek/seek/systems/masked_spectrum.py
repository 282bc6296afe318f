"""What the sums in masked rows are like, frequency by frequency, from the rows alone: a mask leaves their squares."""

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.records import Task
from hideseek.seek.signals.whitening import Whitening, cosines

LEAST = 1e-4  # of the strongest frequency, that each has


def masked_spectrum(magnitudes: Float[Tensor, "m c h w"]) -> Whitening:
    """Give the deviation of every frequency of every principal colour of y, where |y| is given.

    For a Gaussian y of mean 0, cov(y_p², y_q²) = 2 cov(y_p, y_q)². Neighbours in images have covariances above 0, and
    far pixels have small ones, so the root is theirs.
    """
    channels, height, width = magnitudes.shape[1:]
    squares = magnitudes.square().flatten(1)
    centred = squares - squares.mean(0)
    covariance = ((centred.T @ centred) / (2 * max(1, len(centred)))).clamp_min(0).sqrt()
    among = covariance.view(channels, height * width, channels, height * width).diagonal(dim1=1, dim2=3).sum(-1)
    flat = Whitening(
        torch.linalg.eigh(among.double())[1].float(),
        torch.ones(channels, height, width),
        cosines(height),
        cosines(width),
    )
    waves = flat.waves()
    power = (waves * (covariance @ waves)).sum(0)
    power = power.clamp_min(LEAST * float(power.max()) + 1e-30)
    return Whitening(flat.colours, power.sqrt().view(channels, height, width), flat.rows, flat.columns)


def precision(spectrum: Whitening) -> Float[Tensor, "pixels pixels"]:
    """Give the inverse of the covariance that a spectrum is that of."""
    waves = spectrum.waves()
    return (waves / spectrum.deviations.square().flatten()) @ waves.T


def masked_spectrum_work(task: Task) -> float:
    """Count the covariance of squares, and three products of its size."""
    return float(task.pixels) ** 2 * (task.items + 3.0 * task.pixels)
