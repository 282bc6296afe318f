"""Images of updates of a model that holds an imprint: found in its weights, named, and used."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.models.imprint_bins import bin_contents, imprint_order, of_bytes
from hideseek.progress import track
from hideseek.records import Attack, Evidence, Reason, Reconstruction, Refusal, Refused, Task
from hideseek.records.update_release import UpdateRelease
from hideseek.seek.updates.finite import not_finite
from hideseek.seek.work import TOUCH
from hideseek.train.first_dense import FirstDense, first_dense

OVER_LAYER = 25  # passes over the layer's gradient, for each update


@dataclass(frozen=True)
class Imprint(Attack[UpdateRelease]):
    """Take differences of neighbouring bins of an imprint layer (Fowl et al. 2022, Robbing the Fed).

    x = (∂L/∂W_{i+1} − ∂L/∂W_i) / (∂L/∂b_{i+1} − ∂L/∂b_i), where one image lies between the biases of these two neurons.
    The layer is recognised by its weights alone: rows that are all multiples of one, under graded biases; an honest
    network has no such layer, so that its finding is itself a warning to the client. An image is certified if it
    belongs into its bin, and is no mixture: there are as many bins in use as images, or it consists of bytes.
    """

    sees: ClassVar = UpdateRelease
    source: ClassVar = "Fowl et al. 2022 (Robbing the Fed); its recognition and certificates: hideseek"
    alarm: ClassVar = (
        "The model that the server sent holds an imprint layer: it copies single images into updates, and no honest"
        " network has one. This is an attack on the client (Fowl et al. 2022): do not train this model."
    )

    def seek(self, release: UpdateRelease, chance: Randomness) -> Evidence:
        """Solve each update by itself."""
        if (reason := self.refuses(release)) is not None:
            raise Refused(reason)
        images, about, sure, bins = [], [], [], 0
        layer, weights, order = _imprint(release, 0)
        for number, update in enumerate(track(release.updates, "imprint")):
            if number and len(release.models) > 1:
                layer, weights, order = _imprint(release, number)
            if not isinstance(layer, FirstDense) or order is None:
                continue
            matrix = layer.matrix(update)
            if not bool(matrix.any()):
                continue
            inputs, fits = bin_contents(matrix, weights, order)
            size = None if release.sizes is None else release.sizes[number]
            guesses = layer.images(inputs, release.shape)
            single = of_bytes(guesses, release.normalisation) | (len(inputs) == size)
            single &= not release.scheme.defences  # which make zeros, and zeros are bytes
            kept = torch.arange(len(inputs)) if size is None else (fits & single).long().argsort(descending=True)[:size]
            bins += len(inputs)
            images.append(guesses[kept])
            sure.append((fits & single)[kept])
            about += [number] * len(kept)
        if not about:
            raise Refused(Refusal(Reason.EMPTY_UPDATES, {"layer": getattr(layer, "name", "")}))
        remarks = {
            "imprint layer": getattr(layer, "name", ""),
            "bins in use": bins,
            "certified": int(torch.cat(sure).sum()),
            **({"warning": self.alarm} if self.alarm else {}),
        }
        return Evidence((Reconstruction(torch.cat(images), torch.tensor(about), "batches", torch.cat(sure)),), remarks)

    def refuses(self, release: UpdateRelease) -> Refusal | None:
        """Refuse models without an imprint, and updates that hold what is no number."""
        layer = first_dense(release.models[0], release.shape, release.scheme.mode)
        if isinstance(layer, str):
            return Refusal(Reason.NO_IMPRINT)
        honest = imprint_order(layer.matrix(release.models[0].state)) is None
        return Refusal(Reason.NO_IMPRINT) if honest else not_finite(release)

    def work(self, task: Task) -> float:
        """Count passes over the layer."""
        return task.items * 1000.0 * task.pixels * OVER_LAYER * TOUCH


@dataclass(frozen=True)
class CraftedImprint(Imprint):
    """The same by a server that put an imprint in front of the model, and got updates of that (Fowl et al. 2022)."""

    needs: ClassVar = ("crafted",)
    alarm: ClassVar = ""  # the imprint is of the attacker whom the audit plays

    def seek(self, release: UpdateRelease, chance: Randomness) -> Evidence:
        """Attack the updates of the crafted model."""
        if release.crafted is None:
            raise Refused(Refusal(Reason.MISSING_FIELDS, {"fields": "crafted"}))
        return super().seek(release.crafted, chance)

    def refuses(self, release: UpdateRelease) -> Refusal | None:
        """Refuse crafted models without an imprint; who has none is told what is missing."""
        return None if release.crafted is None else super().refuses(release.crafted)


def _imprint(release: UpdateRelease, number: int) -> tuple[FirstDense | str, Tensor, Tensor | None]:
    """Give the first dense layer of the model of an update, its weights, and the order of its bins, if it has some."""
    layer = first_dense(release.model(number), release.shape, release.scheme.mode)
    if isinstance(layer, str):
        return layer, torch.empty(0), None
    weights = layer.matrix(release.model(number).state)
    return layer, weights, imprint_order(weights)
