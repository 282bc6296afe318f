"""The training loop: against a bare loop, stopped and resumed, diverging."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import toys
from hideseek.errors import BadInput
from hideseek.records import Samples
from hideseek.train.checkpoint import Checkpoints
from hideseek.train.fit import fit
from hideseek.train.loop import Diverged, Objective, step_seed
from hideseek.train.schedules import Cosine, Steps
from hideseek.train.state_files import read_state, write_state
from hideseek.train.training import SGD, AdamW, Muon, Training

TRAINING = Training(3, 8, SGD(0.05, 0.9, 1e-3), Cosine())


@dataclass
class InOrder:
    """Batches in their order; the process may be made to die after some of them."""

    samples: Samples
    batch: int = 8
    dies_after: int = -1

    @property
    def steps(self) -> int:
        return len(self.samples) // self.batch

    def epoch(self, number: int, first: int) -> Iterator[tuple[Tensor, Tensor]]:
        for step in range(first, self.steps):
            if number * self.steps + step == self.dies_after:
                raise KeyboardInterrupt
            rows = slice(step * self.batch, (step + 1) * self.batch)
            yield self.samples.pixels(rows), self.samples.labels[rows]


def network() -> nn.Module:
    torch.manual_seed(0)
    layers = (nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Dropout(0.3), nn.Linear(400, 3))
    return nn.Sequential(*layers)


def cross_entropy(model: nn.Module, batch: tuple[Tensor, ...]) -> tuple[Tensor, dict[str, Tensor]]:
    images, labels = batch
    return nn.functional.cross_entropy(model(images), labels), {}


def test_it_does_what_a_bare_loop_does() -> None:
    samples, ours, theirs = toys.patterns(40), network(), network()
    fit(ours, InOrder(samples), cross_entropy, TRAINING, seed=7)
    optimiser = torch.optim.SGD(theirs.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3)
    for epoch in range(3):
        for step in range(5):
            rows = slice(8 * step, 8 * step + 8)
            torch.manual_seed(step_seed(7, epoch, step, rank=0))
            optimiser.param_groups[0]["lr"] = 0.05 * Cosine().factor((epoch + (step + 0.5) / 5) / 3)
            optimiser.zero_grad()
            nn.functional.cross_entropy(theirs(samples.images[rows]), samples.labels[rows]).backward()
            optimiser.step()
    for one, other in zip(ours.state_dict().values(), theirs.state_dict().values(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_it_leaves_the_callers_generator_alone() -> None:
    torch.manual_seed(5)
    fit(network(), InOrder(toys.patterns(16)), cross_entropy, TRAINING)
    torch.manual_seed(5)
    before = torch.rand(1)
    torch.manual_seed(5)
    model = network().train()  # draws weights
    torch.manual_seed(5)
    fit(model, InOrder(toys.patterns(16)), cross_entropy, TRAINING)
    assert torch.equal(torch.rand(1), before)


@pytest.mark.parametrize("optimiser", [SGD(0.05), AdamW(0.01), Muon(0.05)])
@pytest.mark.parametrize("dies_after", [2, 5, 7, 14])
def test_a_killed_training_goes_on_to_the_same_result(
    tmp_path: Path, optimiser: SGD | AdamW | Muon, dies_after: int
) -> None:
    training = Training(3, 8, optimiser, Steps((0.5,)))
    samples, whole, stopped = toys.patterns(40), network(), network()
    expected = fit(whole, InOrder(samples), cross_entropy, training, seed=3)
    checkpoints = Checkpoints(tmp_path / "checkpoint", every=0)
    with pytest.raises(KeyboardInterrupt):
        fit(stopped, InOrder(samples, dies_after=dies_after), cross_entropy, training, seed=3, checkpoints=checkpoints)
    resumed = network()
    history = fit(resumed, InOrder(samples), cross_entropy, training, seed=3, checkpoints=checkpoints)
    for one, other in zip(whole.state_dict().values(), resumed.state_dict().values(), strict=True):
        assert torch.equal(one, other)
    assert [epoch["loss"] for epoch in history] == pytest.approx([epoch["loss"] for epoch in expected], rel=1e-5)


@pytest.mark.parametrize("wrong", ["weights", "epoch", "history", "more", "further"])
def test_a_checkpoint_that_cannot_be_is_refused(tmp_path: Path, wrong: str) -> None:
    checkpoints, model = Checkpoints(tmp_path / "checkpoint"), network()
    fit(model, InOrder(toys.patterns(16)), cross_entropy, TRAINING, checkpoints=checkpoints)
    tensors, about = read_state(checkpoints.path, "checkpoint")
    if wrong == "weights":
        next(tensor for name, tensor in tensors.items() if name.startswith("network.")).fill_(torch.nan)
    position = about["position"]
    position |= {"epoch": {"epoch": -1}, "history": {"history": []}, "more": {"more": 1}}.get(wrong, {})
    write_state(checkpoints.path, tensors, {**about, **({"further": 1} if wrong == "further" else {})})
    with pytest.raises(BadInput, match="does not fit this model"):
        fit(network(), InOrder(toys.patterns(16)), cross_entropy, TRAINING, checkpoints=checkpoints)


def test_a_finished_training_has_nothing_left_to_do(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "checkpoint")
    model = network()
    history = fit(model, InOrder(toys.patterns(16)), cross_entropy, TRAINING, checkpoints=checkpoints)
    again = network()
    same = fit(again, InOrder(toys.patterns(16)), cross_entropy, TRAINING, checkpoints=checkpoints)
    assert same == history
    assert all(torch.equal(a, b) for a, b in zip(again.parameters(), model.parameters(), strict=True))


def _exploding(after: int) -> Objective:
    seen = 0

    def objective(model: nn.Module, batch: tuple[Tensor, ...]) -> tuple[Tensor, dict[str, Tensor]]:
        nonlocal seen
        seen += 1
        loss, _ = cross_entropy(model, batch)
        return loss * (float("nan") if seen > after else 1.0), {}

    return objective


def test_a_diverging_training_keeps_its_last_good_state(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "checkpoint", every=0)
    with pytest.raises(Diverged, match=r"diverged in epoch 2.*lower the learning rate .*kept in"):
        fit(network(), InOrder(toys.patterns(40)), _exploding(after=8), TRAINING, checkpoints=checkpoints)
    resumed = network()
    fit(resumed, InOrder(toys.patterns(40)), cross_entropy, TRAINING, checkpoints=checkpoints)
    assert all(parameter.isfinite().all() for parameter in resumed.parameters())


def test_a_diverging_training_stops_without_checkpoints_too() -> None:
    with pytest.raises(Diverged, match="epoch 1"):
        fit(network(), InOrder(toys.patterns(40)), _exploding(after=0), TRAINING)


def test_a_huge_rate_diverges() -> None:
    training = Training(3, 8, SGD(1e30))
    with pytest.raises(Diverged):
        fit(network(), InOrder(toys.patterns(40)), cross_entropy, training)


def test_a_damaged_checkpoint_is_refused_and_left(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "checkpoint")
    fit(network(), InOrder(toys.patterns(16)), cross_entropy, TRAINING, checkpoints=checkpoints)
    damaged = bytearray(checkpoints.path.read_bytes())
    damaged[-1] ^= 1
    checkpoints.path.write_bytes(damaged)
    with pytest.raises(BadInput, match=r"checkpoint .* is damaged"):
        fit(network(), InOrder(toys.patterns(16)), cross_entropy, TRAINING, checkpoints=checkpoints)
    assert checkpoints.path.read_bytes() == bytes(damaged)


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    owned = Checkpoints(path, owner={"model": "a"})
    fit(network(), InOrder(toys.patterns(16)), cross_entropy, TRAINING, checkpoints=owned)
    with pytest.raises(BadInput, match=r"other settings \(model\)"):
        other = Checkpoints(path, owner={"model": "b"})
        fit(network(), InOrder(toys.patterns(16)), cross_entropy, TRAINING, checkpoints=other)
    with pytest.raises(BadInput, match="does not fit this model"):
        fit(nn.Linear(3, 3), InOrder(toys.patterns(16)), cross_entropy, TRAINING, checkpoints=owned)
