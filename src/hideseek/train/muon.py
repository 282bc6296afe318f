"""Muon (Jordan 2024): momentum whose steps are orthogonal matrices, for the kernels of convolutions."""

from collections.abc import Callable, Iterable

import torch
from jaxtyping import Float
from torch import Tensor, nn

QUINTIC = (3.4445, -4.7750, 2.0315)
TIMES = 5
SMALLEST = 1e-7  # norm that a matrix is divided by


class Muon(torch.optim.Optimizer):
    """Move a kernel W, one row for each output channel, by the orthogonal factor of its momentum.

    B ← μB + G, O = orthogonal(G + μB), W ← (1 − ηδ) W − η √max(1, rows / columns) O. A step down the gradient moves
    the few directions in which gradients are long, and hardly the others; this one moves all of them equally far, so
    that a short training gets further. Biases, BatchNorm and dense layers take steps of SGD: B ← μ₂B + G + δ₂W,
    W ← W − η₂B. A dense layer is often so wide that its orthogonal factor takes longer than its gradient.

    Deviation: torch.optim.Muon takes matrices alone, and computes in bfloat16, which few processors have.
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        rate: float,
        momentum: float,
        decay: float,
        others: tuple[float, float, float],
    ) -> None:
        kernels: list[nn.Parameter] = []
        rest: list[nn.Parameter] = []
        for parameter in parameters:
            (kernels if parameter.ndim == 4 else rest).append(parameter)
        own = {"params": kernels, "momentum": momentum, "decay": decay, "orthogonal": True, "ratio": 1.0}
        other_rate, other_momentum, other_decay = others
        plain = {"momentum": other_momentum, "decay": other_decay, "orthogonal": False, "ratio": other_rate / rate}
        super().__init__([group for group in (own, {"params": rest, **plain}) if group["params"]], {"lr": rate})
        for group in self.param_groups:
            group["lr"] = rate * group["ratio"]

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Take a step by the gradients that are there."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._move(parameter, parameter.grad, group)

    def _move(self, parameter: nn.Parameter, gradient: Tensor, group: dict[str, float]) -> None:
        """Move one parameter."""
        state, rate, momentum = self.state[parameter], group["lr"], group["momentum"]
        if not group["orthogonal"]:
            gradient = gradient.add(parameter, alpha=group["decay"])
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(parameter)
        speed = state["momentum_buffer"].mul_(momentum).add_(gradient)
        if not group["orthogonal"]:
            parameter.add_(speed, alpha=-rate)
            return
        rows, columns = len(parameter), parameter[0].numel()
        step = orthogonal(gradient.add(speed, alpha=momentum).flatten(1)).view_as(parameter)
        parameter.mul_(1 - rate * group["decay"]).add_(step, alpha=-rate * max(1.0, rows / columns) ** 0.5)


def orthogonal(matrix: Float[Tensor, "m n"]) -> Float[Tensor, "m n"]:
    """Give nearly U Vᵀ of the singular value decomposition U S Vᵀ: five times X ← (a + b XXᵀ + c (XXᵀ)²) X.

    X begins as the matrix over its norm. The polynomial a s + b s³ + c s⁵ takes every singular value that is not
    almost 0 to between 0.7 and 1.2, which is near enough. The factors are multiplied up among the products XXᵀ, which
    are smaller than X: two products with X itself are enough.
    """
    a, b, c = QUINTIC
    tall = matrix.shape[0] > matrix.shape[1]
    wide = matrix.T if tall else matrix
    wide = wide / wide.norm().clamp_min(SMALLEST)
    square = wide @ wide.T
    identity = torch.eye(len(square), device=square.device, dtype=square.dtype)
    factors = identity
    for time in range(TIMES):
        factor = a * identity + b * square + c * square @ square
        factors = factor @ factors if time else factor
        if time + 1 < TIMES:
            square = factor @ square @ factor
    found: Tensor = factors @ wide
    return found.T if tall else found
