"""Rows as a linear system, Y = W X + E, where the weights and the images of every row are known."""

import math
from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Float
from scipy.sparse import csr_array
from torch import Tensor

from hideseek.errors import BadInput
from hideseek.records import EncodedRelease, Reason, Refusal, Refused, Samples

CHUNK = 1024  # rows that are read together
BLOCK = 1 << 25  # numbers that are solved for together: 256 MB


def not_linear(release: EncodedRelease) -> Refusal | None:
    """Refuse a scheme whose rows are no weighted sums of the images."""
    if release.scheme.linear:
        return None
    return Refusal(Reason.MASKED if release.scheme.masked else Reason.NOT_LINEAR)


def mixing_matrix(release: EncodedRelease) -> csr_array:
    """Give W, rows × images, of the images whose places are known."""
    weights, sources = release.weights, release.sources
    rows, count = len(release.encoded), len(release.encoded) // release.rounds
    if weights is None or sources is None or not len(weights) == len(sources) == rows:
        raise Refused(Refusal(Reason.INCOMPLETE_SOURCES, {"wanted": rows}))
    known = sources.shape[1]
    if known > weights.shape[1] or rows == 0 or not 0 <= int(sources.min()) <= int(sources.max()) < count:
        raise BadInput(f"sources must be places among {count} images, no more of them in a row than it has weights.")
    entries = weights[:, :known].double().flatten().numpy()
    places = (np.repeat(np.arange(rows), known), sources.flatten().numpy())
    return csr_array((entries, places), shape=(rows, count))


def blocks(samples: Samples) -> list[slice]:
    """Divide the pixels of an image so that those of all rows fit into memory."""
    pixels = math.prod(samples.shape)
    step = max(1, min(512, BLOCK // (2 * len(samples))))
    return [slice(first, min(first + step, pixels)) for first in range(0, pixels, step)]


def columns(samples: Samples, some: slice) -> Float[Tensor, "m columns"]:
    """Give some pixels of all images."""
    return torch.cat([part[:, some] for part in rows_of(samples)])


def rows_of(samples: Samples) -> Iterator[Float[Tensor, "rows pixels"]]:
    """Give all rows, some at a time."""
    for first in range(0, len(samples), CHUNK):
        yield samples.pixels(slice(first, first + CHUNK)).flatten(1)


def misfit(release: EncodedRelease, matrix: csr_array, images: Float[Tensor, "n pixels"]) -> tuple[float, float]:
    """Give the root mean square of Y − W X̂ and that of Y."""
    total = missed = 0.0
    for number, part in enumerate(rows_of(release.encoded)):
        weights = matrix[CHUNK * number : CHUNK * number + len(part)]
        used = np.unique(weights.indices)  # SciPy would make a copy of all images in double precision
        predicted = weights[:, used] @ images.numpy()[used]
        missed += float((part.double() - torch.from_numpy(predicted)).square().sum())
        total += float(part.double().square().sum())
    size = matrix.shape[0] * images.shape[1]
    return math.sqrt(missed / size), math.sqrt(total / size)
