"""What stronger attackers know of updates, computed from their rows again when it is asked for."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from hideseek.records import Samples
from hideseek.records.shared_model import SharedModel
from hideseek.records.update_encoder import Mode
from hideseek.train.batch_statistics import Statistics, batch_statistics


@dataclass(frozen=True)
class Recomputed:
    """The rows of every update, and the model that they changed."""

    model: SharedModel
    mode: Mode
    rows: tuple[Samples, ...]

    def __call__(self, field: str) -> Any:
        """Give the labels of each update's rows, or the statistics of its batch-norm layers."""
        return {"labels": self.labels, "statistics": self.statistics}[field]()

    def labels(self) -> tuple[Tensor, ...]:
        """Give labels, soft ones where rows are mixtures."""
        return tuple(rows.labels for rows in self.rows)

    def statistics(self) -> tuple[Statistics, ...]:
        """Give what batch norm saw of all rows of an update, at the start."""
        network = self.model.network().train(self.mode == "train")
        return tuple(batch_statistics(network, rows.pixels()) for rows in self.rows)
