"""One set dealt out among parties, or divided, every image to exactly one part.

What is drawn are records: patients, whose images stay together, or where none are known, images.
"""

import math

import torch
from jaxtyping import Int
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.records import Samples

_DRAWS = 100  # of a Dirichlet split before giving up


def split_evenly(samples: Samples, parties: int, chance: Randomness) -> list[Samples]:
    """Deal records out at random, in parts whose numbers of records differ by one at most."""
    records = _checked(samples, parties)
    owner = torch.empty(_count(records), dtype=torch.int64)
    for party, part in enumerate(chance.permutation(len(owner)).tensor_split(parties)):
        owner[part] = party
    return _deal(samples, owner[records], parties)


def divided(samples: Samples, most: int, chance: Randomness) -> tuple[Int[Tensor, " drawn"], Int[Tensor, " rest"]]:
    """Draw records at random, of so many images at most: give their places, in order, and those of the rest, in none.

    Records that would be too many images are passed over, so that there may be fewer where patients have several.
    """
    records = samples.records
    order = chance.permutation(_count(records))
    sizes, taken, left = torch.bincount(records).tolist(), [], most
    for record in order.tolist():
        if sizes[record] <= left:
            taken.append(record)
            left -= sizes[record]
    inside = torch.zeros(len(sizes), dtype=torch.bool)
    inside[taken] = True
    places = torch.empty_like(order)
    places[order] = torch.arange(len(order))
    rest = places[records].argsort(stable=True)
    return inside[records].nonzero()[:, 0], rest[~inside[records[rest]]]


def held_out(samples: Samples, one_in: int, chance: Randomness) -> tuple[Samples, Samples]:
    """Divide a set for training and testing: of each class, one record in so many is held out, or one at least.

    A class of one record is for training.
    """
    records = samples.records
    classes = record_classes(samples)
    held = torch.zeros(len(classes), dtype=torch.bool)
    for number in range(samples.labels.shape[1]):
        members = (classes == number).nonzero()[:, 0]
        share = max(1, len(members) // one_in) if len(members) > 1 else 0
        held[members[chance.permutation(len(members))[:share]]] = True
    return samples.take((~held[records]).nonzero()[:, 0]), samples.take(held[records].nonzero()[:, 0])


def record_classes(samples: Samples) -> Int[Tensor, " records"]:
    """Give the class of each record: the largest entry of the sum of its labels, so that of most of its images."""
    records = samples.records
    return torch.zeros(_count(records), samples.labels.shape[1]).index_add_(0, records, samples.labels).argmax(1)


def check_apart(train: Samples, test: Samples) -> None:
    """Refuse test images of patients whose images are learnt from."""
    if train.patients is None or test.patients is None:
        return
    both = len(set(train.patients.tolist()) & set(test.patients.tolist()))
    if both:
        have = "1 patient has" if both == 1 else f"{both:,} patients have"
        raise BadInput(
            f"{have} images among those to learn from and those to test on, which would be a test by heart: leave each"
            " patient in one of the two."
        )


def split_dirichlet(samples: Samples, parties: int, alpha: float, chance: Randomness) -> list[Samples]:
    """Deal the records of each class out in proportions p ~ Dirichlet(α, …, α): a small α gives unlike parties.

    Gamma variates divided by their sum are Dirichlet; party j gets the members of a class, in random order, between
    the shares p_1 + … + p_(j−1) and p_1 + … + p_j.
    Deviation: draws that leave a party with nothing are repeated, so the law is that of p given that no party is empty.
    """
    records = _checked(samples, parties)
    if not 0 < alpha < math.inf:
        raise BadInput(f"alpha must be a positive number, not {alpha}.")
    ids = _ids(samples)
    for _ in range(_DRAWS):
        owner = _dirichlet_owners(ids, samples.labels.shape[1], parties, alpha, chance)
        if (torch.bincount(owner, minlength=parties) > 0).all():
            return _deal(samples, owner[records], parties)
    raise BadInput(
        f"{_DRAWS} draws with alpha={alpha} each left one of {parties} parties without images; take a larger alpha"
        " or fewer parties."
    )


def split_by_class(samples: Samples, parties: int) -> list[Samples]:
    """Deal whole classes out in turn: the first to the first party, the second to the second, and round again.

    A patient with images of several classes goes with the class of most of them.
    """
    records = _checked(samples, parties)
    present, rank = torch.unique(_ids(samples), return_inverse=True)
    if parties > len(present):
        raise BadInput(f"{len(present)} classes cannot be dealt to {parties} parties; take fewer parties.")
    return _deal(samples, (rank % parties)[records], parties)


def _dirichlet_owners(
    ids: Int[Tensor, " n"], classes: int, parties: int, alpha: float, chance: Randomness
) -> Int[Tensor, " n"]:
    """Draw the party of each record."""
    shares = chance.gammas(alpha, classes, parties)
    favourites = chance.integers(parties, classes)
    owner = torch.empty_like(ids)
    for number in torch.unique(ids).tolist():
        share = shares[number]
        if share.sum() == 0:  # a tiny α underflows: in the limit one party has it all
            share = torch.nn.functional.one_hot(favourites[number], parties).double()
        members = (ids == number).nonzero().squeeze(1)
        members = members[chance.permutation(len(members))]
        ends = (share.cumsum(0) / share.sum() * len(members)).round().long().tolist()
        for party, part in enumerate(members.tensor_split(ends[:-1])):
            owner[part] = party
    return owner


def _deal(samples: Samples, owner: Int[Tensor, " n"], parties: int) -> list[Samples]:
    return [samples.take((owner == party).nonzero().squeeze(1)) for party in range(parties)]


def _ids(samples: Samples) -> Int[Tensor, " records"]:
    """Give the class of each record."""
    if samples.labels.shape[1] == 0:
        raise BadInput("images without labels cannot be split by class; load them with labels or split them evenly.")
    return record_classes(samples)


def _checked(samples: Samples, parties: int) -> Int[Tensor, " n"]:
    """Give the record of each image, of which there must be one for every party."""
    records = samples.records
    if not 1 <= parties <= _count(records):
        what = "images" if samples.patients is None else "patients"
        raise BadInput(f"{_count(records)} {what} cannot be dealt to {parties} parties; take 1 to {_count(records)}.")
    return records


def _count(records: Int[Tensor, " n"]) -> int:
    return int(records.max()) + 1 if len(records) else 0
