"""The options that say how exactly rows and labels are shared, for all verbs that name a scheme."""

from dataclasses import dataclass
from typing import Annotated

from tyro.conf import arg

from hideseek.hide import Coarse, RecipeEncoder
from hideseek.records import LabelKind, RowType


@dataclass(frozen=True)
class Shared:
    """How exactly rows and labels are shared."""

    labels: Annotated[LabelKind, arg(metavar="HOW")] = "exact"
    """Exact, rounded (to a decimal), or drawn (one class, by weight)."""
    rows: Annotated[RowType, arg(metavar="TYPE")] = "float32"
    """float32, float16, or int8, rounded up or down by chance."""

    def of(self, scheme: RecipeEncoder) -> RecipeEncoder:
        """Give a scheme that shares its rows and labels so, unless it says itself how."""
        return scheme if self == Shared() or isinstance(scheme, Coarse) else Coarse(scheme, self.labels, self.rows)


def apart(scheme: RecipeEncoder) -> tuple[RecipeEncoder, Shared]:
    """Give a scheme without how exactly its rows and labels are shared, and that."""
    return (scheme.scheme, Shared(scheme.labels, scheme.rows)) if isinstance(scheme, Coarse) else (scheme, Shared())
