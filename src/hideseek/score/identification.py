"""Whether a guess points to its image among all private images."""

import math

import torch

from hideseek.errors import BadInput
from hideseek.progress import track
from hideseek.records import Reconstruction
from hideseek.records.secret import Secret
from hideseek.score.ground_truth import BLOCK, Matched, blocks, candidates, held, likeness, match_guesses
from hideseek.score.matching import ranks
from hideseek.score.metric import Scores


def re_identified(claim: Reconstruction, secret: Secret) -> Scores:
    """Tell whether the true image is more like the guess than all other private images.

    1 where it ranks first, ½ where it shares the first place with one other, else 0.
    """
    if claim.of == "any" or (isinstance(claim, Matched) and claim.items is None):
        raise BadInput("guesses without an order are given to the images that they are most like: any would be.")
    private, places = secret.private, candidates(claim, secret)
    found = torch.full((len(places),), torch.nan)
    for rows in track(blocks(len(places), max(len(private), math.prod(private.shape)), 4 * BLOCK), "scoring"):
        alike = likeness(claim.images[rows], secret)
        for column in places[rows].T:
            first = (2 - ranks(alike, column.clamp_min(0))).clamp_min(0)
            found[rows] = torch.fmax(found[rows], torch.where(column < 0, torch.nan, first))
    return found


def by_chance(claim: Reconstruction, secret: Secret) -> Scores:
    """Give the share of private images that would be right: those of the item where the guess is about an item.

    Of a batch that is an upper bound: the image must also be the one that the guess is matched to.
    """
    claim = match_guesses(claim, secret)
    items = claim.items if isinstance(claim, Matched) else None
    images = candidates(claim, secret) if items is None else held(items, secret)
    ordered = images.sort(1).values
    new = torch.ones_like(ordered, dtype=torch.bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    return (new & (ordered >= 0)).sum(1) / len(secret.private)
