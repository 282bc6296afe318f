"""How often every image of a ledger was released, and what all its releases spend together."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from hideseek.hide.privacy.ledger_budget import Total
from hideseek.hide.privacy.ledger_entries import Contents
from hideseek.hide.privacy.ledger_key import DIGEST
from hideseek.records.spent import Spent


def split(images: bytes) -> list[bytes]:
    """Give the digests of a set one by one."""
    return [images[start : start + DIGEST] for start in range(0, len(images), DIGEST)]


def spends(spent: Spent, copies: int = 1, rounds: int = 1) -> Total:
    """Give what a release spends of a record of which there are so many images in it: copies, or those of a patient.

    It is released once a round, however many they are. What is proved is of one image, and they are a group: μ becomes
    kμ (Dong, Roth and Su 2022, Theorem 2.14), and (ε, δ) becomes (kε, δ (e^kε − 1) / (e^ε − 1)) (Dwork and Roth 2014,
    Theorem 2.2, with its δ summed).
    """
    mu2 = math.inf if spent.mu2 is None else copies**2 * spent.mu2
    if spent.epsilon is None:
        return Total(rounds, mu2, mu2)
    try:
        growth = math.expm1(copies * spent.epsilon) / math.expm1(spent.epsilon) if spent.epsilon else float(copies)
    except OverflowError:
        growth = math.inf
    return Total(rounds, mu2, 0.0, copies * spent.epsilon, spent.delta * growth if spent.delta else 0.0)


def totals(contents: Contents, images: Iterable[bytes]) -> dict[bytes, Total]:
    """Give what was spent of some images, zero of those that were never released.

    Releases of the same set are added up first, so that the work grows with the number of sets, not of releases.
    """
    place = {image: row for row, image in enumerate(dict.fromkeys(images))}
    sums = np.zeros((len(place), len(Total._fields)))
    for name in dict.fromkeys(entry.image_set for entry in contents.entries):
        of_set = [entry.leaving for entry in contents.entries if entry.image_set == name]
        copies = Counter(split(contents.sets.get(name, b"")))
        for count in set(copies.values()):
            each = Total()
            for leaving in of_set:
                each = each.plus(spends(leaving.spent, count, leaving.rounds))
            rows = [place[image] for image, number in copies.items() if number == count and image in place]
            sums[rows] += np.array(each)
    return {image: Total(*sums[row].tolist()) for image, row in place.items()}


def every_image(contents: Contents) -> list[bytes]:
    """Give all images that a ledger knows, each once."""
    return list(dict.fromkeys(image for images in contents.sets.values() for image in split(images)))


def groups(found: Sequence[Total]) -> list[tuple[Total, int]]:
    """Put together images of which the same was spent, and count them."""
    rows: NDArray[np.float64] = np.array(found).reshape(len(found), len(Total._fields))
    unlike, counts = np.unique(rows, axis=0, return_counts=True)
    return [(Total(*row.tolist()), int(count)) for row, count in zip(unlike, counts, strict=True)]
