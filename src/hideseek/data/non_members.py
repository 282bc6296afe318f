"""Images for a gallery of candidates that are not among the private ones."""

import itertools
from collections.abc import Iterable, Mapping

import torch

from hideseek.data.digests import image_digests
from hideseek.records import Samples
from hideseek.records.gallery import joined, mirrored, unlabelled

MIRRORED = "mirrored private images"


def non_members(
    private: Samples, offered: Mapping[str, Samples], *, upside_down: bool = False
) -> tuple[Samples, dict[str, int]]:
    """Give as many images as there are private ones, where there are enough, and how many are of which name.

    Those offered come first, then mirrored private ones, which have the statistics of the private ones; where a scheme
    itself mirrors left and right, they are turned upside down. An image that is a private one, pixel for pixel, or
    that came before, is left out; so is one of a patient who has private images.
    """
    known = set(image_digests(private))
    patients: set[int | None] = set() if private.patients is None else set(private.patients.tolist())
    found = unlabelled(private.take(slice(0, 0)))
    counts = {}
    for name, samples in (*offered.items(), (MIRRORED, mirrored(private, upside_down=upside_down))):
        new: list[int] = []
        whose: Iterable[int | None] = itertools.repeat(None) if samples.patients is None else samples.patients.tolist()
        for place, (digest, patient) in enumerate(zip(image_digests(samples), whose, strict=False)):
            if len(found) + len(new) == len(private):
                break
            if digest not in known and patient not in patients:
                known.add(digest)
                new.append(place)
        if new:
            chosen = unlabelled(samples.take(torch.tensor(new)))
            found = joined(found, chosen) if len(found) else chosen
            counts[name] = len(new)
    return found, counts
