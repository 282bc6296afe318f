"""One set dealt out among parties, every image to exactly one."""

import math

import torch
from jaxtyping import Int
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.records import Samples

_DRAWS = 100  # of a Dirichlet split before giving up


def split_evenly(samples: Samples, parties: int, chance: Randomness) -> list[Samples]:
    """Deal images out at random, in parts whose sizes differ by one at most."""
    _check_parties(samples, parties)
    order = chance.permutation(len(samples))
    return [samples.take(rows.sort().values) for rows in order.tensor_split(parties)]


def split_dirichlet(samples: Samples, parties: int, alpha: float, chance: Randomness) -> list[Samples]:
    """Deal the images of each class out in proportions p ~ Dirichlet(α, …, α): a small α gives unlike parties.

    Gamma variates divided by their sum are Dirichlet; party j gets the members of a class, in random order, between
    the shares p_1 + … + p_(j−1) and p_1 + … + p_j.
    Deviation: draws that leave a party with nothing are repeated, so the law is that of p given that no party is empty.
    """
    _check_parties(samples, parties)
    if not 0 < alpha < math.inf:
        raise BadInput(f"alpha must be a positive number, not {alpha}.")
    ids = _ids(samples)
    for _ in range(_DRAWS):
        owner = _dirichlet_owners(ids, samples.labels.shape[1], parties, alpha, chance)
        if (torch.bincount(owner, minlength=parties) > 0).all():
            return _deal(samples, owner, parties)
    raise BadInput(
        f"{_DRAWS} draws with alpha={alpha} each left one of {parties} parties without images; take a larger alpha"
        " or fewer parties."
    )


def split_by_class(samples: Samples, parties: int) -> list[Samples]:
    """Deal whole classes out in turn: the first to the first party, the second to the second, and round again."""
    _check_parties(samples, parties)
    present, rank = torch.unique(_ids(samples), return_inverse=True)
    if parties > len(present):
        raise BadInput(f"{len(present)} classes cannot be dealt to {parties} parties; take fewer parties.")
    return _deal(samples, rank % parties, parties)


def _dirichlet_owners(
    ids: Int[Tensor, " n"], classes: int, parties: int, alpha: float, chance: Randomness
) -> Int[Tensor, " n"]:
    """Draw the party of each image."""
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


def _ids(samples: Samples) -> Int[Tensor, " n"]:
    """Give the class of each image, the largest entry of a soft label."""
    if samples.labels.shape[1] == 0:
        raise BadInput("images without labels cannot be split by class; load them with labels or split them evenly.")
    return samples.labels.argmax(1)


def _check_parties(samples: Samples, parties: int) -> None:
    if not 1 <= parties <= len(samples):
        raise BadInput(f"{len(samples)} images cannot be dealt to {parties} parties; take 1 to {len(samples)}.")
