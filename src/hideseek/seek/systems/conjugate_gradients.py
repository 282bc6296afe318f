"""P x = b by conjugate gradients, for many columns at once, where P is known by its products alone."""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor

TINY = 1e-30  # where nothing is left


def descended(
    product: Callable[[Tensor], Tensor],
    diagonal: Float[Tensor, "n ..."],
    left: Float[Tensor, "n ..."],
    found: Float[Tensor, "n ..."],
    steps: int,
) -> Float[Tensor, "n ..."]:
    """Take some steps from `found`, where `left` is b − P x; the diagonal of P scales them."""
    scaled = left / diagonal
    direction, size = scaled, (left * scaled).sum(0)
    for _ in range(steps):
        image = product(direction)
        step = size / (direction * image).sum(0).clamp_min(TINY)
        found, left = found + step * direction, left - step * image
        scaled = left / diagonal
        before, size = size, (left * scaled).sum(0)
        direction = scaled + size / before.clamp_min(TINY) * direction
    return found
