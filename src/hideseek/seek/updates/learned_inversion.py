"""Inversion that is learned from the attacker's own updates, defended as those that he saw."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import ClassVar, Self

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.chance import Randomness, seeded
from hideseek.records import Attack, Evidence, Reason, Reconstruction, Refusal, Task
from hideseek.records.samples import describe_shape
from hideseek.records.shared_model import State
from hideseek.records.update_release import UpdateRelease
from hideseek.seek.systems.head_labels import largest_size
from hideseek.seek.systems.image_starts import pixel_limits
from hideseek.seek.systems.kernel_ridge import RIDGES, WIDTHS, fit_best
from hideseek.seek.systems.own_updates import labelled, own_updates
from hideseek.seek.updates.finite import not_finite
from hideseek.seek.work import DOUBLE, TOUCH, attacked, largest

FEWEST = 50  # own images that anything is learned from
CHOOSING = 1000  # own images that settings are chosen on
FEATURES = 16_384  # numbers of an update that it is compared by, at most
SIZES = 64  # own updates that the sizes of tensors are taken from
PASSES = 60  # multiplications of a small network's gradient, by those of a forward pass in a large product


@dataclass(frozen=True)
class LearnedInversion(Attack[UpdateRelease]):
    """Predict images by kernel ridge regression from updates of the attacker's own images.

    x̂ = m + Σ_i k(g, g_i) α_i, with α = (K + ρ I)⁻¹ (X − m) and k(g, g_i) = exp(−‖φ(g) − φ(g_i)‖² / h): g_i are updates
    of his own images X, m is their mean. He computes updates of single images, with the defences that the scheme has;
    whatever these leave is learned from, noise and signs too. An entry v of a tensor of root mean square s counts as
    sign(v) √(|v| / s), tensors alike; more entries than FEATURES are added up in as many sums, with signs at random,
    which keeps distances (count sketch). Width and ridge are chosen by images left out, in closed form, and that error
    is in the remarks.
    Deviation: Wu et al. train three dense layers of 3,000 units; the regression is solved at once.
    """

    sees: ClassVar[type[UpdateRelease]] = UpdateRelease
    needs: ClassVar[tuple[str, ...]] = ("own",)
    source: ClassVar[str] = "Wu et al. 2022 (Learning to Invert); kernel regression in place of a network is ours"

    images: int = 4000
    """Own images that are learned from, at most."""
    updates: int | None = None
    """How many updates are attacked, the first ones; None: all."""

    def seek(self, release: UpdateRelease, chance: Randomness) -> Evidence:
        """Learn for every model, and invert its updates."""
        count = attacked(self.updates, release.size())
        assert release.own is not None  # noqa: S101 (`needs`)
        own = labelled(release.own.take(slice(0, self.images)), release.classes, chance)
        pixels = own.pixels().flatten(1)
        guesses, errors = [], []
        several = len(release.models) > 1
        for numbers in [[number] for number in range(count)] if several else [list(range(count))]:
            made = own_updates(release.scheme, release.model(numbers[0]), own, chance)
            features, seen = features_of(made)
            fitted = fit_best(seen, pixels, CHOOSING)
            guesses.append(fitted.ridge(torch.stack([features(release.updates[number]) for number in numbers])))
            errors.append(float(fitted.errors.square().mean()))
        images = torch.cat(guesses).float().view(count, *release.shape)
        limits = pixel_limits(release.normalisation, release.shape)
        images = images if limits is None else images.clamp(*limits)
        remarks = {
            "own images": len(own),
            "mean squared error on own images, left out": round(sum(errors) / len(errors), 4),
            "mean squared error of their mean image": round(float((pixels - pixels.mean(0)).square().mean()), 4),
        }
        return Evidence((Reconstruction(images, torch.arange(count), "batches"),), remarks)

    def refuses(self, release: UpdateRelease) -> Refusal | None:
        """Refuse what is no number, updates of several images or of encodings, and own images that do not serve."""
        if (reason := not_finite(release)) is not None:
            return reason
        if release.scheme.encoding is not None:
            return Refusal(Reason.ENCODED_IMAGES)
        if release.scheme.scaled:
            return unknown_work(release)
        if (together := largest_size(release)) > 1:
            return Refusal(Reason.SEVERAL_IMAGES, {"given": together})
        return without_own_images(release, FEWEST)

    def work(self, task: Task) -> float:
        """Count own gradients, kernels, and what solving takes."""
        own = float(min(self.images, max(task.own, FEWEST)))
        few, features = min(own, CHOOSING), min(task.parameters, FEATURES)
        made = own * (PASSES * task.network + 10 * TOUCH * task.parameters)
        kernels = (own**2 + len(WIDTHS) * len(RIDGES) * few**2) * (features + 10 * TOUCH)
        solved = DOUBLE * (
            (own**3 + own**2 * task.pixels) + len(WIDTHS) * len(RIDGES) * (few**3 + few**2 * task.pixels)
        )
        return made + kernels + solved

    def within(self, work: float, task: Task) -> Self:
        """Learn from fewer images."""
        return replace(
            self, images=largest(lambda images: replace(self, images=images).work(task), FEWEST, self.images, work)
        )


@dataclass(frozen=True)
class Features:
    """The numbers that an update is compared by."""

    sizes: Mapping[str, float]
    """The root mean square of each tensor."""
    places: Int[Tensor, " entries"] | None
    """The sum that each entry is added to; None: there are few entries, and each is by itself."""
    signs: Float[Tensor, " entries"] | None

    def __call__(self, update: State) -> Float[Tensor, " features"]:
        """Compress."""
        parts = [
            each.sign() * (each.abs() / self.sizes[name]).sqrt() / each.numel() ** 0.5 for name, each in update.items()
        ]
        entries = torch.cat([part.flatten() for part in parts])
        if self.places is None or self.signs is None:
            return entries
        return torch.zeros(FEATURES).index_add_(0, self.places, entries * self.signs)


def features_of(updates: Iterator[State]) -> tuple[Features, Float[Tensor, "n features"]]:
    """Take the sizes of tensors from the first updates, and give the features of all."""
    first = list(islice(updates, SIZES))
    sizes = {
        name: float(torch.stack([each[name].square().mean() for each in first]).mean().sqrt()) or 1.0
        for name in first[0]
    }
    entries, chance = sum(each.numel() for each in first[0].values()), seeded(15)
    if entries > FEATURES:
        places, signs = chance.integers(FEATURES, entries), chance.signs(entries).float()
        features = Features(sizes, places, signs)
    else:
        features = Features(sizes, None, None)
    return features, torch.stack([features(each) for each in chain(first, updates)])


def unknown_work(release: UpdateRelease) -> Refusal:
    """Refuse updates whose like cannot be made, since it is not known how."""
    return Refusal(Reason.UNKNOWN_WORK, {"parts": " and the ".join(release.scheme.work.unknown)})


def without_own_images(release: UpdateRelease, fewest: int) -> Refusal | None:
    """Refuse own images that are too few, or of another kind."""
    own = release.own
    if own is None:
        return Refusal(Reason.NO_OWN_IMAGES)
    if own.shape != release.shape or own.normalisation != release.normalisation:
        facts: dict[str, int | str] = {"given": describe_shape(own.shape), "wanted": describe_shape(release.shape)}
        return Refusal(Reason.UNSUITED_OWN_IMAGES, facts)
    return Refusal(Reason.TOO_FEW_OWN_IMAGES, {"given": len(own), "wanted": fewest}) if len(own) < fewest else None
