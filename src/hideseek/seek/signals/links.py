"""Which rows share a private image: how alike they are in white space, and what their labels say, put together."""

import math
from dataclasses import dataclass
from typing import Self

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from hideseek.records import EncodedRelease, Links, Samples
from hideseek.seek.signals.whitening import Whitening, squares
from hideseek.seek.work import CALL, TOUCH

CHUNK = 1024  # rows that are made white together
SAMPLE = 4096  # rows that the scale is estimated from
SCALES = (0.0, *(0.25 * 2 ** (step / 2) for step in range(16)))  # that are tried, in deviations of unrelated rows
NEVER = -100.0  # the score of two rows without a common class, below all others
EVEN = 0.0  # log odds, above which two rows are likelier to share an image than not
_PASSES = 12  # over every pair and common class, for a likelihood


def unsigned_rows(release: EncodedRelease) -> Float[Tensor, "m c h w"]:
    """Give the rows, or under a mask their squares.

    Squares are λ² x² of every image in a row, plus products of two images, whose signs differ from pixel to pixel:
    white, they tell more than absolute values do (`benchmarks/links.py`).
    """
    return squares(release.encoded.pixels()) if release.scheme.masked else release.encoded.pixels()


def white_rows(centred: Float[Tensor, "m c h w"]) -> Float[Tensor, "m pixels"]:
    """Give centred rows white, by their own spectrum."""
    white = Whitening.of(Samples(centred, centred.new_empty(len(centred), 0)))
    return torch.cat([white(part).flatten(1) for part in centred.split(CHUNK)])


def noise_deviation(products: Float[Tensor, "some m"]) -> float:
    """Estimate how far inner products of unrelated rows scatter, from the negative ones: no shared image made these.

    Where none is negative, all rows are alike, and nothing stands out: 1, the largest product there is.
    """
    negative = products[products < 0]
    return float(negative.square().mean().sqrt()) if len(negative) else 1.0


@dataclass(frozen=True)
class RowClasses:
    """What labels say of the images in rows; where there are no labels, all images are of one class.

    A label Σ_j λ_j y_j shows the classes in a row, not how many images there are of each. Of the k private images, one
    is expected for each class that is there, and the others in proportion to the weights. So a class has
    n_c = Σ_r m_rc / kT images, and two rows with m and m' of them share m m' / n_c of these on average.
    """

    images: Float[Tensor, "m classes"]
    """m, how many images of each class are expected in a row."""
    weights: Float[Tensor, "m classes"]
    """λ_rc / m_rc, the weight that one of them is expected to have."""
    sizes: Float[Tensor, " classes"]
    """n_c, how many private images of each class there are."""

    @classmethod
    def of(cls, release: EncodedRelease) -> Self:
        """Read the labels of a release."""
        private = release.scheme.images_per_row.private
        labels = release.mixed_labels.float().clamp_min(0)
        if labels.shape[1] == 0:
            labels = labels.new_ones(len(labels), 1)
        there = (labels > 0).float()
        share = functional.normalize(labels, p=1)
        count = there.sum(1, keepdim=True)
        images = torch.where(count <= private, there + (private - count) * share, private * share)
        sizes = images.sum(0) / (private * release.rounds)
        return cls(images, torch.where(images > 0, labels / images, 0.0), sizes)

    def heaviest(self, rows: Int[Tensor, " some"]) -> Int[Tensor, " some"]:
        """Give the class of the image that is expected to have most weight in each row."""
        return self.weights[rows].argmax(1)

    def having(self, classes: Int[Tensor, " some"]) -> Bool[Tensor, "some m"]:
        """Tell which rows have an image of each class."""
        return self.images.T[classes] > 0

    def shared(
        self, row: int, others: Int[Tensor, " m"] | slice, most: int
    ) -> tuple[Float[Tensor, "classes m"], Float[Tensor, "classes m"]]:
        """Give, for the classes of a row, at most so many, how many images it shares with others, on average.

        And the product of the weights that a shared image has in both.
        """
        classes = self.images[row].topk(min(most, self.images.shape[1])).indices
        expected = self.images[row, classes] / self.sizes[classes].clamp_min(1e-9)
        return (
            expected[:, None] * self.images[others][:, classes].T,
            self.weights[row, classes][:, None] * self.weights[others][:, classes].T,
        )


