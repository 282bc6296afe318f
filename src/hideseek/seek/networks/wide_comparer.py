"""The comparer as published: a WideResNet on the absolute values of two rows, or of a row and three, stacked."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from hideseek.errors import BadInput
from hideseek.progress import track
from hideseek.records import Task
from hideseek.seek.work import TOUCH

PAIRS = 64  # of a step, half of which share an image
BLOCK = 512  # pairs that are scored together


@dataclass(frozen=True)
class WideResNet:
    """The size of a WideResNet (Zagoruyko and Komodakis 2016); 28 and 6 as published, for a GPU."""

    depth: int = 28
    """Layers: 6n + 4."""
    width: int = 6
    """Times 16 channels."""

    def __post_init__(self) -> None:
        if self.depth < 10 or self.depth % 6 != 4 or self.width < 1:
            raise BadInput("the depth must be 6n + 4 with n of 1 or more, and the width 1 or more.")

    @property
    def blocks(self) -> list[tuple[int, int, int]]:
        """Give channels before and after, and the stride, of every block."""
        found, before = [], 16
        for stage in range(3):
            after = 16 * self.width << stage
            for number in range((self.depth - 4) // 6):
                found.append((before, after, 2 if stage and not number else 1))
                before = after
        return found

    def forward_work(self, task: Task, stacked: int) -> float:
        """Count what the network does with one pair: multiplications of its convolutions, and some maps."""
        place, share = 9.0 * task.channels * stacked * 16 + 64 * TOUCH, 1.0
        for before, after, stride in self.blocks:
            share /= stride * stride
            place += share * (9 * (before * after + after * after) + 8 * after * TOUCH)
        return place * task.pixels / task.channels


class _Block(nn.Module):
    """Two convolutions after batch norms, beside a way around."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.BatchNorm2d(before), nn.BatchNorm2d(after)])
        self.first = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.around = None if before == after and stride == 1 else nn.Conv2d(before, after, 1, stride, bias=False)

    def forward(self, values: Tensor) -> Tensor:
        """Give the sum of both ways."""
        ready = functional.relu(self.norms[0](values))
        around = values if self.around is None else self.around(ready)
        found: Tensor = around + self.second(functional.relu(self.norms[1](self.first(ready))))
        return found


class WideComparer(nn.Module):
    """Scores whether a row shares an image with another, or with a cluster of which it sees some members."""

    def __init__(self, channels: int, members: int, size: WideResNet) -> None:
        super().__init__()
        self.members = members
        layers: list[nn.Module] = [nn.Conv2d(channels * (1 + members), 16, 3, 1, 1, bias=False)]
        layers += [_Block(*each) for each in size.blocks]
        last = size.blocks[-1][1]
        layers += [nn.BatchNorm2d(last), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(last, 1)]
        self.layers = nn.Sequential(*layers)

    def forward(self, rows: Float[Tensor, "n c h w"], others: Float[Tensor, "n members c h w"]) -> Float[Tensor, " n"]:
        """Give the logit that a row has the image that the others have in common."""
        stacked = torch.cat([rows[:, None], others], 1).abs().flatten(1, 2)
        scores: Tensor = self.layers(stacked / stacked.square().mean((1, 2, 3), keepdim=True).sqrt().clamp_min(1e-12))
        return scores[:, 0]

    @torch.no_grad()
    def _scores(self, rows: Tensor, first: Tensor, others: Int[Tensor, "pairs members"]) -> Tensor:
        device = next(self.parameters()).device
        found = []
        for start in track(range(0, len(first), BLOCK), "comparing rows"):
            part = slice(start, start + BLOCK)
            found.append(self(rows[first[part]].to(device), rows[others[part]].to(device)).cpu())
        return torch.cat(found) if found else torch.empty(0)

    def pair_scores(self, rows: Float[Tensor, "m c h w"], allowed: Bool[Tensor, "m m"]) -> Float[Tensor, "m m"]:
        """Score the pairs of rows that may share an image; the others are below all."""
        first, second = allowed.triu(1).nonzero(as_tuple=True)
        values = self._scores(rows, first, second[:, None])
        low = float(values.min()) - 1 if len(values) else -1.0
        found = torch.full((len(rows), len(rows)), low)
        found[first, second] = found[second, first] = values
        return found

    def cluster_scores(
        self, rows: Float[Tensor, "m c h w"], members: Int[Tensor, "n tries members"], allowed: Bool[Tensor, "m n"]
    ) -> Float[Tensor, "m n"]:
        """Score rows against clusters, by the mean over several choices of their members."""
        row, cluster = allowed.nonzero(as_tuple=True)
        tries = members.shape[1]
        values = self._scores(rows, row.repeat_interleave(tries), members[cluster].flatten(0, 1))
        values = values.view(-1, tries).mean(1)
        found = torch.full(allowed.shape, float(values.min()) - 1 if len(values) else -1.0)
        found[row, cluster] = values
        return found


def wide_objective(
    members: int, network: nn.Module, rows: Tensor, same: Bool[Tensor, "n others"], counted: Bool[Tensor, "n others"]
) -> tuple[Tensor, dict[str, Tensor]]:
    """Give the cross-entropy of some pairs, half of which share an image; clusters follow each other."""
    chosen = []
    for kind in (same, ~same):
        pairs = (kind & counted).nonzero()
        chosen.append(pairs[torch.randperm(len(pairs), device=pairs.device)[: PAIRS // 2]])
    first, other = torch.cat(chosen).T
    within = torch.arange(members, device=rows.device)
    scores = network(rows[first], rows[other[:, None] * members + within])
    wanted = same[first, other].float()
    loss = functional.binary_cross_entropy_with_logits(scores, wanted)
    return loss, {"accuracy": ((scores > 0) == (wanted > 0)).float().mean()}
