"""Asking a trained model, plainly or about encodings of the image (InstaHide §3.3)."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.chance import Randomness, secure
from hideseek.errors import BadInput
from hideseek.progress import track
from hideseek.records import MixingEncoder, Queries, Samples
from hideseek.train.trained import Trained
from hideseek.train.worker import this_worker

BATCH = 256  # images that go through the network at a time
CHUNK = 1 << 24  # pixels that are encoded at a time


def predict(
    trained: Trained,
    images: Samples,
    *,
    encoder: MixingEncoder | None = None,
    pool: Samples | None = None,
    public: Samples | None = None,
    times: int = 10,
    weighted: bool = True,
    chance: Randomness | None = None,
) -> Float[Tensor, "n classes"]:
    """Give the probability of every class for each image, normalised as the model was trained.

    Without an `encoder`, the softmax of the image itself. With one, the answers to `times` encodings of it, under fresh
    keys. Partners come from the `pool`, such as the party's own training images, and from the `public` images.

    The loss says how to join the answers p_t: were the image of class c, the cross-entropies of its encodings would sum
    to −Σ_t λ_t log p_t(c) and what no class changes, with λ_t the image's share of each, which who asks knows. So
    p(c) ∝ exp(Σ_t λ_t log p_t(c) / Σ_t λ_t). Not `weighted`, it is the mean of the softmax, as InstaHide's authors have
    it, where an encoding that hardly holds the image counts as much as any.
    """
    trained.check(images)
    if encoder is None:
        logs, _ = _asked(trained, images, lambda part: Queries(part.pixels(), torch.ones(len(part))))
        return logs.exp()
    if times < 1:
        raise BadInput(f"a prediction averages at least one encoding, not {times}.")
    encode = encoder.queries(pool, public, chance or secure())
    total, mass = torch.zeros(len(images), len(trained.classes)), torch.zeros(len(images), 1)
    for _ in track(range(times), "asking"):
        logs, shares = _asked(trained, images, encode)
        total += shares[:, None] * logs if weighted else logs.exp()
        mass += shares[:, None]
    return (total / mass.clamp(min=torch.finfo(torch.float32).tiny)).softmax(1) if weighted else total / times


def _asked(
    trained: Trained, images: Samples, prepare: Callable[[Samples], Queries]
) -> tuple[Float[Tensor, "n classes"], Float[Tensor, " n"]]:
    """Give the log-softmax of every image, and how much of what was asked it is.

    Images are prepared chunk by chunk; chunks are equal, so that each has partners enough.
    """
    if not len(images):
        return torch.empty(0, len(trained.classes)), torch.empty(0)
    device = this_worker().device
    network = trained.network.eval().to(device)
    chunks = min(len(images), -(-len(images) * math.prod(images.shape) // CHUNK))
    answers, shares = [], []
    for chunk in range(chunks):
        rows = slice(chunk * len(images) // chunks, (chunk + 1) * len(images) // chunks)
        prepared = prepare(images.take(rows))
        shares.append(prepared.shares.cpu())
        with torch.inference_mode():  # the network alone: encoders write on threads that do not know this mode
            for batch in prepared.images.split(BATCH):
                moved = batch.to(device, memory_format=torch.channels_last)
                answers.append(network(moved).float().log_softmax(1).cpu())
    return torch.cat(answers), torch.cat(shares)


def accuracy(probabilities: Float[Tensor, "n classes"], labels: Float[Tensor, "n classes"]) -> float:
    """Give the share of images whose likeliest class is their heaviest one.

    >>> accuracy(torch.tensor([[0.9, 0.1], [0.6, 0.4]]), torch.eye(2))
    0.5
    """
    _check_labelled(labels)
    return (probabilities.argmax(1) == labels.argmax(1)).float().mean().item()


def largest_class(labels: Float[Tensor, "n classes"]) -> float:
    """Give the share of images that are of the largest class: the accuracy of always naming that.

    >>> largest_class(torch.eye(2)[torch.tensor([0, 1, 1, 1])])
    0.75
    """
    _check_labelled(labels)
    return labels.argmax(1).bincount().max().item() / len(labels)


def _check_labelled(labels: Float[Tensor, "n classes"]) -> None:
    if len(labels) == 0 or labels.shape[1] == 0:
        raise BadInput("there are no labelled images to test with: name some that have labels.")
