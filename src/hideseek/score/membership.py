"""The claim that candidates are private images: how well members of a gallery are told from others.

One score a member, so that means are what one wants: `membership-auc` is the share of non-members below it, and
`membership-tpr@fpr` whether it is above the threshold of all non-members. The AUC decides: it uses every candidate,
where a rate at 1 % of false alarms rests on the one or two highest of some hundred others. Both are shown, since an
attack may be sure of few members and know nothing of the rest.

Which image is private is a matter of its content: a candidate that equals a private image is a member. Where patients
are known, a record is a patient: it is a member if any of its images is, and its score is the mean of those of its
images.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.records import Membership, Samples
from hideseek.records.result import Curve, Harm, Note, NoteKind
from hideseek.records.secret import Secret
from hideseek.score.checks import ADVICE, check_within
from hideseek.score.claim_rules import Baseline, ClaimRules, counted, no_examples, no_guesses
from hideseek.score.curve_points import POINTS, written
from hideseek.score.ground_truth import blocks
from hideseek.score.membership_test import beyond_chance, members
from hideseek.score.metric import Metric, Scores
from hideseek.score.refuted_epsilon import DELTA, refuted_epsilon
from hideseek.score.roc import roc


def check(claim: Membership, secret: Secret) -> None:
    """Refuse candidates that are not there, or come twice."""
    check_within(claim.candidates, len(secret.candidates), "candidate")
    if len(claim.candidates.unique()) != len(claim.candidates):
        raise BadInput(f"the evidence scores a candidate twice: {ADVICE}.")


def by_patient(claim: Membership, secret: Secret) -> Membership:
    """Give one candidate for each patient, with the mean score of all that are asked about; else the claim itself."""
    if secret.owners is None:
        return claim
    _, record = secret.owners[claim.candidates.long()].unique(return_inverse=True)
    sizes = torch.bincount(record)
    scores = torch.zeros(len(sizes), dtype=torch.float64).index_add_(0, record, claim.scores.double()) / sizes
    standing: dict[int, int] = {}
    for place in (~members(claim, secret)).sort(stable=True).indices.tolist():  # private images first
        standing.setdefault(int(record[place]), int(claim.candidates[place]))
    return Membership(torch.tensor([standing[each] for each in range(len(sizes))]), scores.float())


def baselines(claim: Membership, secret: Secret, chance: Randomness) -> Iterator[Baseline]:
    """Deal the scores out at random; or look at the candidates alone, whose kinds may differ.

    Others that are brighter or smoother than private images are told from them without any release (Das, Zhang and
    Tramèr 2024). The direction that suits a baseline better is chosen by the truth, in its favour.
    """
    shuffled = claim.scores[chance.permutation(len(claim.scores))]
    yield Baseline("shuffled scores", replace(claim, scores=shuffled), drawn=True)
    inside = members(claim, secret)
    if inside.all() or not inside.any():
        return
    bright, contrast = _looks(claim, secret)
    for name, values in (("brightness alone", bright), ("contrast alone", contrast)):
        one = replace(claim, scores=values)
        other = replace(claim, scores=-values)
        yield Baseline(name, max(one, other, key=lambda each: float(auc(each, secret).mean())))


def _looks(claim: Membership, secret: Secret) -> tuple[Tensor, Tensor]:
    """Give the mean and the deviation of the pixels of each candidate; of a patient, the means over the images."""
    of = claim.candidates.long()
    asked = of if secret.owners is None else torch.isin(secret.owners, secret.owners[of]).nonzero()[:, 0]
    means, deviations = [], []
    for part in blocks(len(asked), secret.candidates.images[0].numel()):
        pixels = secret.candidates.pixels(asked[part]).flatten(1).double().cpu()
        means.append(pixels.mean(1))
        deviations.append(pixels.std(1, correction=0))
    bright, contrast = (by_patient(Membership(asked, torch.cat(each).float()), secret) for each in (means, deviations))
    if secret.owners is None:
        return bright.scores, contrast.scores
    place = torch.searchsorted(secret.owners[bright.candidates], secret.owners[of])
    return bright.scores[place], contrast.scores[place]


def auc(claim: Membership, secret: Secret) -> Scores:
    """Give, for every member, the share of non-members that score below it, ties counting half."""
    inside, outside = _split(claim, secret)
    below, up_to = (torch.searchsorted(outside, inside, right=right) for right in (False, True))
    return (below + up_to).double() / (2 * len(outside))


def tpr_at_fpr(false_alarms: float, claim: Membership, secret: Secret) -> Scores:
    """Tell which members score above the threshold that lets at most this share of non-members pass."""
    inside, outside = _split(claim, secret)
    return (inside > outside[-1 - _let_pass(false_alarms, len(outside))]).double()


def _let_pass(false_alarms: float, others: int) -> int:
    return int(false_alarms * others + 1e-9)


def _split(claim: Membership, secret: Secret) -> tuple[Scores, Scores]:
    """Give the scores of members, in their order, and of the others, sorted."""
    inside = members(claim, secret)
    if not inside.any():
        raise BadInput("none of the candidates that the attack scores is a private image.")
    if inside.all():
        raise BadInput(
            "all candidates are private images, so there is nobody to tell them from: give images of the same kind"
            " that are not private."
        )
    scores = claim.scores.double()
    return scores[inside], scores[~inside].sort().values


def refuted(claim: Membership, secret: Secret) -> Note | None:
    """Say which ε the scores refute, if any."""
    inside = members(claim, secret)
    epsilon = refuted_epsilon(claim.scores, inside)
    if not epsilon:
        return None
    return Note(NoteKind.REFUTED_EPSILON, len(inside), int(inside.sum()), round(epsilon, 3), f"{DELTA:g}")


def curves(claim: Membership, secret: Secret) -> tuple[Curve, ...]:
    """Draw the ROC curve: how many members are found, by how many others are taken for such."""
    claim = by_patient(claim, secret)
    inside = members(claim, secret)
    if inside.all() or not inside.any():
        return ()
    false, true = (rate.numpy() for rate in roc(claim.scores.double(), inside))
    x = np.geomspace(max(1 / len(inside), 1e-4), 1, POINTS)
    y = true[np.searchsorted(false, x, side="right") - 1]
    line = "private images that are found"
    title = "Is this image among the private ones?"
    return (Curve(title, "false alarms", line, written(x), written(y), written(x), log_x=True),)


def exposure(claim: Membership, secret: Secret) -> Scores:
    """Give the share of non-members below each private image that is asked about; a patient's images share it."""
    claim = by_patient(claim, secret)
    found = torch.full((len(secret.private),), torch.nan, dtype=torch.float64)
    inside = members(claim, secret)
    if not inside.all() and inside.any():
        found[_groups(claim, secret)] = auc(claim, secret)
    return _of_patients(found, secret.private)


