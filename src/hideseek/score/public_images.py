"""The claim that these public images are in a row: how well they were found, one score a row that was searched for."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.records import EncodedRelease, PublicImagesFound, Release
from hideseek.records.result import Curve, Harm, Note, NoteKind
from hideseek.records.secret import Secret
from hideseek.score.checks import ADVICE, check_within, of_mixing
from hideseek.score.claim_rules import Baseline, ClaimRules, Shown, as_it_is, counted
from hideseek.score.curve_points import POINTS, written
from hideseek.score.ground_truth import blocks, made_for
from hideseek.score.guesses import guessed_public
from hideseek.score.metric import Metric, Scores
from hideseek.score.search_results import all_found, found, hit, hit_by_chance, places, public_truth, rank, search_space
from hideseek.score.significance import Significance, known_rate

MOST = 1 << 26  # public images: an order of more would not fit into memory
EXAMPLES = 4  # rows to show


def check(claim: PublicImagesFound, secret: Secret) -> None:
    """Refuse rows and public images that are not there."""
    sources = public_truth(claim, secret)
    if not isinstance(claim.among, int) or not 1 <= claim.among <= MOST:
        raise BadInput(f"public images cannot be found among {claim.among!r} of them: {ADVICE}.")
    check_within(claim.rows, secret.items, "row")
    check_within(claim.candidates, claim.among, "public image")
    if claim.candidates.shape[1] > claim.among:
        raise BadInput(f"{claim.candidates.shape[1]} answers cannot differ among {claim.among} images: {ADVICE}.")
    if sources.numel() and int(sources.max()) >= claim.among:
        raise BadInput(
            f"the release was mixed with more public images than the {claim.among} that were searched: {ADVICE}."
        )


def baselines(claim: PublicImagesFound, secret: Secret, chance: Randomness) -> Iterator[Baseline]:
    """Answer with public images in a random order."""
    count, kept = claim.candidates.shape
    drawn = torch.empty(count, kept, dtype=torch.int64)
    for rows in blocks(count, claim.among):
        drawn[rows] = chance.uniforms(rows.stop - rows.start, claim.among).argsort(1)[:, :kept]
    yield Baseline("random order", replace(claim, candidates=drawn), drawn=True)


def curves(claim: PublicImagesFound, secret: Secret) -> tuple[Curve, ...]:
    """Draw how often one of a row's public images is among the first m; at random: 1 − C(N − k, m) / C(N, m)."""
    kept, count = claim.candidates.shape[1], of_mixing(secret).public_sources.shape[1]
    if not len(claim.rows) or not kept or not count:
        return ()
    where = places(claim, secret)
    first = torch.where(where > 0, where, claim.among + 1).amin(1).numpy()
    x = np.unique(np.geomspace(1, kept, POINTS).round().astype(int))
    missed = np.cumprod(1 - count / np.maximum(claim.among - np.arange(claim.among), count))
    return (
        Curve(
            f"Public images of a row among {claim.among:,}",
            "candidates that are looked at (m)",
            "rows with a hit",
            written(x),
            written([(first <= m).mean() for m in x]),
            written(1 - missed[x - 1]),
            log_x=True,
        ),
    )


def examples(claim: PublicImagesFound, release: Release, secret: Secret) -> list[Shown]:
    """Show rows whose public images were found, or the first ones where none were."""
    public = release.public if isinstance(release, EncodedRelease) else None
    mixing = of_mixing(secret)
    if public is None or not claim.candidates.shape[1] or not mixing.public_sources.shape[1]:
        return []
    first = (places(claim, secret) == 1).any(1)
    order = torch.cat([first.nonzero()[:, 0], (~first).nonzero()[:, 0]])[:EXAMPLES]
    shown = []
    for number in order.tolist():
        row, guess = int(claim.rows[number]), int(claim.candidates[number, 0])
        shared = release.picture(row)
        if shared is None:
            return []
        weights = mixing.weights[row, -mixing.public_sources.shape[1] :]
        truth = int(public_truth(claim, secret)[row, weights.argmax()])
        panels = (
            (
                "larger public image, of which a patch is in it" if claim.larger else "public image in it",
                public.pixels(slice(truth, truth + 1))[0],
                False,
            ),
            ("shared", shared, release.shows_private),
            ("found", public.pixels(slice(guess, guess + 1))[0], False),
        )
        shown.append(Shown("example", "row", row, "hit@1", float(first[number]), "share", panels))
    return shown


def _note(most: int, claim: PublicImagesFound, secret: Secret) -> Note | None:
    kept = claim.candidates.shape[1]
    return Note(NoteKind.ANSWERS_KEPT, kept) if kept < min(most, claim.among) else None


def _beyond_chance(claim: PublicImagesFound, secret: Secret, chance: Randomness) -> Significance | None:
    """Count the rows with a hit: each row draws its public images anew, so that these are independent tosses.

    Whatever order the answers are in, one that ignores the row is right with the same chance. A row that is asked
    about twice is not: then rows are compared image by image.
    """
    if len(claim.rows.unique()) < len(claim.rows):
        return None
    rate = float(hit_by_chance(1, claim, secret).mean())
    return known_rate(int(hit(1, claim, secret).sum()), len(claim.rows), rate)


def _groups(claim: PublicImagesFound, secret: Secret) -> Int[Tensor, " queries"]:
    return made_for(claim.rows, secret)


def _metric(score: Callable[[PublicImagesFound, Secret], Scores], higher: bool, unit: str, meaning: str) -> Metric:
    return Metric(score, _groups, higher, unit, meaning)


def _hit(most: int) -> Metric:
    answers = f"one of the first {most} answers" if most > 1 else "the first answer"
    meaning = f"the share of rows of which {answers} is right: a public image that is in them"
    finding = "its first guess is a public image of the row: hit@1 {value} of rows ({baseline} by {name})"
    metric = _metric(partial(hit, most), True, "share", meaning)
    return replace(
        metric,
        finding=finding if most == 1 else "",
        note=partial(_note, most),
        chance=partial(hit_by_chance, most),
        test=_beyond_chance if most == 1 else None,
    )


METRICS = {
    **{f"hit@{most}": _hit(most) for most in (1, 10, 100)},
    "found": _metric(found, True, "share", "the share of a row's k public images that are among the first k answers"),
    "all-found": _metric(all_found, True, "share", "the share of rows whose k public images are the first k answers"),
    "rank": _metric(rank, False, "place", "the place of a row's public images in the answer, on average"),
    "search-space": _metric(
        search_space, False, "share", "the share of the public set to keep to have all of a row's images"
    ),
}

RULES = ClaimRules(
    claim=PublicImagesFound,
    check=check,
    prepare=as_it_is,
    baselines=baselines,
    metrics=METRICS,
    decisive={"hit@1": Harm.PARTS},
    curves=curves,
    examples=examples,
    states=counted("rows, with the public images that are in each"),
    guesses=guessed_public,
)
