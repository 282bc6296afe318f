"""Where the public images of a row are in the answer of a search."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.errors import BadInput
from hideseek.progress import track
from hideseek.records import PublicImagesFound
from hideseek.records.secret import Secret
from hideseek.score.checks import of_mixing
from hideseek.score.ground_truth import blocks
from hideseek.score.metric import Scores


def public_truth(claim: PublicImagesFound, secret: Secret) -> Int[Tensor, "m k_public"]:
    """Give the public images that are in every row, as the claim counts them: these, or what they were cut from."""
    return of_mixing(secret).public_images(larger=claim.larger)


def places(claim: PublicImagesFound, secret: Secret) -> Int[Tensor, "queries k_public"]:
    """Give the place of each of a row's public images in the answer, 1 the likeliest; 0 where it was not kept."""
    truth = public_truth(claim, secret)[claim.rows.long()]
    if not truth.shape[1]:
        raise BadInput("no public images were mixed into this release.")
    found = torch.zeros(truth.shape, dtype=torch.int64)
    kept = claim.candidates.shape[1]
    if kept:
        for rows in track(blocks(len(truth), kept), "scoring"):
            for column, image in enumerate(truth[rows].T):
                same = claim.candidates[rows] == image[:, None]
                found[rows, column] = torch.where(same.any(1), 1 + same.int().argmax(1), 0)
    return found


def hit(most: int, claim: PublicImagesFound, secret: Secret) -> Scores:
    """Tell whether at least one of the row's public images is among the first `most` answers (InstaHide §5.3)."""
    where = places(claim, secret)
    return ((where > 0) & (where <= most)).any(1).double()


def hit_by_chance(most: int, claim: PublicImagesFound, secret: Secret) -> Scores:
    """Give the chance that one of k public images is among the first m of N: 1 − C(N − k, m) / C(N, m)."""
    count = of_mixing(secret).public_sources.shape[1]
    looked = torch.arange(min(most, claim.candidates.shape[1], claim.among), dtype=torch.float64)
    missed = (1 - count / (claim.among - looked)).clamp_min(0).prod()
    return (1 - missed).expand(len(claim.rows))


def found(claim: PublicImagesFound, secret: Secret) -> Scores:
    """Give the share of the row's k_public public images that are among the first k_public answers."""
    return _first(claim, secret).mean(1)


def all_found(claim: PublicImagesFound, secret: Secret) -> Scores:
    """Tell whether the first k_public answers are the row's public images."""
    return _first(claim, secret).amin(1)


def _first(claim: PublicImagesFound, secret: Secret) -> Float[Tensor, "queries k_public"]:
    where = places(claim, secret)
    return ((where > 0) & (where <= where.shape[1])).double()


def rank(claim: PublicImagesFound, secret: Secret) -> Scores:
    """Give the mean rank of the row's public images; one that was not kept counts as the middle of all the rest."""
    where = places(claim, secret).double()
    return torch.where(where > 0, where, (claim.candidates.shape[1] + 1 + claim.among) / 2).mean(1)


def search_space(claim: PublicImagesFound, secret: Secret) -> Scores:
    """Give the share of the public set that must be kept, going down the answer, to have all of the row's images.

    Braverman's measure of how far a search shrinks; 1 where the answer ends before.
    """
    where = places(claim, secret)
    last = torch.where(where > 0, where, claim.among).amax(1)
    return last.double() / claim.among
