"""The places that a row has for private images: of which class each is, and with what weight, as labels tell."""

from dataclasses import dataclass, replace
from typing import Self

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from hideseek.records import EncodedRelease

SPREAD = 1 / 3  # variance of a weight over its squared mean, of weights that were uniform before normalising


@dataclass(frozen=True)
class RowSlots:
    """k slots a row, one for each of its private images.

    Where a row's label shows k classes, each slot has its class and its weight. Where it shows one, all slots have that
    class, and their weights are known by their sum alone: of uniform weights, the largest is expected to be k
    times the smallest. Between the two, it is not known how many slots a class has:
    such slots may hold an image of any class of the row. Where there are no labels, all images are of one class.
    """

    classes: Int[Tensor, "m k"]
    """−1 where it may be any of the row's classes."""
    weights: Float[Tensor, "m k"]
    """λ, or what it is expected to be."""
    exact: Bool[Tensor, " m"]
    """Whether the weights are the label's own."""
    masses: Float[Tensor, "m classes"]
    """Σλ of each class in a row."""
    sizes: Int[Tensor, " classes"]
    """How many private images each class has."""
    rounds: int
    labelled: bool
    counted: bool
    """Whether every round has the same number of slots of each class, as it must: then sizes are exact."""

    @classmethod
    def of(cls, release: EncodedRelease) -> Self:
        """Read the labels of a release."""
        private, public = release.scheme.images_per_row
        masses = release.mixed_labels.float().clamp_min(0)
        labelled = masses.shape[1] > 0 and bool((masses > 0).any(1).all())
        if not labelled:
            masses = torch.full((len(release.encoded), 1), private / (private + public))
        there = masses > 0
        count = there.sum(1)
        single, full = count == 1, count == private
        order = masses.argsort(dim=1, descending=True)[:, :private]
        order = functional.pad(order, (0, private - order.shape[1]), value=-1)
        classes = torch.where(full[:, None], order, -1)
        classes = torch.where(single[:, None], order[:, :1], classes)
        falling = functional.normalize(torch.arange(private, 0, -1.0), p=1, dim=0)
        weights = masses.sum(1, keepdim=True) * falling
        weights = torch.where(full[:, None], masses.gather(1, order.clamp_min(0)), weights)
        exact = full & torch.tensor(labelled)
        sizes, counted = _sizes(masses, classes, release.rounds, private)
        return cls(classes, weights, exact, masses, sizes, release.rounds, labelled, counted)

    @property
    def images(self) -> int:
        """Give the number of private images."""
        return int(self.sizes.sum())

    @property
    def image_classes(self) -> Int[Tensor, " n"]:
        """Give the class of every image, when they are numbered class by class."""
        return torch.arange(len(self.sizes)).repeat_interleave(self.sizes)

    def some(self, rows: slice | Bool[Tensor, " m"]) -> Self:
        """Give the slots of some rows; they must be those of whole rounds where anything is to be assigned."""
        count = len(self.classes[rows]) * self.rounds // max(1, len(self.classes))
        return replace(
            self,
            rounds=max(1, count),
            classes=self.classes[rows],
            weights=self.weights[rows],
            exact=self.exact[rows],
            masses=self.masses[rows],
        )

    def round_of(self, number: int) -> slice:
        """Give the rows of a round; the last has what is left over, where rounds are not of one size."""
        each = len(self.classes) // self.rounds
        return slice(number * each, (number + 1) * each if number < self.rounds - 1 else len(self.classes))

    def rest(self) -> Float[Tensor, " m"]:
        """Give Σλ of the public images in a row; where there are no labels, what it is expected to be."""
        return (1 - self.masses.sum(1)).clamp(0, 1)

    def unknown(self, public: int) -> Float[Tensor, " m"]:
        """Give Σλ² of so many public images in a row, as it is expected from Σλ."""
        rest = self.rest()
        return rest.square() * (1 + SPREAD) / (public + SPREAD) if public else torch.zeros_like(rest)


def _sizes(
    masses: Float[Tensor, "m classes"], classes: Int[Tensor, "m k"], rounds: int, private: int
) -> tuple[Int[Tensor, " classes"], bool]:
    """Count the images of each class: a round has k slots for each.

    Where slots are of unknown class, one is expected for each class of the row, and the others in proportion to the
    masses; the sizes that follow are rounded to give as many images as a round has rows.
    """
    rows, number = len(masses), masses.shape[1]
    there = (masses > 0).float()
    share = functional.normalize(masses, p=1)
    expected = there + (private - there.sum(1, keepdim=True)).clamp_min(0) * share
    images = max(1, rows // rounds)
    if bool((classes >= 0).all()) and rows == images * rounds:
        slots = functional.one_hot(classes, number).sum(1).view(rounds, images, number).sum(1)
        if bool((slots == slots[0]).all()) and bool((slots[0] % private == 0).all()):
            return slots[0] // private, True
    wanted = expected.sum(0) / expected.sum() * images
    sizes = wanted.floor().long()
    sizes[(wanted - sizes).argsort(descending=True)[: images - int(sizes.sum())]] += 1
    return sizes, False
