"""How many images an update is of, where nobody says: from ranks, and from labels, which come in whole numbers.

A gradient ∂L/∂W = mean_i Σ_q δ_iq h_iq' has at most the rank of n images times the places q: one of a dense layer,
those of its output of a convolution, whose h are unfolded. And a class whose entry of the head's bias gradient is
negative is there: both are the least that a batch can be. The mean label ȳ = p̄ − ∂L/∂b
consists of multiples of 1 / n. With the deviation s of the softmax of an image, ȳ is known to s / √n, so that
P(ȳ | n) = N(ȳ; c / n, s² / n) / C(n + classes − 1, classes − 1), where c are the nearest counts, and all counts of n
labels are as likely. Counts with a common divisor are those of a smaller batch too: the least that the rank allows is
taken.
Source: ranks as in Dimitrov et al. 2024 (SPEAR); whole numbers: hideseek.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from hideseek.records.allowed_update import AllowedUpdate
from hideseek.train.gradients import explained

RANK = 1e-6  # of the largest singular value: rounding in float32 is some 1e-8
MOST = 256  # images of a batch that is estimated
LIKELY = 0.9  # the probability from which on a size is said to be more than the least one
DEVIATIONS = 4.0  # of noise that an entry must be below zero by, for its class to be there
FINEST = 1e-8  # the least variance of a mean label: that of float32, and of probes


@dataclass(frozen=True)
class BatchSize:
    """The images of an update, and where the number is from."""

    count: int
    how: str
    known: bool = False
    """Whether it was told."""
    likely: bool = False
    """Whether it is the number itself, as estimated, and not the least that it can be."""

    def said(self) -> str:
        """Say it in words.

        >>> BatchSize(9, "the rank of the gradient of head").said()
        'at least 9, by the rank of the gradient of head'
        """
        if self.known:
            return f"{self.count}, as told"
        return f"{'estimated as' if self.likely else 'at least'} {self.count}, by {self.how}"


def least_size(
    network: nn.Module,
    shape: tuple[int, int, int],
    allowed: AllowedUpdate,
    head: str | None,
    *,
    one_gradient: bool = True,
) -> BatchSize:
    """Give the least that a batch can be, by one gradient that was sent as it was; else by the classes in it.

    Pruned, rounded and noisy gradients have ranks of their own, and after several steps a rank counts images once for
    every time that they were seen.
    """
    found = BatchSize(1, "nothing that is left of the update")
    if allowed.points and not allowed.noise and one_gradient:
        by_layer = _least_by_layer(network, shape, allowed.low)
        name = max(by_layer, key=lambda layer: by_layer[layer], default="")
        found = BatchSize(by_layer[name], f"the rank of the gradient of {name}") if by_layer.get(name) else found
    if head is not None:
        there = int((allowed.high[f"{head}.bias"] < -DEVIATIONS * allowed.noise).sum())
        found = BatchSize(there, f"the classes that pull on {head}.bias") if there > found.count else found
    return found


def whole_size(
    mean: Float[Tensor, " classes"], variance: Float[Tensor, " classes"], bias: float, least: int
) -> tuple[int, float]:
    """Give the likeliest number of hard labels of a mean, and its probability.

    `variance` is that of the softmax of one image, `bias` the square of what all of them may be off by.
    """
    sizes = list(range(max(1, least), max(MOST, least) + 1))
    scores, reduced = [], []
    for size in sizes:
        counts = whole_counts(mean, size)
        spread = variance / size + bias + FINEST
        fit = -0.5 * ((mean - counts / size).square() / spread + spread.log()).sum()
        scores.append(float(fit) - _log_ways(size, len(mean)))
        reduced.append(_reduced(counts, size, least))
    shares = torch.tensor(scores, dtype=torch.float64).softmax(0)
    votes: dict[int, float] = {}
    for size, share in zip(reduced, shares.tolist(), strict=True):
        votes[size] = votes.get(size, 0.0) + share
    best = max(votes, key=lambda size: votes[size])
    return best, votes[best]


def whole_counts(mean: Float[Tensor, " classes"], rows: int) -> Int[Tensor, " classes"]:
    """Round a mean of labels to whole ones, the largest remainders up.

    >>> whole_counts(torch.tensor([0.5, 0.3, 0.2]), 4).tolist()
    [2, 1, 1]
    """
    wanted = mean * rows
    whole = wanted.floor()
    rest = rows - int(whole.sum())
    whole[(wanted - whole).argsort(descending=True, stable=True)[:rest]] += 1
    return whole.long()


def _reduced(counts: Tensor, size: int, least: int) -> int:
    """Give the smallest batch with counts in these proportions that has the least size."""
    common = math.gcd(*counts.tolist())
    return next(size // part for part in range(common, 0, -1) if common % part == 0 and size // part >= least)


def _log_ways(size: int, classes: int) -> float:
    """Count the ways to divide labels among classes, as a logarithm."""
    return math.lgamma(size + classes) - math.lgamma(size + 1) - math.lgamma(classes)


def _least_by_layer(network: nn.Module, shape: tuple[int, int, int], update: Mapping[str, Tensor]) -> dict[str, int]:
    """Give, for layers that may tell more than others, the rank by the number of places in an image."""
    places: dict[str, int] = {}

    def keeper(name: str) -> Callable[[nn.Module, object, Tensor], None]:
        def keep(layer: nn.Module, _: object, out: Tensor) -> None:
            places[name] = places.get(name, 0) + out[0].numel() // len(layer.weight)  # type: ignore[arg-type]

        return keep

    handles = [
        layer.register_forward_hook(keeper(name))
        for name, layer in network.named_modules()
        if isinstance(layer, (nn.Linear, nn.Conv2d)) and f"{name}.weight" in update
    ]
    was_training, some = network.training, next(network.parameters())
    try:
        with torch.no_grad(), explained():
            network.eval()(torch.zeros(1, *shape).to(some))
    finally:
        network.train(was_training)
        for handle in handles:
            handle.remove()
    found: dict[str, int] = {}
    tensors = {name: update[f"{name}.weight"].flatten(1) for name in places}
    times = {name: max(1, count * getattr(network.get_submodule(name), "groups", 1)) for name, count in places.items()}
    most = {name: -(-min(tensor.shape) // times[name]) for name, tensor in tensors.items()}
    for name in sorted(most, key=lambda name: -most[name]):
        if most[name] > max(found.values(), default=0):  # else it tells no more
            found[name] = -(-_rank(tensors[name]) // times[name])
    return found


def _rank(tensor: Tensor) -> int:
    """Count singular values that are more than rounding."""
    if not bool(tensor.isfinite().all()):
        return 0
    tensor = tensor.double() if tensor.shape[0] <= tensor.shape[1] else tensor.double().T
    squares = torch.linalg.eigvalsh(tensor @ tensor.T)  # in double precision, good to 1e-8 of the largest value
    return int((squares > RANK**2 * squares[-1].clamp_min(1e-300)).sum())
