"""A network that learns which public images are in an encoding, from encodings that the attacker makes himself."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.records import EncodedRelease, Samples, Task
from hideseek.seek.signals.matched_filter import Candidates, nearest
from hideseek.train.fit import fit
from hideseek.train.training import AdamW, Cosine, Training
from hideseek.train.worker import this_worker, torch_seed

WIDTH = 16  # channels of the first layer
FEATURES = 128
SHARPNESS = 10.0  # of the softmax over the images of a batch
BATCH = 128
CHUNK = 1024  # images that are looked at together
TRAINED = 2.2e-7  # seconds of a place of an image in training
LOOKED_AT = 7e-8  # seconds of a place of an image afterwards


class Comparer(nn.Module):
    """Two networks of one form, for encodings and for images, whose features are alike if one is in the other."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.rows, self.images = _tower(channels), _tower(channels)

    def forward(self, rows: Tensor, images: Tensor) -> tuple[Tensor, Tensor]:
        """Give the features of both, of length one."""
        return functional.normalize(self.rows(rows)), functional.normalize(self.images(images))


def _tower(channels: int) -> nn.Sequential:
    def stage(before: int, after: int, stride: int) -> list[nn.Module]:
        return [nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU()]

    return nn.Sequential(
        *stage(channels, WIDTH, 1),
        *stage(WIDTH, 2 * WIDTH, 2),
        *stage(2 * WIDTH, 4 * WIDTH, 2),
        *stage(4 * WIDTH, 4 * WIDTH, 1),
        nn.AdaptiveAvgPool2d(4),
        nn.Flatten(),
        nn.Linear(4 * WIDTH * 16, FEATURES),
    )


def too_few(release: EncodedRelease) -> str:
    """Refuse a public set that is too small to learn from."""
    if release.public is not None and len(release.public) >= 4 * BATCH:
        return ""
    return f"a learned similarity needs at least {4 * BATCH} public images to learn from."


def effort(steps: int, images: int, task: Task) -> float:
    """Expect so many seconds for a training, and for a look at some images."""
    return (2 * BATCH * steps * TRAINED + images * LOOKED_AT) * task.pixels / task.channels


def train(release: EncodedRelease, steps: int, chance: Randomness) -> "LearnedSearch":
    """Train a comparer on encodings of public images, in which others are mixed as the scheme does.

    An image is told from the other images of its batch: −log softmax of the features' inner products. Where public
    images are larger than rows, patches were cut from them: the attacker cuts his own, and compares with the whole.
    """
    public = release.public
    refusal = too_few(release)
    if public is None or refusal:
        raise BadInput(refusal)
    worker = this_worker()
    seed = int(chance.integers(2**31, 1))
    with torch_seed(seed):
        comparer = Comparer(release.encoded.shape[0])
    deviation = float(release.encoded.pixels(slice(0, CHUNK)).std())
    batches = _Encodings(release, public, steps, deviation, chance)
    training = Training(1, BATCH, AdamW(1e-3, 1e-4), Cosine(warm=0.1))
    history = fit(comparer, batches, _told_apart, training, seed=seed, worker=worker)
    return LearnedSearch(comparer.eval(), deviation, worker.device, history[-1]["accuracy"])


def _told_apart(network: nn.Module, batch: tuple[Tensor, ...]) -> tuple[Tensor, dict[str, Tensor]]:
    rows, images = network(batch[0], batch[1])
    likeness = SHARPNESS * rows @ images.T
    own = torch.arange(len(rows), device=rows.device)
    return functional.cross_entropy(likeness, own), {"accuracy": (likeness.argmax(1) == own).float().mean()}


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
class LearnedSearch:
    """A trained comparer."""

    comparer: Comparer
    deviation: float
    device: torch.device
    told_apart: float  # share of a training batch's encodings whose image was found among the batch's

    def search(
        self, rows: Float[Tensor, "n c h w"], images: Samples, count: int
    ) -> tuple[Float[Tensor, "n m"], Int[Tensor, "n m"]]:
        """Give the images that are most alike to each row."""
        shape = (rows.shape[1], rows.shape[2], rows.shape[3])

        @torch.no_grad()
        def features(network: nn.Module, pixels: Tensor) -> Tensor:
            parts = [network(part.to(self.device) / self.deviation).cpu() for part in pixels.split(CHUNK)]
            return functional.normalize(torch.cat(parts))

        queries = features(self.comparer.rows, rows.abs())
        candidates = Candidates(images, lambda pixels: features(self.comparer.images, shrunk(pixels, shape)))
        return nearest(queries, candidates, count)


def shrunk(images: Float[Tensor, "n c h w"], shape: tuple[int, int, int]) -> Float[Tensor, "n c h2 w2"]:
    """Give images at the size of rows."""
    return images if tuple(images.shape[1:]) == shape else functional.interpolate(images, shape[1:], mode="auc")


def cut(images: Samples, shape: tuple[int, int, int], chance: Randomness) -> Samples:
    """Cut a random patch from every image; images that have the size of rows stay whole."""
    _, height, width = shape
    _, whole_height, whole_width = images.shape
    if (whole_height, whole_width) == (height, width):
        return images
    tops = chance.integers(whole_height - height + 1, len(images)).tolist()
    lefts = chance.integers(whole_width - width + 1, len(images)).tolist()
    patches = [
        image[:, top : top + height, left : left + width]
        for image, top, left in zip(images.images, tops, lefts, strict=True)
    ]
    return replace(images, images=torch.stack(patches))
