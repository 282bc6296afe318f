"""What stronger attackers know of updates, computed from their rows again when it is asked for."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import Tensor

from hideseek.chance import secure, seeded
from hideseek.models.imprint import imprinted
from hideseek.records import Samples
from hideseek.records.shared_model import SharedModel
from hideseek.records.update_encoder import Mode, UpdateEncoder
from hideseek.records.update_release import UpdateRelease
from hideseek.train.batch_statistics import Statistics, batch_statistics

MEAN_PIXEL = {"none": (0.47, 0.12), "channel": (0.0, 0.5), "image": (0.0, 1e-3)}
"""The mean and deviation of photographs' mean pixel, as they are normalised: what anybody knows of them."""


@dataclass(frozen=True)
class Recomputed:
    """The rows of every update, and the model that they changed."""

    model: SharedModel
    mode: Mode
    rows: tuple[Samples, ...]
    scheme: UpdateEncoder | None = None
    seed: int | None = None
    """Of the release, where all of it was drawn from one: defences of a crafted model's updates are too."""

    def __call__(self, field: str) -> Any:
        """Give the labels of each update's rows, what batch norm saw of them, or updates of a crafted model."""
        return {"labels": self.labels, "statistics": self.statistics, "crafted": self.crafted}[field]()

    def labels(self) -> tuple[Tensor, ...]:
        """Give labels, soft ones where rows are mixtures."""
        return tuple(rows.labels for rows in self.rows)

    def statistics(self) -> tuple[Statistics, ...]:
        """Give what batch norm saw of all rows of an update, at the start."""
        network = self.model.network().train(self.mode == "train")
        return tuple(batch_statistics(network, rows.pixels()) for rows in self.rows)

    def crafted(self) -> UpdateRelease | None:
        """Give updates of the same rows, defended alike, for the same model behind an imprint."""
        if self.scheme is None or not self.rows:
            return None
        shape, normalisation = self.rows[0].shape, self.rows[0].normalisation
        middle, spread = MEAN_PIXEL[normalisation.kind]
        make = partial(imprinted, self.model.build, shape, middle, spread)
        rest = {f"rest.{name}": tensor for name, tensor in self.model.state.items()}
        model = SharedModel(f"{self.model.name} behind an imprint", make, {**make().state_dict(), **rest})
        chance = secure() if self.seed is None else seeded(self.seed)
        sent = [self.scheme.update(model, rows, chance) for rows in self.rows]
        return UpdateRelease(
            tuple(update for update, _ in sent),
            (model,),
            self.scheme,
            shape,
            self.rows[0].labels.shape[1],
            normalisation,
            tuple(len(rows) for rows in self.rows),
            tuple(buffers for _, buffers in sent) if self.scheme.sends == "weights" else None,
        )
