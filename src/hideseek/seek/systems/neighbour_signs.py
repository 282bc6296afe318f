"""Signs of rows from neighbours: what is unknown in a row is smooth, so that sure places tell the others."""

from dataclasses import dataclass
from typing import Self

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from hideseek.progress import track
from hideseek.records import Task
from hideseek.seek.systems.image_spectrum import ImageSpectrum
from hideseek.seek.systems.mixture_solve import solve_work, solved
from hideseek.seek.systems.phase_retrieval import SURE_ERROR, PhaseProblem
from hideseek.seek.work import CALL, TOUCH

REACH = 2  # places on either side that a pixel is predicted from
PLACES = 6  # where the covariance of neighbours is looked at, along each side
NOISE = 0.8  # of the variance of images: how far neighbours are in doubt while half of the signs are
BEYOND = 0.1  # of the variance of images is never predicted
TURNS = 4  # of predicting, and choosing signs, for the same images
WHITE = 0.03  # of the variance of images: the noise that images are freed of


@dataclass(frozen=True)
class Predictor:
    """The best linear answer to what a pixel is, told from noisy neighbours in all colours, not from itself."""

    filters: Float[Tensor, "c c w w"]
    missed: Float[Tensor, " c"]
    """The variance that is left, of the variance of images in that colour."""

    @classmethod
    def of(cls, spectrum: ImageSpectrum) -> Self:
        """Derive it from the covariance of pixels that a spectrum gives: f = (K + noise)⁻¹ k, without the pixel."""
        covariance, (channels, height, width) = _covariance(spectrum), _window(spectrum)
        level = covariance.diagonal().mean().clamp_min(1e-12)
        filters = covariance.new_zeros(channels, len(covariance))
        missed = covariance.new_ones(channels)
        for channel in range(channels):
            centre = (channel * height + height // 2) * width + width // 2
            others = torch.arange(len(covariance)) != centre
            among = covariance[others][:, others]
            among.diagonal().add_(NOISE * level)
            with_it = covariance[others, centre]
            filters[channel, others] = torch.linalg.solve(among, with_it)
            missed[channel] -= (with_it @ filters[channel, others]) / covariance[centre, centre].clamp_min(1e-12)
        return cls(filters.view(channels, channels, height, width).float(), missed.clamp_min(0.0).float())

    def __call__(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
        """Predict every pixel; beyond the border is what is at the border."""
        down, across = (size // 2 for size in self.filters.shape[2:])
        return functional.conv2d(functional.pad(images, (across, across, down, down), mode="replicate"), self.filters)


def expected_rows(
    problem: PhaseProblem, images: Float[Tensor, "n c h w"], predictor: Predictor, some: slice
) -> tuple[Float[Tensor, "m c h w"], Float[Tensor, "m c h w"]]:
    """Give the expected rows E s, and what is in them beside the images: the mean of unknown images, and known ones.

    E s = x̃ tanh(x̃ (m + û) / v): û is predicted from E s − m at neighbours, and leaves less variance v than u has.
    """
    magnitudes, doubt = problem.magnitudes[some], problem.doubt(SURE_ERROR)[some, None, None, None]
    rest = problem.mass[some, None, None, None] * problem.spectrum.mean
    if problem.known is not None:
        rest = rest + problem.known[some]
    mean = problem.mixtures.some(some).mixed(images.flatten(1)).view_as(magnitudes) + rest
    return soft_rows(magnitudes, mean, doubt, problem.spectrum.variance, predictor), rest


def soft_rows(
    magnitudes: Float[Tensor, "m c h w"],
    mean: Float[Tensor, "m c h w"],
    doubt: Float[Tensor, "m 1 1 1"],
    variance: Float[Tensor, "c h w"],
    predictor: Predictor,
) -> Float[Tensor, "m c h w"]:
    """Give the expected rows, of which the mean is known, and an image of this variance times doubt is not."""
    left = (predictor.missed + BEYOND).clamp_max(1.0)[:, None, None] * variance
    signed = magnitudes * torch.tanh(magnitudes * mean / (doubt * variance))
    for _ in range(TURNS):
        signed = magnitudes * torch.tanh(magnitudes * (mean + predictor(signed - mean)) / (doubt * left))
    return signed


def with_neighbours(problem: PhaseProblem, images: Float[Tensor, "n c h w"], steps: int) -> Float[Tensor, "n c h w"]:
    """Improve images by signs that neighbours tell; it needs images with their right sign, from `refined`."""
    predictor, mixtures = Predictor.of(problem.spectrum), problem.mixtures
    doubt = problem.doubt(SURE_ERROR)
    for _ in track(range(steps), "signs from neighbours"):
        gathered = torch.zeros_like(images).flatten(1)
        for some in problem.parts():
            signed, rest = expected_rows(problem, images, predictor, some)
            gathered += mixtures.some(some).gathered(((signed - rest) / doubt[some, None, None, None]).flatten(1))
        found, _ = solved(mixtures, 1 / doubt, 1.0, gathered)
        noise = WHITE * float(problem.spectrum.variance.mean())
        images = problem.spectrum.without_noise(found.view_as(images), noise)
    return images


def neighbour_work(task: Task, steps: int) -> float:
    """Count the predictions of all rows, and solving."""
    window = (2 * REACH + 1) ** 2 * task.channels
    each = TURNS * (float(task.items) * task.pixels * (window + 40 * TOUCH))
    return steps * (each + solve_work(task) + 1000 * CALL)


def _window(spectrum: ImageSpectrum) -> tuple[int, int, int]:
    """Give the colours and the sides, odd, of the places that tell a pixel; images may be smaller than that."""
    channels, height, width = spectrum.mean.shape
    tall, wide = (2 * min(REACH, (size - 1) // 2) + 1 for size in (height, width))
    return channels, tall, wide


def _covariance(spectrum: ImageSpectrum) -> Float[Tensor, "window window"]:
    """Give the covariance of the pixels of a window, averaged over places."""
    (_, tall, wide), (_, height, width), basis = _window(spectrum), spectrum.mean.shape, spectrum.basis
    power, colours = basis.deviations.double().square(), basis.colours.double()
    total = torch.zeros(1, dtype=torch.float64)
    tops, lefts = (
        sorted({round(float(at)) for at in torch.linspace(0, size - window, PLACES)})
        for size, window in ((height, tall), (width, wide))
    )
    for top in tops:
        rows = basis.rows.double()[:, top : top + tall]
        for left in lefts:
            columns = basis.columns.double()[:, left : left + wide]
            inner = torch.einsum("eab,ai,ak,bj,bl->eijkl", power, rows, rows, columns, columns)
            total = total + torch.einsum("ce,de,eijkl->cijdkl", colours, colours, inner)
    pixels = len(colours) * tall * wide
    return total.reshape(pixels, pixels) / (len(tops) * len(lefts))
