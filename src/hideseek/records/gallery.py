"""A gallery of candidate images: private ones among others of their kind."""

from dataclasses import replace

import torch
from blake3 import blake3
from jaxtyping import Int
from torch import Tensor

from hideseek.files import content
from hideseek.records.samples import Samples

_UNKNOWN = 1 << 62  # from here on, numbers of images that no patient is known of; patients have smaller ones


def mirrored(samples: Samples, *, upside_down: bool = False) -> Samples:
    """Mirror images left and right, or top and bottom: others of the same kind, which are always to be had."""
    patients = None if samples.patients is None else ~samples.patients  # of nobody who is private
    return unlabelled(replace(samples, images=samples.images.flip(2 if upside_down else 3), patients=patients))


def unlabelled(samples: Samples) -> Samples:
    """Give images without their labels."""
    return replace(samples, labels=torch.empty(len(samples), 0), classes=())


def anonymous(samples: Samples) -> Samples:
    """Give images without whose they are, as an attacker has them."""
    return replace(samples, patients=None)


def joined(first: Samples, second: Samples) -> Samples:
    """Put two sets into one, without labels; as stored where both are stored alike."""
    if first.images.dtype != second.images.dtype:
        first, second = (
            replace(each, images=each.pixels(), scale=torch.ones(1, 1), shift=torch.zeros(1, 1))
            for each in (first, second)
        )
    return replace(
        unlabelled(first),
        images=torch.cat([first.images, second.images]),
        labels=torch.empty(len(first) + len(second), 0),
        scale=_joined(first, second, "scale"),
        shift=_joined(first, second, "shift"),
        patients=_patients(first, second),
    )


def _patients(first: Samples, second: Samples) -> Int[Tensor, " n"] | None:
    """Say whose images those of two sets are, where that is known of one: others are each a record of their own."""
    if first.patients is None and second.patients is None:
        return None
    start = _UNKNOWN
    found = []
    for each in (first, second):
        found.append(start + torch.arange(len(each)) if each.patients is None else each.patients)
        start += len(each)
    return torch.cat(found)


def _joined(first: Samples, second: Samples, name: str) -> Tensor:
    """Put the scales or shifts of two sets into one; where both have the same for all images, it stays so."""
    one, other = getattr(first, name), getattr(second, name)
    if len(one) == len(other) == 1 and one.shape == other.shape and bool((one == other).all()):
        return one  # type: ignore[no-any-return] # of Samples
    channels = first.shape[0]
    return torch.cat([one.expand(len(first), channels), other.expand(len(second), channels)])


def by_content(samples: Samples) -> Samples:
    """Put images in the order of their digests: it tells nothing of where they came from."""
    names = digests(samples)
    return samples.take(torch.tensor(sorted(range(len(names)), key=names.__getitem__), dtype=torch.int64))


def digests(samples: Samples) -> list[bytes]:
    """Name every image by its content: equal images have equal names."""
    return [blake3(content(image.cpu().numpy())).digest(16) for image in samples.images]


def identities(private: Samples, others: Samples) -> Int[Tensor, " gallery"]:
    """Say which image each candidate of `by_content(joined(private, others))` is.

    Its place in the private set, the first of those that are equal; or −1 − its place among the others. One of the
    others that is equal to a private image, pixel for pixel, is private.
    """
    names = digests(joined(private, others))
    first: dict[bytes, int] = {}
    for place, name in enumerate(names):
        first.setdefault(name, place if place < len(private) else len(private) - place - 1)
    return torch.tensor([first[name] for name in sorted(names)], dtype=torch.int64)
