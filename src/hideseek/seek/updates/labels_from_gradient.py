"""Which labels the images of an update have, from the gradient of the last layer."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from hideseek.chance import Randomness
from hideseek.progress import track
from hideseek.records import Attack, Evidence, Labels, Reason, Refusal, Refused, Task
from hideseek.records.result import Harm
from hideseek.records.update_release import UpdateRelease
from hideseek.seek.run import check
from hideseek.seek.systems.head_labels import PROBES, HeadLabels, HeadReader, head_of
from hideseek.seek.updates.finite import not_finite
from hideseek.seek.work import CALL, TOUCH


@dataclass(frozen=True)
class LabelsFromGradient(Attack[UpdateRelease]):
    """Read labels off the head's gradient: exactly for one image, mixed labels too; how many of each class for several.

    ∂L/∂b = Σ_i (p_i − y_i) / n and ∂L/∂W = Σ_i (p_i − y_i) h_i' / n, with the model's answers p_i and what the layer
    takes in, h_i. For one hard label this is the sign of the bias gradient (Zhao et al. 2020, iDLG).
    """

    sees: ClassVar = UpdateRelease
    source: ClassVar = "Zhao et al. 2020 (iDLG); Yin et al. 2021; Geng et al. 2021; soft labels: hideseek"
    shows: ClassVar = Harm.PARTS

    def seek(self, release: UpdateRelease, chance: Randomness) -> Evidence:
        """Solve each update by itself."""
        check(self, release)
        found: list[tuple[int, HeadLabels]] = []
        head, reader = None, HeadReader(release)
        for number, update in enumerate(track(release.updates, "labels")):
            if (head := reader.head(number)) is None:
                raise Refused(Refusal(Reason.NO_HEAD))
            bias = update[f"{head}.bias"]
            if bool(bias.isfinite().all()) and bool(bias.any()):
                found.append((number, reader.labels(number, head)))
        if not found:
            raise Refused(Refusal(Reason.EMPTY_UPDATES, {"layer": str(head)}))
        hard = release.scheme.encoding is None
        shares = torch.stack([each.counts() / each.rows if hard else each.mean for _, each in found])
        remarks: dict[str, Any] = {"head": head, "exact": sum(each.exact for _, each in found)}
        if release.sizes is None:
            remarks["batch sizes"] = reader.said(len(release.updates))
        return Evidence((Labels(torch.tensor([number for number, _ in found]), shares.float()),), remarks)

    def refuses(self, release: UpdateRelease) -> Refusal | None:
        """Refuse networks whose logits come from no dense layer with a bias, and states after steps of no numbers."""
        if head_of(release.models[0], release.shape, release.scheme.mode) is None:
            return Refusal(Reason.NO_HEAD)
        moved = release.scheme.sends == "weights" and not release.scheme.work.one_gradient
        return not_finite(release) if moved else None  # what the model says after the steps takes all of its tensors

    def work(self, task: Task) -> float:
        """Count what the model is asked about once, and calls for every update."""
        return PROBES * max(task.network, 100 * task.pixels) + task.items * (100 * CALL + TOUCH * task.parameters)
