"""How often unrelated images count as recovered: the rate that an attack has to beat."""

import math

import torch
from jaxtyping import Int
from torch import Tensor

from hideseek.chance import seeded
from hideseek.records import Reconstruction
from hideseek.records.secret import Secret
from hideseek.score.ground_truth import Matched, blocks, candidates, held, likeness, match_guesses, raw
from hideseek.score.metric import Scores
from hideseek.score.moved import VERSIONS
from hideseek.score.recovered import are_pictures, compare

PAIRS = 4000  # that are compared, at most

Places = Int[Tensor, " pairs"]


def by_chance(claim: Reconstruction, secret: Secret) -> Scores:
    """Give how often an unrelated image would count as recovered: (1 + recovered) / (1 + pairs) of private images.

    Of few images all ordered pairs are compared, of many some thousand. A guess that may show any of several images,
    or of their moved versions, has as many chances. One that was matched to the image that it is most like has had the
    choice of all: there every image is compared with the other one that is most like it.
    """
    claim = match_guesses(claim, secret)
    if isinstance(claim, Matched) and claim.items is None:
        return torch.full((len(claim.about),), _rate(secret, *_nearest(secret)))
    items = claim.items if isinstance(claim, Matched) else None
    places = candidates(claim, secret) if items is None else held(items, secret)
    rate = _rate(secret, *_pairs(len(secret.private)))
    return 1 - (1 - rate) ** ((places >= 0).sum(1) * (1 + VERSIONS * secret.moves)).double()


def _pairs(count: int) -> tuple[Places, Places]:
    """Give all ordered pairs of distinct places, or some thousand of them, always the same."""
    pairs = torch.arange(count * (count - 1))
    if len(pairs) > PAIRS:
        pairs = seeded(count).integers(len(pairs), PAIRS)
    first, step = pairs // max(1, count - 1), pairs % max(1, count - 1)
    return first, (first + 1 + step) % count


def _nearest(secret: Secret) -> tuple[Places, Places]:
    """Pair private images, some thousand at most, each with the other one that is most like it."""
    images = torch.arange(len(secret.private))
    if len(images) > PAIRS:
        images = seeded(len(images)).permutation(len(images))[:PAIRS]
    if len(secret.private) < 2:
        return images[:0], images[:0]
    nearest = torch.empty_like(images)
    for rows in blocks(len(images), len(secret.private)):
        alike = likeness(secret.private.pixels(images[rows]), secret)
        alike[torch.arange(len(alike)), images[rows]] = -math.inf
        nearest[rows] = alike.argmax(1)
    return images, nearest


def _rate(secret: Secret, first: Places, second: Places) -> float:
    """Give (1 + h) / (1 + p), where h of p pairs of distinct images would count as recovered."""
    private = secret.private
    pictures, hits = are_pictures(private), 0
    for rows in blocks(len(first), math.prod(private.shape)):
        truth, guess = (private.pixels(places[rows]) for places in (first, second))
        if pictures:
            truth, guess = raw(private, first[rows], truth), raw(private, first[rows], guess)
        hits += int((compare(truth, guess, pictures=pictures, negatives=secret.masked) == 1).sum())
    return (1 + hits) / (1 + len(first))
