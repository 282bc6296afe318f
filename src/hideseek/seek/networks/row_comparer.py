"""Networks that tell whether two rows share a private image, from their absolute values."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from hideseek.records import Task
from hideseek.seek.work import TOUCH

WIDTHS = (32, 64, 96, 96)  # channels of the convolutions; the second and the third halve the picture
FIRST_SCORE = 10.0  # how sharp scores are at the start
BLOCK = 256  # rows that are looked at together


class RowComparer(nn.Module):
    """Four convolutions, and for every channel of the last three the correlation of two rows over places, weighed.

    The score is a weighted sum of inner products, so all pairs of rows are one product of matrices. A row can be
    compared with several at once, by the mean of their maps: so the same form serves for a row and a cluster.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        layers, before = [], channels
        for width, stride in zip(WIDTHS, (1, 2, 2, 1), strict=True):
            layers.append(nn.Conv2d(before, width, 3, stride, 1))
            before = width
        self.layers = nn.ModuleList(layers)
        count = sum(WIDTHS[1:])
        self.log_weights = nn.Parameter(torch.full((count,), 1 / count).log() + torch.tensor(FIRST_SCORE).log())
        self.offset = nn.Parameter(torch.tensor(-2.0))

    def maps(self, rows: Float[Tensor, "n c h w"]) -> list[Float[Tensor, "n d y x"]]:
        """Give the maps of rows, at three scales; every row is first brought to mean 0 and deviation 1."""
        values = rows.abs()
        values = values - values.mean((1, 2, 3), keepdim=True)
        values = values / values.square().mean((1, 2, 3), keepdim=True).sqrt().clamp_min(1e-12)
        kept = []
        for layer in self.layers:
            values = functional.leaky_relu(layer(values), 0.1)
            kept.append(values)
        return kept[1:]

    def embedded(self, maps: list[Float[Tensor, "n d y x"]]) -> Float[Tensor, "n features"]:
        """Give maps centred and of length one in every channel, times the root of its weight."""
        weights = self.log_weights.clamp(max=5.0).exp().sqrt().split([each.shape[1] for each in maps])
        parts = []
        for each, weight in zip(maps, weights, strict=True):
            flat = each.flatten(2)
            flat = functional.normalize(flat - flat.mean(2, keepdim=True), dim=2, eps=1e-8)
            parts.append((flat * weight[:, None]).flatten(1))
        return torch.cat(parts, 1)

    def forward(self, rows: Float[Tensor, "n c h w"], members: int) -> Float[Tensor, "n others"]:
        """Score rows of a batch: with each other, or with clusters of `members` rows that follow each other."""
        maps = self.maps(rows)
        own = self.embedded(maps)
        if members == 1:
            return own @ own.T + self.offset
        means = [each.unflatten(0, (-1, members)).mean(1) for each in maps]
        scores: Tensor = own @ self.embedded(means).T + self.offset
        return scores

    def pair_scores(self, rows: Float[Tensor, "m c h w"], allowed: Bool[Tensor, "m m"]) -> Float[Tensor, "m m"]:
        """Score the pairs of rows that may share an image; the others are below all."""
        embedded = self.all_embedded(rows)
        scores = embedded @ embedded.T
        scores[~allowed] = float(scores.min()) - 1
        return scores

    @torch.no_grad()
    def cluster_scores(
        self, rows: Float[Tensor, "m c h w"], members: Int[Tensor, "n tries members"], allowed: Bool[Tensor, "m n"]
    ) -> Float[Tensor, "m n"]:
        """Score rows against clusters, by the mean over several choices of their members."""
        maps = self.all_maps(rows)
        means = [each[members.flatten(0, 1)].mean(1).to(self.offset.device) for each in maps]
        clusters = self.embedded(means).view(*members.shape[:2], -1).mean(1).cpu()
        return self.all_embedded(rows) @ clusters.T

    @torch.no_grad()
    def all_maps(self, rows: Float[Tensor, "n c h w"]) -> list[Float[Tensor, "n d y x"]]:
        """Give the maps of many rows, on the network's device."""
        device = self.offset.device
        parts = [[each.cpu() for each in self.maps(part.to(device))] for part in rows.split(BLOCK)]
        return [torch.cat(each) for each in zip(*parts, strict=True)]

    @torch.no_grad()
    def all_embedded(self, rows: Float[Tensor, "n c h w"]) -> Float[Tensor, "n features"]:
        """Give what inner products are taken of, for many rows."""
        device = self.offset.device
        return torch.cat([self.embedded(self.maps(part.to(device))).cpu() for part in rows.split(BLOCK)])


def balanced_loss(scores: Tensor, same: Bool[Tensor, "n others"], counted: Bool[Tensor, "n others"]) -> Tensor:
    """Give the cross-entropy of pairs, those that share an image and those that do not counting alike."""
    wanted = same.float()
    each = functional.binary_cross_entropy_with_logits(scores, wanted, reduction="none")
    share, other = (each[counted & kind] for kind in (same, ~same))
    means = [part.mean() for part in (share, other) if len(part)]
    return torch.stack(means).mean() if means else scores.sum() * 0


def forward_work(task: Task) -> float:
    """Count what the network does with one row: multiplications of its convolutions, and some maps."""
    before = (task.channels, *WIDTHS[:-1])
    fewer = (1, 4, 16, 16)
    place = sum((9 * a * b + 4 * b * TOUCH) / each for a, b, each in zip(before, WIDTHS, fewer, strict=True))
    return place * task.pixels / task.channels


def features(task: Task) -> float:
    """Count the numbers of an embedding."""
    return task.pixels / task.channels * (WIDTHS[1] / 4 + WIDTHS[2] / 16 + WIDTHS[3] / 16)
