"""What models say of candidates that were trained on, and of the same candidates that were not."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.progress import track
from hideseek.records import Reason, Refusal, Samples
from hideseek.records.model_release import ModelRelease
from hideseek.records.samples import describe_shape

BATCH = 512  # images that go through a network at a time


@dataclass(frozen=True)
class Answers:
    """The logits of the class of each candidate, against all others: of the model, and of the attacker's own ones.

    φ = log p_y − log Σ_{c ≠ y} p_c, which is about normal over models (Carlini et al. 2022, §IV-C).
    """

    target: Float[Tensor, " candidates"]
    shadows: Float[Tensor, "models candidates"]
    inside: Bool[Tensor, "models candidates"]
    """Whether the candidate was trained on."""


def check_count(models: int, fewest: int = 2) -> None:
    """Refuse numbers of shadow models that leave a candidate in all of them, or in none."""
    if models < fewest or models % 2:
        raise BadInput(f"shadow models come in pairs, {fewest} or more, not {models}: a candidate is in one of a pair.")


def answers(release: ModelRelease, models: int, chance: Randomness) -> Answers:
    """Train shadow models as the model was trained, on random halves of the candidates, and ask all of them.

    Halves come in pairs, so that every candidate is in half of the models, and each of them has as many images as
    there are private ones in the gallery.
    """
    gallery, labels = release.candidates, release.labels
    assert gallery is not None and labels is not None  # noqa: S101, PT018 (`needs`)
    pool = replace(gallery, labels=labels)
    inside = torch.zeros(models, len(pool), dtype=torch.bool)
    for pair in range(0, models, 2):
        order = chance.permutation(len(pool))
        inside[pair, order[: len(pool) // 2]] = True
        inside[pair + 1] = ~inside[pair]
    shadows = []
    for chosen, stream in zip(track(inside, "shadow models"), chance.spawn(models), strict=True):
        own = release.scheme.learn(pool.take(chosen.nonzero()[:, 0]), stream)
        shadows.append(logits(own.network(), pool))
    return Answers(logits(release.model.network(), pool), torch.stack(shadows), inside)


def logits(network: nn.Module, samples: Samples) -> Float[Tensor, " n"]:
    """Give φ of every image, for the class that is its label."""
    found = []
    network.eval()
    with torch.inference_mode():
        for rows in torch.arange(len(samples)).split(BATCH):
            logs = network(samples.pixels(rows)).double().log_softmax(1)
            own = samples.labels[rows].argmax(1, keepdim=True)
            rest = logs.scatter(1, own, -torch.inf).logsumexp(1)
            found.append(logs.gather(1, own)[:, 0] - rest)
    return torch.cat(found)


def unsuited(release: ModelRelease) -> Refusal | None:
    """Refuse candidates that the model does not take, or that are all equal."""
    gallery = release.candidates
    if gallery is None:
        return None
    if gallery.shape != release.shape:
        facts: dict[str, int | str] = {"given": describe_shape(gallery.shape), "wanted": describe_shape(release.shape)}
        return Refusal(Reason.CANDIDATES_OF_OTHER_SHAPE, facts)
    equal = len(gallery) < 2 or bool((gallery.images == gallery.images[:1]).all())
    return Refusal(Reason.EQUAL_CANDIDATES) if equal else None
