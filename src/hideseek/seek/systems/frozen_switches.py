"""ReLUs and max-poolings that keep the choices of an earlier pass: a network is smooth in its weights then."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

RECTIFIERS = ("relu", "relu_")
POOLING = "max_pool2d"


class KeptSwitches(TorchFunctionMode):
    """Take note of which units of every ReLU are on, and which pixel every max-pooling takes."""

    def __init__(self) -> None:
        super().__init__()
        self.choices: list[Tensor] = []

    def __torch_function__(
        self, func: Any, types: Iterable[type], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Note a choice, and go on."""
        given = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        if name in RECTIFIERS:
            found = func(*args, **given)
            self.choices.append(found.detach())  # units that are on are above zero
            return found
        if name == POOLING:
            given["return_indices"] = True
            found, places = func(*args, **given)
            self.choices.append(places)
            return found
        return func(*args, **given)


class FrozenSwitches(TorchFunctionMode):
    """Take the choices of an earlier pass over images of the same shape, in their order."""

    def __init__(self, choices: Iterable[Tensor]) -> None:
        super().__init__()
        self._choices = iter(choices)

    def __torch_function__(
        self, func: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # fmt: skip
        """Put the earlier choice in the place of a new one."""
        name = getattr(func, "__name__", "")
        if name in RECTIFIERS:
            return torch.ops.aten.threshold_backward(args[0], next(self._choices), 0)  # the fastest product with a mask
        if name == POOLING:
            places = next(self._choices)
            return args[0].flatten(2).gather(2, places.flatten(2)).view(places.shape)
        return func(*args, **(kwargs or {}))
