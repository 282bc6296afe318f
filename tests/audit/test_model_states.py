"""States of one training: the same however long it goes on, from the initial weights to what was learnt."""

import pytest
import torch

import toys
from hideseek.audit.model_states import TrainedState, trained_states
from hideseek.chance import seeded
from hideseek.errors import BadInput

TRAIN, TEST = toys.patterns(120), toys.patterns(60, seed=9)


def states(*epochs: int) -> dict[int, TrainedState]:
    return {each.about.epoch: each for each in trained_states(TRAIN, TEST, "linear", epochs, seeded(1))}


def test_a_state_does_not_depend_on_what_comes_after() -> None:
    long, short = states(0, 1, 6), states(0, 1)
    assert (list(long), list(short)) == ([0, 1, 6], [0, 1])
    for epoch in short:
        first, second = long[epoch].model.state, short[epoch].model.state
        assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(long[6].model.state["head.weight"], long[1].model.state["head.weight"])
    assert list(states(0)) == [0]


def test_accuracies_are_of_images_trained_on_and_of_new_ones() -> None:
    told: list[int] = []
    found = trained_states(TRAIN, TEST, "linear", (0, 6), seeded(1), lambda state: told.append(state.epoch))
    assert told == [0, 6]
    first, last = (each.about for each in found)
    assert last.accuracy.mean > max(0.9, first.accuracy.mean)
    assert (last.accuracy.images, last.new_accuracy and last.new_accuracy.images) == (120, 60)
    logits = TRAIN.pixels().flatten(1) @ found[1].model.state["head.weight"].T + found[1].model.state["head.bias"]
    right = (logits.argmax(1) == TRAIN.labels.argmax(1)).float().mean()
    assert last.accuracy.mean == pytest.approx(float(right))


def test_images_that_were_trained_on_are_not_new() -> None:
    (state,) = trained_states(TRAIN, TRAIN.take(slice(0, 9)), "linear", (0,), seeded(1))
    assert state.about.new_accuracy is None


def test_a_training_that_diverges(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from hideseek.train.training import SGD, automatic

    monkeypatch.setattr(
        "hideseek.audit.model_states.automatic", lambda rows, **_: replace(automatic(rows), optimiser=SGD(1e30))
    )
    with pytest.raises(BadInput, match=r"diverged|not finite"):
        trained_states(TRAIN, None, "linear", (3,), seeded(1))