def log_odds(
    products: Float[Tensor, "*#some m"], rates: Float[Tensor, "*some m"], deviations: Float[Tensor, "*some m"]
) -> Float[Tensor, "*some m"]:
    """Give the log of the odds that two rows share an image of one class, from their inner product and their labels.

    Inner products, in deviations of those of unrelated rows, are s ~ N(0, 1) without a shared image, and N(β, 1) with
    one. β is proportional to the product of its weights, and images are more or less strong: β = |b|, b ~ N(0, δ²).
    With a = s δ / √(1 + δ²), the likelihood ratio is 2 (1 + δ²)^−½ e^{a²/2} Φ(a); the odds before are the rates.
    """
    a = products * deviations / (1 + deviations.square()).sqrt()
    ratio = math.log(2) - 0.5 * torch.log1p(deviations.square()) + a.square() / 2 + torch.special.log_ndtr(a)
    odds: Float[Tensor, "*some m"] = rates.log() + ratio
    return odds


def links(unit: Float[Tensor, "m pixels"], release: EncodedRelease, rows: Int[Tensor, " some"]) -> Links:
    """Score the pairs of some rows with all others by the log odds that they share an image of any class.

    The scale δ = g (λ λ')^p, p = 2 for squares, is the one that makes the inner products most likely: rows without
    anything in common leave g = 0, and the score is that of the labels alone.
    """
    classes, most = RowClasses.of(release), release.scheme.images_per_row.private
    power = 2.0 if release.scheme.masked else 1.0
    noise = noise_deviation(unit[rows] @ unit.T)

    def facts(row: int, others: Int[Tensor, " m"] | slice) -> tuple[Tensor, Tensor, Tensor]:
        rates, weights = classes.shared(row, others, most)
        return (unit[row] @ unit[others].T)[None] / noise, rates, weights**power

    numbers = torch.arange(len(unit))
    few = numbers[:: -(-len(unit) // SAMPLE)]
    known = [facts(row, few[few != row]) for row in rows.tolist()]
    usual = _mean_weight(known)
    likelihoods = [sum(_likelihood(each, scale / usual) for each in known) for scale in SCALES]
    scale = SCALES[likelihoods.index(max(likelihoods))] / usual
    scores = []
    for row in rows.tolist():
        products, rates, weights = facts(row, numbers[numbers != row])
        scores.append(log_odds(products, rates, scale * weights).logsumexp(0).clamp_min(NEVER))
    first = rows.repeat_interleave(len(unit) - 1)
    second = torch.cat([numbers[numbers != row] for row in rows.tolist()])
    return Links(first, second, torch.cat(scores), EVEN)


def _mean_weight(known: list[tuple[Tensor, Tensor, Tensor]]) -> float:
    """Give the mean of λλ' to its power over the classes that rows have in common."""
    weights = torch.cat([weights[rates > 0] for _, rates, weights in known])
    return float(weights.mean()) or 1.0 if len(weights) else 1.0


def _likelihood(known: tuple[Tensor, Tensor, Tensor], scale: float) -> float:
    """Give Σ log((1 + Σ_c odds_c) / (1 + Σ_c rates_c)): how much likelier products are than without shared images."""
    products, rates, weights = known
    odds = log_odds(products, rates, scale * weights).logsumexp(0)
    return float((functional.softplus(odds) - torch.log1p(rates.sum(0))).double().sum())


def links_work(rows: int, items: int, pixels: int, classes: int) -> float:
    """Count the products, and the likelihood of each pair for every scale that is tried, and once more."""
    each, tries = classes * _PASSES * TOUCH, len(SCALES)
    return float(rows) * (3 * items * pixels + (items + tries * min(items, SAMPLE)) * each + tries * _PASSES * CALL)
