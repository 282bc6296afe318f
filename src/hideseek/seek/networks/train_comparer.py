"""Training networks that compare rows, on rows that the attacker makes of his own or public images."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from hideseek.chance import Randomness
from hideseek.records import EncodedRelease, Samples
from hideseek.seek.networks.own_encodings import OwnEncodings, own_encodings
from hideseek.seek.networks.row_comparer import RowComparer, balanced_loss
from hideseek.seek.networks.wide_comparer import WideComparer, WideResNet, wide_objective
from hideseek.seek.signals.patches import cut
from hideseek.train.fit import fit
from hideseek.train.schedules import Cosine
from hideseek.train.training import AdamW, Training
from hideseek.train.worker import torch_seed

BATCH = 48  # rows of a step
ROUNDS = 4  # that make them: so many rows were made for every image
MEMBERS = 3  # of a cluster, that the second network sees
TRIED = 512  # rows, about, that a network is tried on

Network = RowComparer | WideComparer


@dataclass(frozen=True)
class SharedRows:
    """Batches of rows of a few images each, and whose images they have."""

    own: OwnEncodings
    steps: int
    members: int
    stream: Randomness

    def epoch(self, number: int, first: int) -> Iterator[tuple[Tensor, ...]]:
        """Give the batches from the batch `first` on."""
        chance = Randomness(self.stream.key, self.stream.seed)
        for step in range(self.steps):
            rows, sources = own_rows(self.own, BATCH // ROUNDS, ROUNDS, chance)
            if self.members > 1:  # every image's clusters follow each other
                rows, sources = _grouped(rows, sources, self.members, chance)
            if step >= first:
                yield rows, sources


def own_rows(own: OwnEncodings, count: int, rounds: int, chance: Randomness) -> tuple[Tensor, Tensor]:
    """Encode some of the attacker's images in several rounds; give the rows, and the images in each."""
    release, sources, _ = own_release(own, count, rounds, chance)
    return release.encoded.pixels(), sources


def own_release(
    own: OwnEncodings, count: int, rounds: int, chance: Randomness
) -> tuple[EncodedRelease, Tensor, Samples]:
    """Encode some of the attacker's images in several rounds; give the release, the images in each row, and these."""
    private, mixed_in = own.scheme.images_per_row
    count = min(len(own.places), max(count, 2 * private, 2))
    some = own.places[chance.permutation(len(own.places))[:count]]
    public = own.public
    if public is not None:
        size = max(count, mixed_in)
        public = cut(public.take(chance.permutation(len(public))[:size]), own.shape, chance)
    images = cut(own.images.take(some), own.shape, chance)
    release, secret = own.scheme.hide(images, public, chance, rounds=rounds)
    return release, secret.sources, images


def _grouped(rows: Tensor, sources: Tensor, members: int, chance: Randomness) -> tuple[Tensor, Tensor]:
    """Draw clusters: `members` rows that have one image in common, one cluster after another; and that image."""
    order, common = [], []
    for image in sources.unique()[chance.permutation(len(sources.unique()))]:
        having = (sources == image).any(1).nonzero()[:, 0]
        if len(having) >= members:
            order.append(having[chance.permutation(len(having))[:members]])
            common.append(image.expand(members))
    if not order:
        return rows[: len(rows) // members * members], sources[: len(rows) // members * members]
    chosen = torch.cat(order)
    return rows[chosen], torch.cat([torch.cat(common)[:, None], sources[chosen]], 1)


def _shared(members: int, sources: Tensor) -> tuple[Tensor, Tensor]:
    """Tell which rows share an image with which others, rows or clusters, and which pairs count."""
    count, device = len(sources), sources.device
    if members == 1:
        same = (sources[:, None, :, None] == sources[None, :, None, :]).any(3).any(2)
        return same, ~torch.eye(count, dtype=torch.bool, device=device)
    of_cluster = sources[::members, 0]
    same = (sources[:, 1:, None] == of_cluster).any(1)
    cluster = torch.arange(count, device=device) // members
    return same, cluster[:, None] != torch.arange(len(of_cluster), device=device)  # no row in its own cluster


def _objective(members: int, network: nn.Module, batch: tuple[Tensor, ...]) -> tuple[Tensor, dict[str, Tensor]]:
    rows, sources = batch
    same, counted = _shared(members, sources)
    scores = network(rows, members)
    right = ((scores > 0) == same)[counted].float()
    return balanced_loss(scores, same, counted), {"accuracy": right.mean() if len(right) else scores.sum() * 0}


def build(release: EncodedRelease, members: int, wide: WideResNet | None) -> Network:
    """Give an untrained network."""
    channels = release.encoded.shape[0]
    return RowComparer(channels) if wide is None else WideComparer(channels, members, wide)


def train_comparer(
    release: EncodedRelease,
    steps: int,
    members: int,
    chance: Randomness,
    *,
    wide: WideResNet | None = None,
    start: nn.Module | None = None,
) -> Network:
    """Train a comparer of rows, or of rows with clusters of `members`; a small one may start from another."""
    training, _ = own_encodings(release, BATCH, BATCH, chance)
    seed = int.from_bytes(chance.bytes(6), "little")
    with torch_seed(seed):
        network = build(release, members, wide)
    if start is not None and wide is None:
        network.load_state_dict(start.state_dict())
    batches = SharedRows(training, steps, members, chance.spawn(1)[0])

    def objective(given: nn.Module, batch: tuple[Tensor, ...]) -> tuple[Tensor, dict[str, Tensor]]:
        if wide is None:
            return _objective(members, given, batch)
        return wide_objective(members, given, batch[0], *_shared(members, batch[1]))

    fit(network, batches, objective, Training(1, BATCH, AdamW(1e-3), Cosine(warm=0.1)), seed=seed)
    return network.eval()


def told_apart(network: Network, release: EncodedRelease, chance: Randomness) -> float:
    """Give the area under the curve of pairs of the attacker's rows of images that it was not trained on."""
    _, trial = own_encodings(release, BATCH, BATCH, chance)
    rows, sources = own_rows(replace(trial), TRIED // ROUNDS, ROUNDS, chance)
    first, second = torch.triu_indices(len(rows), len(rows), 1)
    scores = network.pair_scores(rows, torch.ones(len(rows), len(rows), dtype=torch.bool))[first, second]
    same = (sources[first][:, :, None] == sources[second][:, None, :]).any(2).any(1)
    if not same.any() or same.all():
        return 0.5
    ranks = torch.empty(len(scores), dtype=torch.float64)
    ranks[scores.argsort()] = torch.arange(1, len(scores) + 1, dtype=torch.float64)
    positive = int(same.sum())
    return float((ranks[same].sum() - positive * (positive + 1) / 2) / (positive * (len(scores) - positive)))
