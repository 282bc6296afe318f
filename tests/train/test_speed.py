"""How fast a machine is: what is made of the times, not the times."""

from collections.abc import Iterator

import pytest
import torch

from hideseek.errors import BadInput
from hideseek.models import build
from hideseek.train.speed import _seconds, _training, training_speed, unit_seconds

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    unit_seconds.cache_clear()
    yield
    unit_seconds.cache_clear()


def test_a_unit_is_a_multiplication_of_the_product_and_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.5])
    monkeypatch.setattr("hideseek.train.speed._seconds", lambda *_: next(times))
    assert unit_seconds() == pytest.approx(0.5 / 1024**3)
    assert unit_seconds() == pytest.approx(0.5 / 1024**3)


def test_the_shortest_time_counts_after_a_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    clock = iter([0.0, 9.0, 10.0, 11.0, 20.0, 23.0, 30.0, 32.0, 40.0, 44.0])
    monkeypatch.setattr("hideseek.train.speed.time.thread_time", lambda: next(clock))
    assert _seconds(lambda: calls.append(1), 5.0, CPU) == 1.0
    assert len(calls) == 7


def test_a_training_is_as_fast_as_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hideseek.train.speed._seconds", lambda *_: 0.5)
    assert training_speed("lenet", (1, 8, 8), 3, 16) == 32


def test_a_step_trains_every_parameter_and_leaves_chance_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    network = build("lenet", (1, 8, 8), 3)
    monkeypatch.setattr("hideseek.train.speed.build", lambda *_: network)
    before, first = torch.get_rng_state(), [parameter.clone() for parameter in network.parameters()]
    _training("lenet", (1, 8, 8), 3, 16, CPU)()
    assert torch.equal(torch.get_rng_state(), before)
    assert all(not torch.equal(*pair) for pair in zip(first, network.parameters(), strict=True))


def test_a_model_that_is_not_there_is_refused() -> None:
    with pytest.raises(BadInput, match="no model"):
        training_speed("lenett", (1, 8, 8), 3, 16)
