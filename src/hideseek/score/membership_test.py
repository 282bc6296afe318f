"""Which candidates are private, and whether they are told from others beyond chance."""

import numpy as np
from jaxtyping import Bool
from numpy.typing import NDArray
from scipy.special import gammaln
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.records import Membership
from hideseek.records.secret import Secret
from hideseek.score.ground_truth import blocks
from hideseek.score.other_truths import beyond, draws_for
from hideseek.score.significance import Significance


def members(claim: Membership, secret: Secret) -> Bool[Tensor, " asked"]:
    """Tell which of the candidates are private images."""
    return secret.identities[claim.candidates.long()] >= 0


def beyond_chance(claim: Membership, secret: Secret, chance: Randomness) -> Significance:
    """Compare the AUC with those of other memberships: which of the images that are asked about are private.

    A score that ignores the release gives members and others ranks that could as well be exchanged. Candidates that
    are equal, pixel for pixel, stay together.
    """
    inside, images = members(claim, secret), secret.identities[claim.candidates.long()]
    _, place = images.unique(return_inverse=True)
    ranks = _mid_ranks(claim.scores.double().numpy())
    count = int(place.max()) + 1
    sums = np.bincount(place.numpy(), ranks, count)
    sizes = np.bincount(place.numpy(), minlength=count).astype(np.float64)
    private = np.zeros(count, bool)
    private[place[inside].numpy()] = True

    def areas(chosen: NDArray[np.int64]) -> NDArray[np.float64]:
        many = sizes[chosen].sum(-1)
        return np.asarray((sums[chosen].sum(-1) - many * (many + 1) / 2) / (many * (sizes.sum() - many)))

    number = int(private.sum())
    drawn = np.empty(draws_for(10 * count))
    for part in blocks(len(drawn), count):
        keys = chance.uniforms(part.stop - part.start, count).numpy()
        drawn[part] = areas(keys.argsort(1)[:, :number])
    rarest = float(np.exp(gammaln(number + 1) + gammaln(count - number + 1) - gammaln(count + 1)))
    return beyond(float(areas(np.flatnonzero(private))), drawn, rarest, lambda value: value)


def _mid_ranks(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the rank of each score, from 1 the lowest; ties share the mean of their ranks."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(scores), np.float64)
