"""The client's check of a model: attacks of the literature are named and nothing is sent; honest models pass."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from hideseek.federate.messages import UPDATE
from hideseek.federate.received_model import received_model
from hideseek.hide.updates import ShareUpdates
from hideseek.models import build
from hideseek.train.gradients import local_steps, parameters_of
from hideseek.train.worker import torch_seed
from local_parties import agreement, faces, parties, server

State = dict[str, Tensor]
DENSE = agreement(ShareUpdates("relu-dense", batch=16, mode="eval"))
LENET = agreement(ShareUpdates("lenet", batch=16, mode="eval"))
HONEST = (
    "small-resnet", "small-resnet-absolute", "small-resnet-masked", "convnet", "lenet", "tanh-dense", "resnet20",
    "classifier", "relu-dense", "linear",
)  # fmt: skip


def first(state: State, dimensions: int = 2) -> str:
    return next(name for name, tensor in state.items() if tensor.ndim == dimensions)


def trap(state: State, scale: float = 0.5) -> State:
    """Boenisch et al. 2023: half of a row's weights negative, the others a scaled copy of them, positive."""
    name = first(state)
    chance = torch.Generator().manual_seed(5)
    rows, count = state[name].shape
    half = torch.randn(rows, count // 2, generator=chance).abs() * float(state[name].std())
    both = torch.cat([-half, scale * half, torch.zeros(rows, count - 2 * (count // 2))], 1)
    order = torch.rand(rows, count, generator=chance).argsort(1)
    return {**state, name: both.gather(1, order)}


def imprint(state: State) -> State:
    """Fowl et al. 2022: every neuron measures the brightness, under a threshold of its own."""
    name = first(state)
    rows, count = state[name].shape
    row = torch.ones(count) / count
    bias = name.replace("weight", "bias")
    return {**state, name: row * torch.linspace(1, 2, rows)[:, None], bias: torch.linspace(-2, 2, rows)}


def passing_on(state: State) -> State:
    """Boenisch et al. 2023: convolutions that hand images to a dense layer as they are."""
    name = first(state, 4)
    tensor = torch.zeros_like(state[name])
    tensor[torch.arange(len(tensor)), 0, 2, torch.arange(len(tensor)) % 5] = torch.linspace(1, 2, len(tensor))
    return {**state, name: tensor}


def fishing(state: State) -> State:
    """Wen et al. 2022: a last layer that answers to one class alone."""
    name = [name for name, tensor in state.items() if tensor.ndim == 2][-1]
    tensor = state[name].clone()
    tensor[1:] = 0
    return {**state, name: tensor}


@pytest.mark.parametrize(
    ("attack", "said"),
    [
        (imprint, "imprint layer"),
        (trap, "trap weights"),
        (lambda state: {**state, first(state): torch.ones_like(state[first(state)])}, "rows that are"),
        (lambda state: {**state, first(state): state[first(state)] * 0}, "rows that are equal, or nothing"),
        (lambda state: {**state, first(state): state[first(state)] * 1e7}, "weights above"),
        (lambda state: {**state, first(state): state[first(state)] * float("nan")}, "not finite"),
        (lambda state: {**state, "more": torch.zeros(2)}, "also holds more"),
        (lambda state: {**state, first(state): state[first(state)].T}, "is of"),
        (lambda state: {name: tensor for name, tensor in state.items() if name != first(state)}, "lacks"),
        (lambda state: {**state, first(state): state[first(state)].long()}, "int64"),
        (lambda state: build("lenet", DENSE.shape, 2).state_dict(), "another model"),
    ],
)  # fmt: skip
def test_a_malicious_model_is_named_and_nothing_is_sent(
    tmp_path: Path, attack: Callable[[State], State], said: str
) -> None:
    run = server(tmp_path, DENSE, parties(tmp_path, 2))
    answers = run.parties.ask({0: run.message(UPDATE, {"round": 1}, attack(run.initial_state()))}, 1.0)
    assert said in answers[0].error
    assert not answers[0].tensors


def test_convolutions_that_pass_images_on_and_a_head_that_fishes() -> None:
    state = build("lenet", LENET.shape, 2).state_dict()
    with pytest.raises(Exception, match="single weight"):
        received_model(passing_on(state), LENET)
    ten = replace(DENSE, classes=tuple("abcdefghij"))
    with pytest.raises(Exception, match="equal, or nothing"):
        received_model(fishing(build("relu-dense", ten.shape, 10).state_dict()), ten)


def test_mild_trap_weights_are_not_found() -> None:
    """What the check cannot see, so that nobody believes that it does: a server that is patient enough passes it."""
    received_model(trap(build("relu-dense", DENSE.shape, 2).state_dict(), scale=0.9), DENSE)


@pytest.mark.parametrize("name", HONEST)
def test_honest_models_pass_before_and_after_training(name: str) -> None:
    images = faces()
    agreed = agreement(ShareUpdates(name, batch=16, mode="train"))
    for seed in (1, 2):
        with torch_seed(seed):
            network = build(name, images.shape, 2)
        received_model(network.state_dict(), agreed)
    after = local_steps(network.train(), parameters_of(network), images.pixels(), images.labels, 32, 2, 0.1)
    trained = {name: tensor.detach() for name, tensor in after.items()}
    received_model({**network.state_dict(), **trained}, agreed)