def _of_patients(found: Scores, private: Samples) -> Scores:
    """Give all images of a patient what one of them has."""
    of, known = private.records, ~found.isnan()
    shared = torch.full((len(found),), torch.nan, dtype=found.dtype)
    shared[of[known]] = found[known]
    return shared[of]


def _groups(claim: Membership, secret: Secret) -> Int[Tensor, " members"]:
    images = secret.identities[claim.candidates.long()]
    return images[images >= 0]


def _half(claim: Membership, secret: Secret) -> Scores:
    return torch.full((len(_groups(claim, secret)),), 0.5, dtype=torch.float64)


def _passing(false_alarms: float, claim: Membership, secret: Secret) -> Scores:
    """Give how likely one of n + 1 that are alike is above the (⌊α n⌋ + 1)th of the n others: (⌊α n⌋ + 1) / (n + 1)."""
    others = int((~members(claim, secret)).sum())
    share = (_let_pass(false_alarms, others) + 1) / (others + 1)
    return torch.full((len(_groups(claim, secret)),), share, dtype=torch.float64)


def _tpr_at_fpr(share: float, words: str) -> Metric:
    meaning = f"the share of private images that are found in a gallery at {words} false alarms"
    score: Callable[[Membership, Secret], Scores] = partial(tpr_at_fpr, share)
    return Metric(score, _groups, True, "share", meaning, chance=partial(_passing, share))


METRICS = {
    "membership-auc": Metric(
        auc,
        _groups,
        True,
        "",
        "area under the ROC curve: private images of a gallery against others of their kind",
        "it tells private images from others of their kind (membership AUC {value}, {baseline} by {name})",
        chance=_half,
        test=beyond_chance,
        note=refuted,
    ),
    "membership-tpr@fpr=0.01": _tpr_at_fpr(0.01, "1 %"),
    "membership-tpr@fpr=0.001": _tpr_at_fpr(0.001, "0.1 %"),
}

RULES = ClaimRules(
    claim=Membership,
    check=check,
    prepare=by_patient,
    baselines=baselines,
    metrics=METRICS,
    decisive={"membership-auc": Harm.TOLD_APART},
    curves=curves,
    examples=no_examples,
    states=counted("candidates, by how likely they are private"),
    guesses=no_guesses,
    exposure=exposure,
)
