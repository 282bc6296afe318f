"""Whether a guess points to its image in a gallery of candidates: private images, and others of their kind."""

import math
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.progress import track
from hideseek.records import Reconstruction
from hideseek.records.secret import Secret
from hideseek.score.ground_truth import BLOCK, Matched, alike, blocks, candidates, held, match_guesses
from hideseek.score.metric import Scores
from hideseek.score.other_truths import beyond
from hideseek.score.significance import Significance

DRAWS, FEWEST_DRAWS = 1999, 499
EXPOSED_WORK = 2e11  # multiplications that the exposure of single images is worth
WORK = 1 << 26  # numbers to draw for all permutations together


class First(NamedTuple):
    """The private images that hold, or share, the first place for each guess; −1: none, or a candidate who is none."""

    images: Int[Tensor, "guesses 2"]
    worth: Float[Tensor, " guesses"]
    """1 where one has the first place alone, ½ where two share it, private or not, else 0."""


def first_places(claim: Reconstruction, secret: Secret) -> First:
    """Find the candidates that every guess is most like, of private images and of as many others.

    An attacker with a gallery has no transforms: images that were moved are looked for as they are. A negative points
    to its image, too.
    """
    gallery = (secret.private, secret.non_members)
    images = torch.empty(len(claim.images), 2, dtype=torch.int64)
    worth = torch.empty(len(claim.images))
    each = max(sum(map(len, gallery)), math.prod(secret.private.shape))
    for rows in track(blocks(len(images), each, 4 * BLOCK), "scoring"):
        likeness = torch.cat(
            [alike(claim.images[rows], part.pixels, len(part), secret, negatives=True) for part in gallery], 1
        )
        padded = torch.cat([likeness, torch.full((len(likeness), 2), -math.inf)], 1)  # of a single candidate
        highest = padded.topk(3, dim=1)
        ties = (highest.values == highest.values[:, :1]).sum(1)
        places = torch.where(highest.values == highest.values[:, :1], highest.indices, -1)[:, :2]
        images[rows] = torch.where(places < len(secret.private), places, -1)
        worth[rows] = torch.tensor([0.0, 1.0, 0.5, 0.0])[ties]
    return First(images, worth)


def exposure(claim: Reconstruction, secret: Secret) -> Float[Tensor, " private"]:
    """Give for each private image the share of other candidates that are less like a guess about it, ties half.

    Of several guesses about an image the best counts; of an item's images, each is compared. Nothing is told where
    that would take longer than all figures do.
    """
    found = torch.full((len(secret.private),), torch.nan, dtype=torch.float64)
    places, total = candidates(claim, secret), len(secret.private) + len(secret.non_members)
    if len(places) * total * math.prod(secret.private.shape) > EXPOSED_WORK or total < 2:
        return found
    for rows in blocks(len(places), total, BLOCK):
        likeness = torch.cat(
            [
                alike(claim.images[rows], part.pixels, len(part), secret, negatives=True)
                for part in (secret.private, secret.non_members)
            ],
            1,
        )
        for column in places[rows].T:
            own = likeness.gather(1, column.clamp_min(0)[:, None])
            worse = (likeness < own).sum(1) + 0.5 * ((likeness == own).sum(1) - 1)
            share = torch.where(column < 0, torch.nan, worse.double() / (total - 1))
            known = column >= 0
            best = torch.full_like(found, -1.0).scatter_reduce(0, column[known], share[known], "amax")
            found = torch.where(best >= 0, torch.fmax(found, best), found)
    return found


def _scores(first: First, places: Int[Tensor, "guesses truths"]) -> Scores:
    """Give what a guess is worth if these are its ground truths; NaN where it has none."""
    hit = ((first.images[:, :, None] == places[:, None, :]) & (places[:, None, :] >= 0)).flatten(1).any(1)
    return torch.where((places >= 0).any(1), hit * first.worth, torch.nan)


def re_identified(claim: Reconstruction, secret: Secret) -> Scores:
    """Tell whether the true image is more like the guess than all other candidates, of which half are not private.

    1 where it ranks first, ½ where it shares the first place with one other, else 0.
    """
    _refuse_unordered(claim)
    return _scores(first_places(claim, secret), candidates(claim, secret))


def by_chance(claim: Reconstruction, secret: Secret) -> Scores:
    """Give the share of candidates that would be right: the images of the item where the guess is about an item.

    Of a batch that is an upper bound: the image must also be the one that the guess is matched to.
    """
    ordered = _allowed(claim, secret).sort(1).values
    new = torch.ones_like(ordered, dtype=torch.bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    return (new & (ordered >= 0)).sum(1) / (len(secret.private) + len(secret.non_members))


class Permuted(NamedTuple):
    """A share of guesses that point to their image, and what it would be if other images were the ground truth."""

    found: float
    drawn: NDArray[np.float64]
    rarest: float
    """The chance of the true order itself: no p-value can be below."""


def permuted(claim: Reconstruction, secret: Secret, chance: Randomness) -> Permuted:
    """Permute the private images within their classes, and count again how many guesses point to their image.

    A guess that ignores which image it is about, but knows the class, which labels show, points as often to the right
    one after that. Some images are more like any guess than others are, and private ones may differ from the rest of
    the gallery: a permutation leaves that as it is. Guesses about one image, and the images of one item, stay together.
    """
    _refuse_unordered(claim)
    first, places = first_places(claim, secret), _allowed(claim, secret)
    scores = _scores(first, candidates(claim, secret))
    known = scores.isfinite()
    first, places = First(first.images[known], first.worth[known]), places[known]
    if not len(places):
        raise BadInput("there is nothing to judge any of its items by.")
    labels = secret.private.labels.cpu()
    kinds = labels.unique(dim=0, return_inverse=True)[1] if labels.shape[1] else torch.zeros(len(labels)).long()
    in_order = kinds.argsort(stable=True)
    count = int(np.clip(WORK // len(kinds), FEWEST_DRAWS, DRAWS))
    drawn = np.empty(count)
    for part in blocks(count, max(len(kinds), 2 * places.numel()), BLOCK):
        keys = kinds + chance.uniforms(part.stop - part.start, len(kinds)).double()
        renamed = torch.full((len(keys), len(kinds) + 1), -1)  # no image stays none
        renamed[:, in_order] = keys.argsort(1)
        other = renamed[:, places]
        hit = ((first.images[None, :, :, None] == other[:, :, None, :]) & (other >= 0)[:, :, None, :]).flatten(2).any(2)
        drawn[part] = (hit * first.worth).double().mean(1).numpy()
    sizes = kinds.bincount()
    rarest = math.exp(-sum(math.lgamma(size + 1) for size in sizes.tolist()))
    return Permuted(float(scores[known].double().mean()), drawn, rarest)


def beyond_class(claim: Reconstruction, secret: Secret, chance: Randomness) -> Significance:
    """Test whether more guesses point to their image than where only classes are known."""
    share = permuted(claim, secret, chance)
    return beyond(share.found, share.drawn, share.rarest, float)


def _allowed(claim: Reconstruction, secret: Secret) -> Int[Tensor, "guesses images"]:
    """Give the images that would be right: any of its item's, where a guess was matched to one of them."""
    claim = match_guesses(claim, secret)
    items = claim.items if isinstance(claim, Matched) else None
    return candidates(claim, secret) if items is None else held(items, secret)


def _refuse_unordered(claim: Reconstruction) -> None:
    if claim.of == "any" or (isinstance(claim, Matched) and claim.items is None):
        raise BadInput("guesses without an order are given to the images that they are most like: any would be.")
