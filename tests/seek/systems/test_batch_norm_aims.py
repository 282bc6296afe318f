"""What batch norm saw, from running statistics; who knows it; how far a batch is from it; fixed statistics."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from hideseek.chance import seeded
from hideseek.hide.updates import ShareUpdates
from hideseek.models import build
from hideseek.records import Samples
from hideseek.records.update_release import UpdateRelease
from hideseek.seek.systems.batch_norm_aims import derived, misfit, places_of, relative_misfit
from hideseek.seek.systems.known_statistics import fix, known_statistics, offered, step_sizes
from hideseek.train.batch_statistics import Statistics, batch_norms, batch_statistics

SHAPE = (3, 8, 8)


def dense() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(192, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 4))


def averaged() -> nn.Module:
    """Running statistics that are the mean of all batches."""
    network = dense()
    batch_norms(network)["2"].momentum = None
    network.train()(seeded(9).normals(5, *SHAPE))
    return network


def resnet() -> nn.Module:
    return build("small-resnet", SHAPE, 4)


@pytest.mark.parametrize("make", [resnet, dense, averaged])
@pytest.mark.parametrize("size", [2, 3])
def test_statistics_of_one_step_follow_exactly(make: Callable[[], nn.Module], size: int) -> None:
    network, images = make().train(), seeded(1).normals(size, *SHAPE)
    before = {name: each.clone() for name, each in network.state_dict().items()}
    seen = batch_statistics(network, images)
    network(images)
    found = derived(network, before, network.state_dict(), [size], SHAPE)
    assert set(found) == set(seen) == set(batch_norms(network))
    for name, pair in seen.items():
        for one, other in zip(found[name], pair, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=2e-5)


def test_of_several_steps_their_weighted_mean_follows() -> None:
    network, images = dense().train(), seeded(1).normals(9, *SHAPE)
    before = {name: each.clone() for name, each in network.state_dict().items()}
    seen = []
    for some in images.split(3):
        seen.append(batch_statistics(network, some)["2"])
        network(some)
    weights = np.array([0.81, 0.9, 1.0]) / 2.71
    found = derived(network, before, network.state_dict(), [3, 3, 3], SHAPE)["2"]
    for part in (0, 1):
        expected = sum(weight * each[part].numpy() for weight, each in zip(weights, seen, strict=True))
        np.testing.assert_allclose(found[part].numpy(), expected, rtol=1e-4, atol=1e-5)


def test_places_are_counted() -> None:
    counted = places_of(build("small-resnet", (3, 32, 32), 4), (3, 32, 32))
    assert sorted(set(counted.values())) == [16, 64, 256]
    assert places_of(dense(), SHAPE) == {"2": 1}


def test_misfits_as_in_numpy() -> None:
    means, variances = seeded(1).normals(2, 5), seeded(2).normals(2, 5).square() + 0.1
    seen, aims = ({"layer": (means[row], variances[row])} for row in (0, 1))
    (m, n), (v, w) = means.numpy(), variances.numpy()
    assert float(misfit(seen, aims)) == pytest.approx(np.linalg.norm(m - n) + np.linalg.norm(v - w), rel=1e-5)
    expected = np.mean((m - n) ** 2 / w) + np.mean(np.log(v / w) ** 2)
    assert float(relative_misfit(seen, aims)) == pytest.approx(expected, rel=1e-3)
    assert float(misfit(seen, seen)) == float(relative_misfit(seen, seen)) == 0.0


def test_fixed_statistics_are_those_of_the_forward_pass_and_are_not_differentiated() -> None:
    network = nn.Sequential(nn.BatchNorm2d(3)).train()
    images, other = seeded(1).normals(4, *SHAPE), seeded(2).normals(4, *SHAPE) * 3 + 1
    fix(network, batch_statistics(network, other))
    leaf, back = images.clone().requires_grad_(), seeded(3).normals(4, *SHAPE)
    found: Tensor = network(leaf)
    (slope,) = torch.autograd.grad(found, leaf, back)
    x, o = images.numpy(), other.numpy()
    mean, std = (part(o, axis=(0, 2, 3), keepdims=True) for part in (np.mean, np.std))
    np.testing.assert_allclose(found.detach().numpy(), (x - mean) / np.sqrt(std**2 + 1e-5), rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(slope.numpy(), back.numpy() / np.sqrt(std**2 + 1e-5), rtol=1e-3, atol=1e-5)


def shared(scheme: ShareUpdates) -> UpdateRelease:
    images = Samples(seeded(1).normals(8, *SHAPE), torch.eye(4)[torch.arange(8) % 4])
    release, secret = scheme.hide(images, None, seeded(1))
    return secret.reveal(replace(release, own=images), ["statistics"])


def test_the_best_that_a_release_offers_is_taken() -> None:
    weights = shared(ShareUpdates("small-resnet", batch=4, sends="weights"))
    gradients = shared(ShareUpdates("small-resnet", batch=4))
    assert offered(weights) == "running"
    assert offered(gradients) == "own"
    assert offered(replace(gradients, own=None)) == "none"
    assert offered(shared(ShareUpdates("small-resnet", batch=4, mode="eval", sends="weights"))) == "none"
    network = weights.models[0].network().train()
    exact, running = (known_statistics(weights, 1, network, how, 4) for how in ("exact", "offered"))
    assert float(relative_misfit(running, exact)) < 1e-6
    assert known_statistics(weights, 1, network, "none", 4) == {}
    assert set(known_statistics(gradients, 0, network, "offered", 4)) == set(exact)


def test_statistics_of_own_images_are_taken_once_for_all_updates_of_a_model() -> None:
    release = shared(ShareUpdates("small-resnet", batch=4))
    network = release.models[0].network().train()
    proxies: dict[int, Statistics] = {}
    first, second = (known_statistics(release, number, network, "own", 4, proxies) for number in range(2))
    assert list(proxies) == [0]
    assert all(one is other for name in first for one, other in zip(first[name], second[name], strict=True))
    alone = known_statistics(release, 1, network, "own", 4)
    assert float(relative_misfit(second, alone)) == 0


def test_the_last_step_of_an_epoch_may_be_smaller() -> None:
    release = shared(ShareUpdates("lenet", batch=3, local_steps=3, local_epochs=2, sends="weights"))
    assert step_sizes(release, 8) == [3, 3, 2, 3, 3, 2]
