"""How exactly rows and labels are shared: what is left of a number once it is rounded, or drawn by chance."""

from dataclasses import dataclass
from typing import Final, Self

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.records import MixingEncoder, RowType, SharedLabels

GRID: Final = 10  # steps of 1 that rounded labels are multiples of: one decimal
MOST_STEPS: Final = 127  # of a row in int8, either way
LARGEST_HALF: Final = 65504.0  # the largest float16


@dataclass(frozen=True)
class Precision:
    """How exactly numbers are shared; `step` is the unit of rows in int8."""

    labels: SharedLabels = "exact"
    rows: RowType = "float32"
    step: float | None = None

    def __post_init__(self) -> None:
        if self.step is not None and not 0 < self.step < 1e30:
            raise BadInput(f"the step of int8 rows must be positive and finite, not {self.step}.")

    @classmethod
    def of(cls, scheme: MixingEncoder) -> Self:
        """Give how exactly a scheme shares its rows and labels."""
        return cls(scheme.label_kind, scheme.row_type, scheme.row_step)

    def round_rows(self, rows: Float[Tensor, "m c h w"], chance: Randomness) -> None:
        """Round rows in their place: to float16, or to whole steps, up or down by chance (dither).

        x/s becomes ⌊x/s + u⌋ with u even over [0, 1): the expectation is x/s, and the error tells nothing of x alone.
        """
        if self.rows == "float16":
            rows.copy_(rows.clamp(-LARGEST_HALF, LARGEST_HALF).half())
        elif self.rows == "int8":
            u = chance.uniforms(*rows.shape).float().to(rows.device)
            steps = rows.div(self._step()).add_(u).floor_().clamp_(-MOST_STEPS, MOST_STEPS)
            rows.copy_(steps.mul_(self._step()))

    def round_labels(self, labels: Float[Tensor, "m classes"], chance: Randomness) -> Float[Tensor, "m classes"]:
        """Round mixed labels to one decimal, or draw one class in proportion to their weights.

        Rounded labels keep their mass, to a decimal: of the steps that rounding down leaves, one each goes to the
        classes that lost most. A class that was drawn has the label 1, in schemes with public images too.
        """
        if self.labels in ("exact", "noisy") or not labels.numel():
            return labels
        exact = labels.double()
        if self.labels == "rounded":
            steps = exact.mul(GRID)
            least = steps.add(1e-6).floor()
            left = (steps.sum(1).round() - least.sum(1)).long()
            rank = (steps - least).argsort(1, descending=True).argsort(1)
            return least.add_(rank < left[:, None]).div_(GRID).float()
        total = exact.cumsum(1)
        place = chance.uniforms(len(labels)).to(labels.device) * total[:, -1]
        drawn = (total <= place[:, None]).sum(1).clamp_max(labels.shape[1] - 1)
        one = torch.zeros_like(labels)
        one[torch.arange(len(labels)), drawn] = (total[:, -1] > 0).float()
        return one

    def stored(self, rows: Float[Tensor, "m c h w"]) -> Shaped[Tensor, "m c h w"]:
        """Give rounded rows as they are written: in float16, or as whole steps."""
        if self.rows == "int8":
            return rows.div(self._step()).round_().to(torch.int8)
        return rows.half() if self.rows == "float16" else rows

    def restored(self, rows: Shaped[Tensor, "m c h w"]) -> Float[Tensor, "m c h w"]:
        """Give rows, as they are written, as floats again."""
        return rows.float().mul_(self._step()) if self.rows == "int8" else rows.float()

    def _step(self) -> float:
        if self.step is None:
            raise BadInput("rows in int8 need a step, and the scheme states none: get the release again.")
        return self.step
