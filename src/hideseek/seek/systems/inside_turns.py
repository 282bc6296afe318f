"""Rows that hold private images alone: signs from smoothness, images from those, rows of images, and signs again."""

import math
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.records import Task
from hideseek.seek.signals.row_slots import SPREAD, RowSlots
from hideseek.seek.systems.image_spectrum import ImageSpectrum
from hideseek.seek.systems.mixtures import Mixtures
from hideseek.seek.systems.phase_retrieval import PhaseProblem, retrieval_work
from hideseek.seek.systems.row_pursuit import Explained, pursued, pursuit_work
from hideseek.seek.systems.signed_dictionary import dictionary_work, signed_dictionary
from hideseek.seek.systems.smooth_signs import LARGEST, restored, smooth_work
from hideseek.seek.systems.turns import RowImages, resumed

PAIR = 2  # images in a row
PASSES = 2  # over all: with images, the signs of rows are known far better than from smoothness
CLEAR = 0.02  # of a row's energy is left, at most, where it counts as explained


def held_alone(public: int, pixels: int, per_row: int) -> bool:
    """Say whether rows can be solved so: they have only the images that are sought, and are small enough.

    Of two images, labels mostly tell classes and weights, which is better still.
    """
    return not public and pixels <= LARGEST and per_row > PAIR


def solved_inside(
    magnitudes: Float[Tensor, "m c h w"],
    slots: RowSlots,
    turns: int,
    steps: int,
    chance: Randomness,
) -> tuple[Float[Tensor, "n c h w"], RowImages, ImageSpectrum, dict[str, Any]]:
    """Find images, the images and weights of rows, and the spectrum of images, with the stages' own scores.

    No label and no image of anyone is needed: where nothing else is in a row, what is left of it tells which images are
    right, and the images have the spectrum of rows.
    """
    flat, private = magnitudes.flatten(1), slots.classes.shape[1]
    signed = restored(magnitudes, chance)
    energy = (1 + SPREAD) / (private + SPREAD)  # Σλ² of a row, as expected where Σλ = 1
    spectrum = ImageSpectrum.of_mixtures(signed.view_as(magnitudes) / math.sqrt(energy))
    variance = float(spectrum.variance.mean())
    explained: list[float] = []
    agreeing: list[float] = []
    for _ in range(PASSES):
        found = signed_dictionary(signed, magnitudes.shape[1:], slots.images, private, slots.rounds, chance)
        agreeing.append(round(found.agreeing, 4))
        size = found.images.square().mean(1, keepdim=True).clamp_min(1e-12)
        images = (found.images * (variance / size).sqrt()).view(-1, *magnitudes.shape[1:])
        first = found.sources[:, 0]
        for _ in range(turns):
            rows = pursued(flat, images.flatten(1), magnitudes.shape[1:], first, min(private, len(images)))
            explained.append(round(_clear(flat, rows), 4))
            total = float(rows.weights.sum(1).median().clamp_min(0.1))  # which is 1, so that this is images' scale
            rows, images = replace(rows, weights=rows.weights / total), total * images
            images = resumed(_problem(magnitudes, rows, spectrum, len(images)), images, steps)
            first = rows.sources.gather(1, rows.weights.argmax(1, keepdim=True))[:, 0]
        signed = flat * rows.signed.sign()
    held = rows.weights.square() * variance
    sure = held / (held + rows.left[:, None])
    remarks = {
        "images that are distinct": len(images),
        "signs of images that agree": agreeing,
        "rows explained": explained,
    }
    return images, RowImages(rows.sources, rows.weights, sure), spectrum, remarks


def _clear(flat: Float[Tensor, "m pixels"], rows: Explained) -> float:
    """Give the share of rows of which next to nothing is left."""
    return float((rows.left < CLEAR * flat.square().mean(1)).float().mean())


def _problem(
    magnitudes: Float[Tensor, "m c h w"], rows: Explained, spectrum: ImageSpectrum, images: int
) -> PhaseProblem:
    """Give the equations that rows are, with what is left of them as unknown."""
    mixtures = Mixtures(rows.sources, rows.weights.contiguous(), images)
    unknown = rows.left / float(spectrum.variance.mean())
    return PhaseProblem(magnitudes, mixtures, unknown, torch.zeros_like(unknown), spectrum)


def inside_work(task: Task, turns: int, steps: int) -> float:
    """Count the signs, and in every pass a dictionary, and turns of pursuit and steps."""
    each = pursuit_work(task, task.images_per_item) + retrieval_work(task, steps)
    return smooth_work(task) + PASSES * (dictionary_work(task) + turns * each)
