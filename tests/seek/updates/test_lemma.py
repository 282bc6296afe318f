"""Lemmas B.1 and B.3 of Huang et al. 2021: a first layer's gradient is mixtures of images, so attacks on rows apply."""

from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide import Mixup
from hideseek.hide.updates import ShareUpdates
from hideseek.records import EncodedRelease, Samples
from hideseek.seek import run
from hideseek.seek.rows.linear_inversion import LinearInversion
from hideseek.seek.rows.mixup_pairs import MixupPairs
from hideseek.similarity import correlation

BATCH = 6


@cache
def one_class() -> Samples:
    """Faces of one class: p − y has the same signs for all of them, so that all weights of a mixture do."""
    faces = normalise(load("faces", size=16), "channel")
    return faces.take((faces.labels.argmax(1) == 0).nonzero()[:BATCH, 0])


@cache
def first_layer() -> tuple[Tensor, Tensor, np.ndarray[Any, Any]]:
    """The gradient of the first layer, of its bias, and α of the lemma, computed by hand."""
    release, _ = ShareUpdates("relu-dense", batch=BATCH, mode="eval").hide(one_class(), None, seeded(1))
    update, state = release.updates[0], {name: each.double().numpy() for name, each in release.models[0].state.items()}
    x, y = one_class().pixels().flatten(1).double().numpy(), one_class().labels.double().numpy()
    u = x @ state["features.1.weight"].T + state["features.1.bias"]
    v = np.maximum(u, 0) @ state["features.3.weight"].T + state["features.3.bias"]
    z = np.maximum(v, 0) @ state["head.weight"].T + state["head.bias"]
    p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    alpha = (((p - y) @ state["head.weight"] * (v > 0)) @ state["features.3.weight"] * (u > 0)) / BATCH
    return update["features.1.weight"], update["features.1.bias"], alpha


def test_each_row_of_the_gradient_is_a_linear_combination_of_the_images() -> None:
    gradient, bias, alpha = first_layer()
    x = one_class().pixels().flatten(1).double().numpy()
    assert np.allclose(gradient.numpy(), alpha.T @ x, atol=1e-6)
    assert np.allclose(bias.numpy(), alpha.sum(0), atol=1e-6)


def as_rows(weights: np.ndarray[Any, Any] | None = None) -> EncodedRelease:
    """Neurons as rows of Mixup: divided by their bias's gradient, the weights of a mixture sum to one."""
    gradient, bias, _ = first_layer()
    live = (bias.abs() > 0.05 * bias.abs().max()).nonzero()[:, 0]
    live = live[: len(live) // BATCH * BATCH]
    rows = (gradient[live] / bias[live, None]).view(-1, *one_class().shape)
    known = None if weights is None else torch.from_numpy((weights[:, live] / weights[:, live].sum(0)).T).float()
    encoded = Samples(rows, torch.ones(len(rows), 1), normalisation=one_class().normalisation)
    sources = None if known is None else torch.arange(BATCH).expand(len(rows), -1)
    return EncodedRelease(encoded, Mixup(k=BATCH), rounds=len(rows) // BATCH, weights=known, sources=sources)


def test_an_attack_on_rows_recovers_the_images_of_a_batch() -> None:
    claim: Any = run(LinearInversion(), as_rows(first_layer()[2]), seeded(2)).claims[0]
    assert float(correlation(claim.images, one_class().pixels()).min()) > 0.9999


def test_averages_of_rows_that_are_alike_show_them_to_one_who_knows_no_weights() -> None:
    claim: Any = run(MixupPairs(seeds=100), as_rows(), seeded(2)).claims[0]
    private = one_class().pixels()
    alike = torch.stack([correlation(guess.expand_as(private), private) for guess in claim.images])
    others = correlation(private, private.roll(1, 0))
    assert float(alike.amax(0).min()) > max(0.7, float(others.max()))
