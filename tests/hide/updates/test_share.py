"""What a client shares: gradients and local steps against plain equations, and which images are in which update."""

import numpy as np
import pytest
import torch

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide import InstaHide, Mixup
from hideseek.hide.files.schemes import scheme_of, to_json
from hideseek.hide.updates import GradientPruning, ShareUpdates
from hideseek.records import Samples
from hideseek.records.update_encoder import UpdateEncoder


def softmax_gradient(weights: np.ndarray, bias: np.ndarray, images: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Give ∂L/∂W = (p − y)' x / n of a linear classifier."""
    logits = images @ weights.T + bias
    shares = np.exp(logits - logits.max(1, keepdims=True))
    errors = shares / shares.sum(1, keepdims=True) - labels
    found: np.ndarray = errors.T @ images / len(images)
    return found


def test_the_gradient_is_that_of_the_mean_loss(images: Samples) -> None:
    release, secret = ShareUpdates("linear", batch=4).hide(images, None, seeded(2))
    assert release.sizes == (4, 4, 2)
    state = {name: tensor.numpy() for name, tensor in release.models[0].state.items()}
    for number, update in enumerate(release.updates):
        members = secret.sources[number, :, 0]
        members = members[members >= 0]
        pixels, labels = images.pixels(members).flatten(1).numpy(), images.labels[members].numpy()
        wanted = softmax_gradient(state["head.weight"], state["head.bias"], pixels, labels)
        assert np.allclose(update["head.weight"], wanted, atol=1e-6)


def test_local_steps_are_plain_descent(images: Samples) -> None:
    scheme = ShareUpdates("linear", batch=2, local_steps=2, rate=0.1, sends="weights")
    release, secret = scheme.hide(images, None, seeded(2))
    weights, bias = (release.models[0].state[f"head.{name}"].numpy() for name in ("weight", "bias"))
    members = secret.sources[0, :, 0]
    pixels, labels = images.pixels(members).flatten(1).numpy(), images.labels[members].numpy()
    first = softmax_gradient(weights, bias, pixels[:2], labels[:2])
    logits = pixels[:2] @ weights.T + bias
    shares = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    moved = bias - 0.1 * (shares - labels[:2]).mean(0)
    second = softmax_gradient(weights - 0.1 * first, moved, pixels[2:], labels[2:])
    assert np.allclose(release.updates[0]["head.weight"], 0.1 * (first + second), atol=1e-6)


def test_every_image_is_in_one_update_a_round(images: Samples) -> None:
    release, secret = ShareUpdates("linear", batch=3).hide(images, None, seeded(2), rounds=2)
    assert secret.items == len(release.updates) == 8
    for number in range(2):
        held = secret.holds((secret.round_of == number).nonzero()[:, 0])
        assert sorted(held[held >= 0].tolist()) == list(range(10))
    assert torch.allclose(secret.shares(torch.arange(8)).sum(1), torch.ones(8))


@pytest.mark.parametrize(("encoding", "masked"), [(Mixup(k=2), False), (InstaHide(k=2), True)])
def test_images_are_encoded_before(images: Samples, encoding: Mixup | InstaHide, masked: bool) -> None:
    release, secret = ShareUpdates("linear", batch=5, encoding=encoding).hide(images, None, seeded(2))
    seen = secret.reveal(release, ("labels", "sources", "weights", "round_of"))
    assert seen.labels is not None
    assert seen.sources is not None
    assert seen.weights is not None
    assert secret.masked is masked
    for labels, sources, weights in zip(seen.labels, seen.sources, seen.weights, strict=True):
        assert torch.allclose(labels, (weights[:, :, None] * images.labels[sources]).sum(1), atol=1e-6)


def test_statistics_are_those_of_the_batch(images: Samples) -> None:
    release, secret = ShareUpdates("small-resnet", batch=5).hide(images, None, seeded(2))
    seen = secret.reveal(release, ("statistics",))
    assert seen.statistics is not None
    name, (mean, variance) = next(iter(seen.statistics[0].items()))
    network = release.models[0].network()
    stem = next(each for each in network.modules() if isinstance(each, torch.nn.Conv2d))
    with torch.no_grad():
        inputs = stem(images.pixels(secret.sources[0, :, 0])).double()
    assert np.allclose(mean, inputs.mean((0, 2, 3)), atol=1e-5), name
    assert np.allclose(variance, inputs.var((0, 2, 3), unbiased=False), rtol=1e-4)


def test_schemes_are_json_and_back() -> None:
    scheme = ShareUpdates("lenet", batch=16, encoding=InstaHide(k=4, largest=0.65), defences=(GradientPruning(0.99),))
    assert scheme_of(to_json(scheme), UpdateEncoder) == scheme  # type: ignore[type-abstract]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"batch": 0}, "batch must be 1 or more"),
        ({"rate": 0.0}, "rate, the learning rate"),
        ({"local_steps": 2}, "sends weights"),
        ({"mode": "test"}, "mode must be train or eval, not 'test'"),
        ({"sends": "loss"}, "sends must be gradient or weights, not 'loss'"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        ShareUpdates(**settings)  # type: ignore[arg-type]


def test_public_images_are_mixed_by_clients_and_not_audited(images: Samples) -> None:
    scheme = ShareUpdates("lenet", batch=4, encoding=InstaHide(k=4, k_private=2))
    with pytest.raises(BadInput, match="without public images"):
        scheme.hide(images, images, seeded(1))
    rows, sources, weights = next(scheme.batches(images, seeded(1), images))
    assert sources.shape == weights.shape == (len(rows), 2)


def test_images_without_labels(images: Samples) -> None:
    with pytest.raises(BadInput, match="two classes or more"):
        ShareUpdates().hide(Samples(images.images, torch.empty(10, 0)), None, seeded(1))


def test_batch_norm_of_one_value(images: Samples) -> None:
    with pytest.raises(BadInput, match="mode eval"):
        ShareUpdates("classifier", batch=1).hide(images, None, seeded(1))
    ShareUpdates("classifier", batch=1, mode="eval").hide(images, None, seeded(1))
