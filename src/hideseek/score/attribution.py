"""The claim that a row was made for a private image: whether it is the right one, one score a row."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.records import Attribution
from hideseek.records.result import Curve, Harm
from hideseek.records.secret import Secret
from hideseek.score.checks import check_within
from hideseek.score.claim_rules import Baseline, ClaimRules, as_it_is, counted, no_examples, no_guesses
from hideseek.score.curve_points import written
from hideseek.score.ground_truth import made_for
from hideseek.score.item_labels import BY_SIZE, item_labels
from hideseek.score.metric import Metric, Scores
from hideseek.score.other_truths import OtherTruths, beyond, draws_for
from hideseek.score.significance import Significance


def check(claim: Attribution, secret: Secret) -> None:
    """Refuse rows and images that are not there."""
    check_within(claim.rows, secret.items, "row")
    check_within(claim.candidates, len(secret.private), "private image")


def baselines(claim: Attribution, secret: Secret, chance: Randomness) -> Iterator[Baseline]:
    """Score the candidates at random, or by their class in the row's label, which is shared.

    That is by how much of the class is in it; or, of the classes that are in it, by how few candidates are of each.
    """
    yield Baseline("random guess", replace(claim, scores=chance.uniforms(*claim.scores.shape)), drawn=True)
    if secret.private.labels.shape[1] > 1:
        classes = secret.private.labels.cpu()[claim.candidates.long()].double()
        labels = item_labels(secret)[claim.rows.long()]
        yield Baseline("labels alone", replace(claim, scores=(labels @ classes.T).to(claim.scores)))
        few = (labels > 0).double() @ (classes / classes.sum(0).clamp_min(1e-12)).T
        yield Baseline(BY_SIZE, replace(claim, scores=few.to(claim.scores)))


def accuracy(claim: Attribution, secret: Secret) -> Scores:
    """Tell whether the image with the highest score is the one that the row was made for; ties share the credit."""
    return torch.where(_right(claim, secret), _credit(claim), 0.0).sum(1)


def _credit(claim: Attribution) -> Float[Tensor, "queries images"]:
    """Give what naming each candidate would earn if it were the right one: 1, or a share of it where scores tie."""
    if not claim.scores.shape[1]:
        return claim.scores.double()
    top = claim.scores == claim.scores.amax(1, keepdim=True)
    return top.double() / top.sum(1, keepdim=True)


def beyond_labels(claim: Attribution, secret: Secret, chance: Randomness) -> Significance:
    """Compare the accuracy with that by other truths: which rows were made for which image of a class.

    An attack that cannot tell rows of one class apart is as often right by any of them, whatever images it prefers.
    """
    rows, query = claim.rows.long().unique(return_inverse=True)
    truths = OtherTruths(secret.holds(rows), secret, [0], named=True)
    place = np.full(len(secret.private) + 1, len(claim.candidates))  # −1, no image, is the last
    place[claim.candidates.long().numpy()] = np.arange(len(claim.candidates))
    credit = np.pad(_credit(claim).numpy(), ((0, 0), (0, 1)))  # none for an image that is no candidate
    asked = np.arange(len(credit))

    def mean(held: NDArray[np.int64]) -> float:
        return float(credit[asked, place[held[query.numpy(), 0]]].mean())

    drawn = np.array([mean(truth) for truth in truths.draw(draws_for(10 * len(credit)), chance)])
    return beyond(mean(truths.held), drawn, truths.rarest, lambda accuracy: accuracy)


def curves(claim: Attribution, secret: Secret) -> tuple[Curve, ...]:
    """Draw how often the image that a row was made for is among the first m that are named."""
    right = _right(claim, secret)
    if not right.numel():
        return ()
    own = torch.where(right, claim.scores, -torch.inf).amax(1, keepdim=True)
    rank = torch.where(right.any(1), 1 + (claim.scores > own).sum(1), len(claim.candidates) + 1).numpy()
    x = np.arange(1, len(claim.candidates) + 1)
    y = [(rank <= m).mean() for m in x]
    title = f"Whose encoding is it, among {len(x)}?"
    line = "rows whose image is among them"
    return (Curve(title, "images that are named (m)", line, written(x), written(y), written(x / len(x))),)


def _right(claim: Attribution, secret: Secret) -> Tensor:
    return claim.candidates[None, :] == _groups(claim, secret)[:, None]


def _by_chance(claim: Attribution, secret: Secret) -> Scores:
    """Give 1 / candidates where the row's image is among them, else 0."""
    return _right(claim, secret).any(1).double() / max(1, len(claim.candidates))


def _groups(claim: Attribution, secret: Secret) -> Int[Tensor, " n"]:
    return made_for(claim.rows, secret)


METRICS = {
    "accuracy": Metric(
        accuracy,
        _groups,
        True,
        "share",
        "the share of rows whose image is named first",
        "it says whose encoding a row is: accuracy {value} ({baseline} by {name})",
        chance=_by_chance,
        test=beyond_labels,
    ),
}

RULES = ClaimRules(
    claim=Attribution,
    check=check,
    prepare=as_it_is,
    baselines=baselines,
    metrics=METRICS,
    decisive={"accuracy": Harm.TOLD_APART},
    curves=curves,
    examples=no_examples,
    states=counted("rows, with the image that each was made for"),
    guesses=no_guesses,
)
