"""A network that learns which public images are in an encoding, from encodings that the attacker makes himself."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.records import EncodedRelease, Reason, Refusal, Refused, Samples, Task
from hideseek.seek.networks.comparer import FEATURES, Comparer, forward_work, objective
from hideseek.seek.signals.matched_filter import Candidates, nearest
from hideseek.seek.signals.patches import cut, shrunk
from hideseek.seek.signals.public_similarity import PublicSimilarity, Ranking
from hideseek.seek.work import CALL, TOUCH, largest
from hideseek.train.fit import fit
from hideseek.train.training import AdamW, Cosine, Training
from hideseek.train.worker import this_worker, torch_seed

BATCH = 128
CHUNK = 1024  # images that are looked at together
LEAST_IMAGES = 4 * BATCH  # that a similarity can be learned from
LEAST_STEPS = 100  # of training
STEP = 500  # calls of a step of training: two networks, and an encoding of a batch


def train(release: EncodedRelease, public: Samples, steps: int, chance: Randomness) -> "TrainedComparer":
    """Train a comparer on encodings of public images, in which others are mixed as the scheme does.

    Where public images are larger than rows, patches were cut from them: the attacker cuts his own, and compares with
    the whole.
    """
    worker = this_worker()
    seed = int(chance.integers(2**31, 1))
    with torch_seed(seed):
        comparer = Comparer(release.encoded.shape[0])
    deviation = float(release.encoded.pixels(slice(0, CHUNK)).std())
    batches = _Encodings(release, public, steps, deviation, chance)
    training = Training(1, BATCH, AdamW(1e-3, 1e-4), Cosine(warm=0.1))
    history = fit(comparer, batches, objective, training, seed=seed, worker=worker)
    return TrainedComparer(comparer.eval(), deviation, worker.device, history[-1]["accuracy"])


@dataclass(frozen=True)
class _Encodings:
    """Batches of encodings, and of the public image that weighs most in each."""

    release: EncodedRelease
    public: Samples
    steps: int
    deviation: float
    chance: Randomness

    def epoch(self, number: int, first: int) -> Iterator[tuple[Tensor, ...]]:
        """Give the batches, each made when it is asked for."""
        private, _ = self.release.scheme.images_per_row
        for _ in range(first, self.steps):
            order = self.chance.permutation(len(self.public))[: 3 * BATCH]
            stand_ins, mixed = order[:BATCH], order[BATCH:]
            patches = cut(self.public.take(mixed), self.release.encoded.shape, self.chance)
            own, secret = self.release.scheme.hide(
                cut(self.public.take(stand_ins), self.release.encoded.shape, self.chance), patches, self.chance
            )
            strongest = secret.weights[:, private:].argmax(1, keepdim=True)
            inside = mixed[secret.public_sources.gather(1, strongest)[:, 0]]
            images = shrunk(self.public.pixels(inside), self.release.encoded.shape)
            yield own.encoded.pixels().abs() / self.deviation, images / self.deviation


@dataclass(frozen=True)
class TrainedComparer:
    """A trained comparer."""

    comparer: Comparer
    deviation: float
    device: torch.device
    told_apart: float  # share of a training batch's encodings whose image was found among the batch's

    @torch.no_grad()
    def features(self, network: nn.Module, pixels: Float[Tensor, "n c h w"]) -> Float[Tensor, "n features"]:
        """Give the features of images by one of the two networks, of length one."""
        parts = [network(part.to(self.device) / self.deviation).cpu() for part in pixels.split(CHUNK)]
        return functional.normalize(torch.cat(parts))


@dataclass(frozen=True)
class Learned(PublicSimilarity):
    """Inner products of features that a network has learned from encodings of the public images.

    It works where patches were cut from the images, whose place in them is not known.
    """

    steps: int = 600
    """Of training."""

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise BadInput(f"steps must be 1 or more, not {self.steps}.")

    def search(
        self, rows: Float[Tensor, "n c h w"], release: EncodedRelease, count: int, chance: Randomness, *, masked: bool
    ) -> Ranking:
        """Train a comparer, and compare absolute values of the rows with the images, shrunk where they are larger."""
        if (refusal := self.refuses(release)) is not None:
            raise Refused(refusal)
        assert release.public is not None  # noqa: S101 (else it would have been refused)
        trained = train(release, release.public, self.steps, chance)
        queries = trained.features(trained.comparer.rows, rows.abs())
        candidates = Candidates(
            release.public,
            lambda pixels: trained.features(trained.comparer.images, shrunk(pixels, release.encoded.shape)),
        )
        return Ranking(*nearest(queries, candidates, count), {"told apart in training": trained.told_apart})

    def refuses(self, release: EncodedRelease) -> Refusal | None:
        """Refuse a public set that is too small to learn from."""
        given = 0 if release.public is None else len(release.public)
        facts: dict[str, int | str] = {"given": given, "wanted": LEAST_IMAGES}
        return Refusal(Reason.TOO_FEW_PUBLIC_IMAGES, facts) if given < LEAST_IMAGES else None

    def work(self, rows: int, task: Task) -> float:
        """Count the training, a look at all rows and images, and the products of their features."""
        forward = forward_work(task)
        training = self.steps * (2 * BATCH * (3 * forward + 6 * task.pixels * TOUCH) + STEP * CALL)
        return training + (rows + task.public) * forward + rows * task.public * (FEATURES + 3 * TOUCH)

    def within(self, work: float, rows: int, task: Task) -> Self:
        """Train for fewer steps."""

        def work_of(steps: int) -> float:
            return replace(self, steps=steps).work(rows, task)

        return replace(self, steps=largest(work_of, LEAST_STEPS, self.steps, work))
