"""Whether pairs are linked beyond what labels tell: the mean AUC of rows, beside those by other ground truths.

Rows that are asked about share images, and a pair may be in the AUC of both its rows, so that AUCs of rows are not
independent: a test that takes them for such errs two to three times as often as it says.
"""

import numpy as np
import torch
from numpy.typing import NDArray

from hideseek.chance import Randomness
from hideseek.chance.compiled import compiled
from hideseek.records import Links
from hideseek.records.secret import Secret
from hideseek.score.link_areas import RankedPairs
from hideseek.score.other_truths import OtherTruths, beyond, draws_for
from hideseek.score.significance import Significance


def beyond_labels(claim: Links, secret: Secret, chance: Randomness) -> Significance:
    """Compare t = (AUC − mean) / error with the t of other truths, mean that of their AUCs.

    The error is that of a mean over rows which share images, √(Σ_{i,i'} e_i e_i') / rows, summed over pairs of rows
    with a common image (dyadic clusters; Aronow, Samii and Assenova 2015), but not below the deviation of the AUCs by
    other truths. So a score by something else that rows of one image have in common, say how bright they are, is no
    link either.
    """
    pairs, held, images = RankedPairs.of(claim), secret.holds(torch.arange(secret.items)), len(secret.private)
    truths = OtherTruths(held, secret, range(held.shape[1]), named=False)
    draws = draws_for(len(pairs.ranks) * held.shape[1])
    drawn = np.array([_mean_and_error(pairs, truth, images) for truth in truths.draw(draws, chance)])
    means, errors = drawn[np.isfinite(drawn[:, 0])].T
    if not len(means):
        return Significance(1.0, lambda level: None)
    found, error = _mean_and_error(pairs, truths.held, images)
    centre, deviation = float(means.mean()), float(means.std()) + 1e-9
    error = max(error, deviation)
    statistics = (means - centre) / np.maximum(errors, deviation)
    return beyond((found - centre) / error, statistics, truths.rarest, lambda statistic: centre + statistic * error)


def _mean_and_error(pairs: RankedPairs, held: NDArray[np.int64], images: int) -> tuple[float, float]:
    return _clustered(pairs.areas(held, images), held[pairs.queries], images)


@compiled()
def _clustered(
    areas: NDArray[np.float64], own: NDArray[np.int64], images: int
) -> tuple[float, float]:  # pragma: no cover (compiled)
    """Give the mean of rows with pairs of both kinds, and its error: rows with a common image rise and fall together.

    The sum over pairs of rows is Σ_a (Σ_{i holds a} e_i)², in which every row is with itself as often as it has images.
    """
    both = np.isfinite(areas)
    count = both.sum()
    if not count:
        return np.nan, np.nan
    mean = areas[both].mean()
    totals, squares, again = np.zeros(images), 0.0, 0.0
    for row in np.flatnonzero(both):
        excess = areas[row] - mean
        held = 0
        for image in own[row]:
            if image >= 0:
                totals[image] += excess
                held += 1
        squares += excess**2
        again += (held - 1) * excess**2
    return mean, np.sqrt(max(np.square(totals).sum() - again, squares)) / count
