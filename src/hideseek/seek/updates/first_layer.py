"""The images of an update from the gradient of a first dense layer: exact, and certified without the truth."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.progress import track
from hideseek.records import Attack, Evidence, Reason, Reconstruction, Refusal, Refused, Task
from hideseek.records.update_release import UpdateRelease
from hideseek.seek.run import check
from hideseek.seek.systems.completion import completed
from hideseek.seek.systems.layer_images import LayerImages, layer_images
from hideseek.seek.systems.mixed_inputs import mixed_inputs
from hideseek.seek.work import DOUBLE, eigendecomposition, largest
from hideseek.train.first_dense import FirstDense, first_dense

PRUNING = "gradient-pruning"
EXACT = (PRUNING,)  # defences that leave numbers as they were
FILLS, FILLED = 30, 1e-4  # steps of filling in what was pruned, and the error from which on it has failed
TRIED = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)  # sizes of a pruned batch that nobody told
NEURONS = 1000  # of a first layer, where work is planned
GUESSES = 80  # of a round of the search, and steps of each
STEPS = 60


@dataclass(frozen=True)
class FirstLayer(Attack[UpdateRelease]):
    """Read images off the gradient of the first dense layer, [∂L/∂W | ∂L/∂b] = Σ_i δ_i (x_i, 1)'.

    One image: every row is a multiple of (x, 1) (Phong et al. 2017). Several, behind a ReLU: the rank is their number;
    neurons that fire for one image alone are peeled off one after the other, as LT codes are decoded; for the rest,
    sparse vectors of the columns are looked for (SPEAR, Dimitrov et al. 2024), from guesses of the images, which
    name neurons that are likely silent. An image is certified if the layer, given the image, is silent where its
    share of the gradient is zero. The same holds of the sum of several local steps, and whatever layers follow.
    """

    sees: ClassVar = UpdateRelease
    source: ClassVar = "Phong et al. 2017; Dimitrov et al. 2024 (SPEAR); search from guesses: hideseek"

    rounds: int = 16
    """Of the search for sparse vectors."""

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise BadInput(f"rounds must be 1 or more, not {self.rounds}.")

    def seek(self, release: UpdateRelease, chance: Randomness) -> Evidence:
        """Solve each update by itself."""
        check(self, release)
        images, about, sure, found = [], [], [], []
        layer = _layer(release, 0)
        for number, update in enumerate(track(release.updates, "first layer")):
            layer = layer if len(release.models) == 1 else _layer(release, number)
            matrix = layer.matrix(update).double()
            if not bool(matrix.isfinite().all()) or not bool(matrix.any()):
                continue
            one = self._solved(release, number, layer, matrix, chance)
            wanted = len(one.inputs)
            if release.sizes is not None:
                wanted = release.sizes[number]
            elif not wanted:
                wanted = release.scheme.work.images
            guessed = mixed_inputs(matrix, wanted - len(one.inputs))
            images.append(layer.images(torch.cat([one.inputs, guessed])[:wanted], release.shape))
            sure.append(torch.cat([one.sure, torch.zeros(len(guessed), dtype=torch.bool)])[:wanted])
            about += [number] * len(images[-1])
            found.append(one)
        if not images:
            raise Refused(Refusal(Reason.EMPTY_UPDATES, {"layer": layer.name}))
        claim = Reconstruction(torch.cat(images), torch.tensor(about), "batches", torch.cat(sure))
        return Evidence((claim,), self._remarks(release, layer, found, torch.cat(sure)))

    def _solved(
        self, release: UpdateRelease, number: int, layer: FirstDense, matrix: Tensor, chance: Randomness
    ) -> LayerImages:
        weights = layer.matrix(release.model(number).state)
        own = None if release.own is None else layer.inputs(release.own.pixels(), weights.shape[1])
        moved = release.scheme.sends == "weights"
        if not any(defence.mechanism == PRUNING for defence in release.scheme.defences):
            found = layer_images(matrix, weights, self.rounds, chance, own, moved=moved)
        else:
            known = matrix != 0
            told = TRIED if release.sizes is None else (release.sizes[number],)
            for size in told:  # the smallest rank that what is left fits
                whole, error = completed(matrix, known, min(size, len(matrix) - 1), FILLS)
                if error <= FILLED:
                    break
            else:
                return LayerImages(matrix[:0], torch.zeros(0, dtype=torch.bool), 0)
            found = layer_images(whole, weights, self.rounds, chance, own, moved=moved, filled=True)
            if bool((known.sum(0) < size).any()):  # pixels that no entry tells
                return replace(found, sure=torch.zeros_like(found.sure))
        exact = all(defence.mechanism in EXACT for defence in release.scheme.defences)
        return found if exact else replace(found, sure=torch.zeros_like(found.sure))

    def _remarks(
        self, release: UpdateRelease, layer: FirstDense, found: list[LayerImages], sure: Tensor
    ) -> dict[str, Any]:
        return {
            "layer": layer.name,
            "certified": int(sure.sum()),
            "peeled": sum(each.peeled for each in found),
            "searched": sum(each.searched for each in found),
            "batch sizes": "known" if release.sizes is not None else "estimated from the rank",
            "ranks": [each.rank for each in found],
        }

    def refuses(self, release: UpdateRelease) -> Refusal | None:
        """Refuse networks whose first layer is not dense."""
        layer = first_dense(release.models[0], release.shape, release.scheme.mode)
        return Refusal(Reason.NO_DENSE_INPUT, {"given": layer}) if isinstance(layer, str) else None

    def work(self, task: Task) -> float:
        """Count eigenvectors of each update's layer, and the steps of the search."""
        batch = max(1, task.images_per_item)
        matrix = eigendecomposition(NEURONS) + 3 * DOUBLE * NEURONS**2 * task.pixels
        search = self.rounds * GUESSES * STEPS * NEURONS / 2 * batch**2 if batch > 1 else 0
        return task.items * (matrix + search)

    def within(self, work: float, task: Task) -> Self:
        """Search for fewer rounds."""
        rounds = largest(lambda rounds: replace(self, rounds=rounds).work(task), 1, self.rounds, work)
        return replace(self, rounds=rounds)


def _layer(release: UpdateRelease, number: int) -> FirstDense:
    found = first_dense(release.model(number), release.shape, release.scheme.mode)
    if isinstance(found, str):
        raise Refused(Refusal(Reason.NO_DENSE_INPUT, {"given": found}))
    return found
