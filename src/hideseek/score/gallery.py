"""The best, the median and the worst reconstructions beside the ground truth, to look at."""

from dataclasses import dataclass, replace
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.records import Reconstruction
from hideseek.records.secret import Secret
from hideseek.score.ground_truth import HUGE, Matched, candidates, fitted, match_guesses, raw, raw_truth, versions
from hideseek.score.image_scores import best
from hideseek.score.recovered import likeness

Kind = Literal["best", "median", "worst"]


@dataclass(frozen=True)
class Example:
    """A private image, and the guess of it with the brightness and contrast that fit best."""

    truth: Float[Tensor, "c h w"]
    guess: Float[Tensor, "c h w"]
    image: int  # its place in the private set
    likeness: float  # their correlation; under a mask, where a negative counts too, its absolute value
    number: int  # the guess's place in the claim


def gallery(claim: Reconstruction, secret: Secret, count: int = 6) -> dict[Kind, list[Example]]:
    """Choose up to `count` guesses of each kind by how well they correlate with the ground truth.

    That is how good the best fit of brightness and contrast is; under a mask a negative is as good.
    """
    claim = match_guesses(claim, secret)
    scores = best(claim, secret, lambda truth, guess: likeness(truth, guess, secret.masked))
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
    """Put a guess beside the image that it is most like, of those that it may show, as it is or as it was shared."""
    one = replace(claim, images=claim.images[number : number + 1], about=claim.about[number : number + 1])
    if isinstance(claim, Matched) and isinstance(one, Matched) and claim.items is not None:
        one = replace(one, items=claim.items[number : number + 1])
    places, items = candidates(one, secret)[0], versions(one, secret)
    places = places[places >= 0]
    truths = [secret.private.pixels(places)]
    if items is not None:
        truths += [secret.moved(places, item.expand(len(places))) for item in items[0] if item >= 0]
    guess = one.images.float().clamp(-HUGE, HUGE).to(secret.private.images.device)
    alike = torch.stack([likeness(each, guess.expand_as(each), secret.masked) for each in truths])
    version, which = divmod(int(alike.argmax()), len(places))
    chosen = places[which : which + 1]
    truth = (
        raw(secret.private, chosen, truths[version][which : which + 1])
        if version
        else raw_truth(secret.private, chosen)
    )
    fit = fitted(truth, raw(secret.private, chosen, guess), negatives=secret.masked)[0].nan_to_num().cpu()
    return Example(truth[0].cpu(), fit, int(chosen), float(alike.max()), number)


def usual_item(secret: Secret, image: int) -> int | None:
    """Find an item that has as much of an image as its items usually have: the median; None where no item holds it."""
    items = torch.arange(secret.items)
    shares = torch.where(secret.holds(items) == image, secret.shares(items), 0.0).amax(1)
    holding = shares.nonzero()[:, 0]
    return int(holding[shares[holding].argsort()[len(holding) // 2]]) if len(holding) else None
