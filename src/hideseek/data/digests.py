"""Digests of images and labels: what sets are told apart by."""

from collections.abc import Iterator

import torch
from blake3 import blake3

from hideseek.files import content
from hideseek.records import Samples

CHUNK = 1024  # images that are read together
SAMPLED = 64  # images, about, that a fingerprint looks at


def images_digest(samples: Samples) -> str:
    """Give a checksum of images as they are used: of what is stored and how it is scaled."""
    total = blake3()
    for part in (samples.scale, samples.shift, *samples.images.split(CHUNK)):
        total.update(str((part.dtype, tuple(part.shape))).encode())
        total.update(content(part.cpu().numpy()))
    return total.hexdigest()


def labels_digest(samples: Samples) -> str:
    """Give a checksum of labels."""
    return blake3(content(samples.labels.cpu().numpy())).hexdigest()


def fingerprint(samples: Samples) -> str:
    """Tell sets apart by their size, labels and a few of their images, without reading all of them."""
    total = blake3(repr((len(samples), samples.shape)).encode())
    for part in (samples.labels, samples.pixels(slice(None, None, max(1, len(samples) // SAMPLED)))):
        total.update(content(part.cpu().numpy()))
    return total.hexdigest()


def image_digests(samples: Samples) -> Iterator[bytes]:
    """Give a digest of every image, in steps that are finer than those of bytes and coarser than rounding."""
    for start in range(0, len(samples), CHUNK):
        steps = (samples.pixels(slice(start, start + CHUNK)) * 1e3).round().to(torch.int32)
        yield from (blake3(content(image.cpu().numpy())).digest(16) for image in steps)
