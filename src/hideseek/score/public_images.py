"""How well the public images of a row were found: one score a row that was searched for."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.errors import BadInput
from hideseek.progress import track
from hideseek.records import PublicImagesFound
from hideseek.records.mixing_secret import MixingSecret
from hideseek.score.ground_truth import blocks
from hideseek.score.metric import Metric, Scores


def places(claim: PublicImagesFound, secret: MixingSecret) -> Int[Tensor, "queries k_public"]:
    """Give the place of each of a row's public images in the answer, 1 the likeliest; 0 where it was not kept."""
    truth = secret.public_sources[claim.rows.long()]
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


def hit(most: int, claim: PublicImagesFound, secret: MixingSecret) -> Scores:
    """Tell whether at least one of the row's public images is among the first `most` answers (InstaHide §5.3)."""
    where = places(claim, secret)
    return ((where > 0) & (where <= most)).any(1).double()


def hit_by_chance(most: int, claim: PublicImagesFound, secret: MixingSecret) -> Scores:
    """Give the chance that one of k public images is among the first m of N: 1 − C(N − k, m) / C(N, m)."""
    count = secret.public_sources.shape[1]
    looked = torch.arange(min(most, claim.candidates.shape[1], claim.among), dtype=torch.float64)
    missed = (1 - count / (claim.among - looked)).clamp_min(0).prod()
    return (1 - missed).expand(len(claim.rows))


def found(claim: PublicImagesFound, secret: MixingSecret) -> Scores:
    """Give the share of the row's k_public public images that are among the first k_public answers."""
    return _first(claim, secret).mean(1)


def all_found(claim: PublicImagesFound, secret: MixingSecret) -> Scores:
    """Tell whether the first k_public answers are the row's public images."""
    return _first(claim, secret).amin(1)


def _first(claim: PublicImagesFound, secret: MixingSecret) -> Float[Tensor, "queries k_public"]:
    where = places(claim, secret)
    return ((where > 0) & (where <= where.shape[1])).double()


def rank(claim: PublicImagesFound, secret: MixingSecret) -> Scores:
    """Give the mean rank of the row's public images; one that was not kept counts as the middle of all the rest."""
    where = places(claim, secret).double()
    return torch.where(where > 0, where, (claim.candidates.shape[1] + 1 + claim.among) / 2).mean(1)


def search_space(claim: PublicImagesFound, secret: MixingSecret) -> Scores:
    """Give the share of the public set that must be kept, going down the answer, to have all of the row's images.

    Braverman's measure of how far a search shrinks; 1 where the answer ends before.
    """
    where = places(claim, secret)
    last = torch.where(where > 0, where, claim.among).amax(1)
    return last.double() / claim.among


def _note(most: int, claim: PublicImagesFound, secret: MixingSecret) -> str:
    kept = claim.candidates.shape[1]
    return f"{kept} answers were kept, and no more can be looked through" if kept < min(most, claim.among) else ""


def _groups(claim: PublicImagesFound, secret: MixingSecret) -> Int[Tensor, " queries"]:
    return secret.sources[claim.rows.long(), 0]


def _metric(
    score: Callable[[PublicImagesFound, MixingSecret], Scores], higher: bool, unit: str, meaning: str
) -> Metric:
    return Metric(PublicImagesFound, score, _groups, higher, unit, meaning)


def _hit(most: int) -> Metric:
    answers = f"one of the first {most} answers" if most > 1 else "the first answer"
    meaning = f"the share of rows of which {answers} is right: a public image that is in them"
    metric = _metric(partial(hit, most), True, "share", meaning)
    return replace(metric, note=partial(_note, most), chance=partial(hit_by_chance, most))


METRICS = {
    **{f"hit@{most}": _hit(most) for most in (1, 10, 100)},
    "found": _metric(found, True, "share", "the share of a row's k public images that are among the first k answers"),
    "all-found": _metric(all_found, True, "share", "the share of rows whose k public images are the first k answers"),
    "rank": _metric(rank, False, "place", "the place of a row's public images in the answer, on average"),
    "search-space": _metric(
        search_space, False, "share", "the share of the public set to keep to have all of a row's images"
    ),
}
