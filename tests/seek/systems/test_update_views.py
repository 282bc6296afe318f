"""An update, computed again from the client's images: local steps, and gradients between two states."""

import numpy as np
import pytest
import torch

from hideseek.chance import seeded
from hideseek.hide.updates import ShareUpdates
from hideseek.records import Samples
from hideseek.seek.systems.update_views import SimulatedSteps, SurrogateGradient
from hideseek.train.gradients import gradient, parameters_of

IMAGES = Samples(seeded(1).normals(6, 3, 8, 8), torch.eye(4)[torch.arange(6) % 4])


@pytest.mark.parametrize("model", ["lenet", "small-resnet"])
def test_simulated_steps_are_a_clients_update(model: str) -> None:
    scheme = ShareUpdates(model, batch=2, local_steps=3, rate=0.1, sends="weights")
    release, secret = scheme.hide(IMAGES, None, seeded(1))
    rows = IMAGES.take(secret.holds(torch.tensor([0]))[0])
    network = release.models[0].network().train()
    view = SimulatedSteps(network, parameters_of(network), release.scheme.work)
    found = view.tensors(rows.pixels(), rows.labels)
    for name, each in zip(view.parameters, found, strict=True):
        torch.testing.assert_close(each.detach(), release.updates[0][name], rtol=1e-4, atol=1e-6)


def test_steps_of_a_linear_model_as_in_numpy() -> None:
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 4))
    view = SimulatedSteps(network, parameters_of(network), ShareUpdates("lenet", 2, 3, 2, 0.1, sends="weights").work)
    found = [each.detach().numpy() for each in view.tensors(IMAGES.pixels(), IMAGES.labels)]
    x, y = IMAGES.pixels().flatten(1).double().numpy(), IMAGES.labels.double().numpy()
    w, b = (each.detach().double().numpy().copy() for each in view.parameters.values())
    first = w.copy(), b.copy()
    for _ in range(2):
        for some in (slice(0, 2), slice(2, 4), slice(4, 6)):
            logits = x[some] @ w.T + b
            p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
            error = (p - y[some]) / 2
            w, b = w - 0.1 * error.T @ x[some], b - 0.1 * error.sum(0)
    np.testing.assert_allclose(found[0], first[0] - w, atol=1e-5)
    np.testing.assert_allclose(found[1], first[1] - b, atol=1e-5)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_surrogates_at_both_ends_are_gradients_of_both_states(share: float) -> None:
    release, _ = ShareUpdates("lenet", batch=2, local_steps=3, rate=0.5, sends="weights").hide(IMAGES, None, seeded(1))
    network, update = release.models[0].network(), release.updates[0]
    before = parameters_of(network)
    view = SurrogateGradient.between(network, before, update)
    assert view.share.item() == 0.5
    with torch.no_grad():
        view.share.fill_(share)
    found = view.tensors(IMAGES.pixels(), IMAGES.labels)
    state = {name: (each - share * update[name]).detach().requires_grad_() for name, each in before.items()}
    for one, other in zip(found, gradient(network, state, IMAGES.pixels(), IMAGES.labels).values(), strict=True):
        torch.testing.assert_close(one.detach(), other, rtol=1e-4, atol=1e-6)
