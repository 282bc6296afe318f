"""A small exact attack on updates of a linear classifier, where ∂L/∂W_c = Σ_i δ_ic x_i / n and ∂L/∂b_c = Σ_i δ_ic / n.

A batch of one image shows it as the ratio of both, for any class; of a larger one, the row of a class shows mostly
the images of that class.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch

from hideseek.chance import Randomness
from hideseek.records import Attack, Evidence, Reason, Reconstruction, Refusal, Task
from hideseek.records.update_release import UpdateRelease


@dataclass(frozen=True)
class LinearRatio(Attack[UpdateRelease]):
    """Divide the gradient of each class's weights by that of its bias."""

    sees: ClassVar = UpdateRelease
    source: ClassVar = "Phong et al. 2017"

    def seek(self, release: UpdateRelease, chance: Randomness) -> Evidence:
        images, about = [], []
        for number, update in enumerate(release.updates):
            weight, bias = update["head.weight"], update["head.bias"]
            size = 1 if release.sizes is None else release.sizes[number]
            classes = bias.abs().argsort(descending=True)[: min(size, len(bias))]
            ratio = weight[classes] / torch.where(bias[classes] == 0, 1e-12, bias[classes])[:, None]
            images.append(ratio.clamp(-1e6, 1e6).view(-1, *release.shape))
            about += [number] * len(classes)
        return Evidence((Reconstruction(torch.cat(images), torch.tensor(about), "batches"),))

    def refuses(self, release: UpdateRelease) -> Refusal | None:
        fits = {"head.weight", "head.bias"} == set(release.updates[0])
        return None if fits else Refusal(Reason.OTHER_KIND, {"wanted": "linear", "given": release.models[0].name})

    def work(self, task: Task) -> float:
        return task.items * task.parameters


@dataclass(frozen=True)
class ServerRatio(LinearRatio):
    """The same, for a server that keeps all rounds."""

    needs: ClassVar = ("round_of",)


@dataclass(frozen=True)
class StrongestRatio(LinearRatio):
    """The same, for one who knows labels."""

    needs: ClassVar = ("labels",)
