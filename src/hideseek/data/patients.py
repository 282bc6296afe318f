"""Whose image it is: patients as numbers that mean nothing outside of this process."""

from collections.abc import Sequence
from functools import cache

import torch
from blake3 import blake3
from jaxtyping import Int
from torch import Tensor

from hideseek.chance import secure
from hideseek.data.labels import NoLabels

_BITS = 61  # what is above are numbers of images whose patient is not known (records/gallery.py)


@cache
def _key() -> bytes:
    """Draw this process's key: numbers can be compared within a process, and nowhere else."""
    return secure().bytes(32)


def numbered(identities: Sequence[str | None]) -> Int[Tensor, " n"] | None:
    """Give a number for what a source calls each image's patient; where nobody is named at all, nothing.

    An image without a patient is a record of its own. The same patient has the same number in all sets that are loaded
    by one process, so that training and test images can be compared.
    """
    if all(each is None for each in identities):
        return None
    known = [f"image {secure().bytes(16).hex()}" if each is None else f"patient {each}" for each in identities]
    digests = (blake3(each.encode("utf-8", "surrogateescape"), key=_key()).digest(8) for each in known)
    return torch.tensor([int.from_bytes(each, "big") >> (64 - _BITS) for each in digests])


def check_classes(ids: Sequence[int], identities: Sequence[str | None], names: Sequence[str], of: str) -> None:
    """Refuse classes that are people: their names would be shared, and labels would say whose each row is.

    A set of which every class has the images of one patient is sorted by patient, as files from an archive are. What
    the classes are called is not repeated.
    """
    known = {each.casefold() for each in identities if each is not None}
    people: dict[int, set[str | None]] = {}
    for number, identity in zip(ids, identities, strict=True):
        people.setdefault(number, set()).add(identity)
    alone = len(people) > 1 and all(len(each) == 1 and None not in each for each in people.values())
    if alone or any(name.casefold() in known for name in names):
        why = "each has the images of one patient only" if alone else "one is called as a patient is"
        raise NoLabels(
            f"the classes of {of} are patients, and not classes ({why}); sort the images into a subfolder for each"
            " class, or name the classes in a labels.csv with the columns file, label and patient."
        )
