"""Finding patches of larger images in rows, at every place, by the Fourier transform."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from hideseek.progress import track
from hideseek.records import Samples

BLOCK = 512  # large images whose every place is tried together

Pixels = Float[Tensor, "n c h w"]


@dataclass(frozen=True)
class PlacesFound:
    """The best images for every row, the best first, and where in them the best patch begins."""

    scores: Float[Tensor, "n m"]
    images: Int[Tensor, "n m"]
    tops: Int[Tensor, "n m"]
    lefts: Int[Tensor, "n m"]


def anywhere(queries: Pixels, images: Samples, maps: Callable[[Pixels], Pixels], count: int) -> PlacesFound:
    """Give the images with a patch that is most alike to each row: normalised cross-correlation of white maps."""
    height, width = queries.shape[2:]
    _, whole_height, whole_width = images.shape
    high, wide = whole_height - height + 1, whole_width - width + 1  # places that need no wrapping around
    scores, codes = queries.new_empty(len(queries), 0), torch.empty(len(queries), 0, dtype=torch.int64)
    spectra = torch.fft.rfft2(queries, s=(whole_height, whole_width)).conj()
    for start, block in _blocks(images, maps):
        power = functional.avg_pool2d(block.square().sum(1, keepdim=True), (height, width), stride=1)[:, 0]
        length = (power * height * width).sqrt().clamp_min(1e-12)
        transformed = torch.fft.rfft2(block)
        best = [_best(transformed, spectrum, (whole_height, whole_width), length) for spectrum in spectra]
        numbers = (start + torch.arange(len(block))) * high * wide
        scores = torch.cat([scores, torch.stack([values for values, _ in best])], 1)
        codes = torch.cat([codes, torch.stack([places + numbers for _, places in best])], 1)
        scores, order = scores.topk(min(count, scores.shape[1]), 1)
        codes = codes.gather(1, order)
    inside = codes % (high * wide)
    return PlacesFound(scores, codes // (high * wide), inside // wide, inside % wide)


def cut_at(images: Samples, which: Int[Tensor, " m"], tops: Int[Tensor, " m"], lefts: Int[Tensor, " m"],
           shape: tuple[int, int, int]) -> Samples:  # fmt: skip
    """Cut a patch from each of some images, at these places."""
    some = images.take(which)
    places = zip(some.images, tops.tolist(), lefts.tolist(), strict=True)
    patches = [image[:, top : top + shape[1], left : left + shape[2]] for image, top, left in places]
    return replace(some, images=torch.stack(patches), cut_from=None)


def _best(transformed: Tensor, spectrum: Tensor, size: tuple[int, int], length: Tensor) -> tuple[Tensor, Tensor]:
    fits = torch.fft.irfft2((transformed * spectrum).sum(1), s=size)
    best = (fits[:, : length.shape[1], : length.shape[2]] / length).flatten(1).max(1)
    return best.values, best.indices


def _blocks(images: Samples, maps: Callable[[Pixels], Pixels]) -> Iterator[tuple[int, Pixels]]:
    for start in track(range(0, len(images), BLOCK), "searching"):
        yield start, maps(images.pixels(slice(start, start + BLOCK)))
