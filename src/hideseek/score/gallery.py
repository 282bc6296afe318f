"""The best, the median and the worst reconstructions beside the ground truth, to look at."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.records import Reconstruction
from hideseek.records.secret import Secret
from hideseek.score.ground_truth import HUGE, candidates, fitted, match_guesses, raw_pair
from hideseek.score.image_scores import best
from hideseek.similarity import correlation

Kind = Literal["best", "median", "worst"]


@dataclass(frozen=True)
class Example:
    """A private image, and the guess of it with the brightness and contrast that fit best."""

    truth: Float[Tensor, "c h w"]
    guess: Float[Tensor, "c h w"]
    image: int  # its place in the private set
    likeness: float  # the absolute value of their correlation
    number: int  # the guess's place in the claim


def gallery(claim: Reconstruction, secret: Secret, count: int = 6) -> dict[Kind, list[Example]]:
    """Choose up to `count` guesses of each kind by how well they correlate with the ground truth, whatever the sign.

    That is how good the best fit of brightness and contrast is: a guess may be the negative of an image.
    """
    claim = match_guesses(claim, secret)
    scores = best(claim, secret, lambda truth, guess: correlation(truth, guess).abs())
    order = scores.argsort(descending=True)
    order = order[scores[order].isfinite()]
    few = min(count, max(1, len(order) // 3))  # so that none is shown twice, where there are three
    middle = (len(order) - few) // 2
    chosen: dict[Kind, Tensor] = {
        "best": order[:few],
        "median": order[middle : middle + few],
        "worst": order[len(order) - few :],
    }
    return {kind: [_example(claim, secret, guess) for guess in guesses.tolist()] for kind, guesses in chosen.items()}


def _example(claim: Reconstruction, secret: Secret, number: int) -> Example:
    places = candidates(claim, secret)[number]
    places = places[places >= 0]
    guess = claim.images[number].float().clamp(-HUGE, HUGE).to(secret.private.images.device)
    guesses = guess.expand(len(places), -1, -1, -1)
    likeness = correlation(secret.private.pixels(places), guesses).abs()
    which = int(likeness.argmax())
    truth, shown = raw_pair(secret.private, places[which : which + 1], guesses[which : which + 1])
    fit = fitted(truth, shown)[0].nan_to_num().cpu()
    return Example(truth[0].cpu(), fit, int(places[which]), float(likeness[which]), number)


def usual_item(secret: Secret, image: int) -> int | None:
    """Find an item that has as much of an image as its items usually have: the median; None where no item holds it."""
    items = torch.arange(secret.items)
    shares = torch.where(secret.holds(items) == image, secret.shares(items), 0.0).amax(1)
    holding = shares.nonzero()[:, 0]
    return int(holding[shares[holding].argsort()[len(holding) // 2]]) if len(holding) else None
