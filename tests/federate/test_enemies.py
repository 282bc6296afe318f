"""Enemies: updates and encodings that are refused by name, what no check can refuse, and what bounds the harm of it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from hideseek.errors import BadInput
from hideseek.federate.encodings import collected
from hideseek.federate.gradients import Received, checked, run_gradients
from hideseek.federate.messages import CONFIG, DESCRIBE, EXAMPLES, METRICS, SHARD, UPDATE, Message
from hideseek.federate.metrics import read_metrics
from hideseek.federate.server import Server
from hideseek.hide import InstaHide
from hideseek.hide.updates import ShareUpdates
from local_parties import Behaviour, LocalParties, agreement, parties, server

pytest.importorskip("flwr")
from hideseek.federate.flower.strategies import STRATEGIES, FlowerAggregate

UPDATES = ShareUpdates("small-resnet", batch=16, local_steps=4, rate=0.1, sends="weights")
ENCODINGS = replace(agreement(InstaHide(k=4)), model="tanh-dense")


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> tuple[Server, dict[str, Tensor]]:
    run = server(tmp_path_factory.mktemp("asking"), agreement(UPDATES), LocalParties({}))
    return run, run.initial_state()


def honest(run: Server, state: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Give an update that changes nothing, and the statistics as they are."""
    network = run.trained(state).network
    buffers = {name: each.clone() for name, each in network.named_buffers()}
    return {name: torch.zeros_like(each) for name, each in network.named_parameters()}, buffers


def sent(update: Any, buffers: Any, examples: Any = 64, **more: Any) -> Message:
    return Message(UPDATE, {"update": update, "buffers": buffers, **more}, {METRICS: {EXAMPLES: examples}})


def end(names: Mapping[str, Tensor], ending: str) -> str:
    return next(name for name in names if name.endswith(ending))


@pytest.mark.parametrize(
    ("ending", "value", "said"),
    [
        ("running_mean", float("nan"), "not finite"),
        ("running_var", float("inf"), "not finite"),
        ("running_var", -1.0, "below 0"),
        ("running_mean", 1e12, "which no images have"),
        ("num_batches_tracked", 1e18, "which no images have"),
    ],
)
def test_running_statistics_that_cannot_be(asking: tuple[Server, Any], ending: str, value: float, said: str) -> None:
    update, buffers = honest(*asking)
    name = end(buffers, ending)
    with pytest.raises(BadInput, match=said):
        checked(
            asking[0],
            0,
            asking[1],
            sent(update, {**buffers, name: torch.full_like(buffers[name], value, dtype=torch.float64)}),
        )


def test_updates_that_cannot_be(asking: tuple[Server, Any]) -> None:
    """Other types, tensors of other places, numbers that only float64 has, and counts that are none."""
    update, buffers = honest(*asking)
    name = next(iter(update))
    for message, said in (
        (sent({**update, name: update[name].to(torch.complex64)}, buffers), "complex64"),
        (sent({**update, name: update[name].bool()}, buffers), "bool"),
        (sent({**update, name: torch.full_like(update[name], 1e300, dtype=torch.float64)}, buffers), "the norm inf"),
        (sent({**update, "../../model": torch.zeros(2)}, buffers), "also holds"),
        (sent({**update, **buffers}, buffers), "also holds"),
        (sent({}, buffers), "lacks"),
        (sent(update, {name: update[name]}), "lacks"),
        (sent(update, buffers, examples=float("nan")), "counts nan"),
        (sent(update, buffers, examples=0.5), "counts 0.5"),
        (sent(update, buffers, examples=65), "counts 65"),
        (sent(update, buffers, examples=[64, 64]), "counts nan"),
        (sent(update, buffers, images={"x": torch.zeros(2)}), "nobody asked for"),
        (Message(UPDATE), "lacks"),
        (Message(UPDATE, error="I would rather not"), "I would rather not"),
    ):
        with pytest.raises(BadInput, match=said):
            checked(asking[0], 0, asking[1], message)
    assert checked(asking[0], 0, asking[1], sent(update, buffers)).examples == 64


def test_a_lie_about_the_number_of_images_weighs_no_more_than_was_agreed(tmp_path: Path) -> None:
    """A party of 53 images may claim 64, all that an update can be of: its weight grows by that alone."""

    def lying(asked: Message, answers: Any) -> Message | None:
        answer: Message = answers(asked)
        return replace(answer, numbers={METRICS: {EXAMPLES: 64}}) if asked.kind == UPDATE else answer

    agreed = agreement(replace(UPDATES, model="tanh-dense"), rounds=1)
    run_gradients(server(tmp_path, agreed, parties(tmp_path, 3, {2: lying})), FlowerAggregate("fedavg"))
    assert read_metrics(tmp_path / "out")[1]["examples"] <= 160 + (64 - 53)


def received(count: int, seed: int) -> tuple[dict[str, Tensor], list[Received]]:
    chance = torch.Generator().manual_seed(seed)
    state = {"w": torch.randn(4, 3, generator=chance), "b": torch.randn(3, generator=chance), "n": torch.tensor(7)}
    near = [
        {name: each + 0.1 * torch.randn(each.shape, generator=chance) if each.is_floating_point() else each
         for name, each in state.items()}
        for _ in range(count)
    ]  # fmt: skip
    return state, [Received(place, each, 10 + place) for place, each in enumerate(near)]


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_keeps_names_shapes_and_types(name: str) -> None:
    state, updates = received(6, 1)
    strategy = FlowerAggregate(name)
    for round_ in (1, 2):
        after = strategy(round_, state, updates)
        assert {key: (each.shape, each.dtype) for key, each in after.items()} == {
            key: (each.shape, each.dtype) for key, each in state.items()
        }
        assert not torch.equal(after["w"], state["w"])
        state, updates = after, received(6, 2)[1]


@pytest.mark.parametrize("name", ["fedavgm", "fedadam"])
def test_momentum_is_taken_up_again(name: str) -> None:
    state, updates = received(4, 2)
    strategy, other = FlowerAggregate(name), FlowerAggregate(name)
    middle = strategy(1, state, updates)
    other.recall(strategy.memory())
    whole, resumed, fresh = (each(2, middle, updates) for each in (strategy, other, FlowerAggregate(name)))
    assert torch.equal(whole["w"], resumed["w"])
    assert not torch.equal(whole["w"], fresh["w"])


@pytest.mark.parametrize("name", ["trimmed-mean", "fedmedian", "krum", "multi-krum"])
@pytest.mark.parametrize("scale", [-1e3, 1e3, 1e6])
def test_one_of_ten_that_passes_all_checks_cannot_move_a_robust_model_beyond_the_others(
    name: str, scale: float
) -> None:
    """An update that is finite and dominates an average: every weight stays between those of the honest nine."""
    state, updates = received(10, 3)
    enemy = {key: scale * torch.ones_like(each) if key != "n" else each for key, each in state.items()}
    mixed = [*updates[:9], Received(9, enemy, 1000)]
    robust, average = FlowerAggregate(name)(1, state, mixed), FlowerAggregate("fedavg")(1, state, mixed)
    for key in ("w", "b"):
        kept = torch.stack([each.state[key] for each in updates[:9]])
        low, high = kept.amin(0) - 1e-5, kept.amax(0) + 1e-5
        assert bool(((low <= robust[key]) & (robust[key] <= high)).all())
        assert not bool(((low <= average[key]) & (average[key] <= high)).all())


def redescribing(change: Any) -> Behaviour:
    def behave(asked: Message, answers: Any) -> Message | None:
        answer: Message = answers(asked)
        if asked.kind != DESCRIBE:
            return answer
        about = json.loads(str(answer.words[CONFIG]["description"]))
        change(about)
        return replace(answer, words={CONFIG: {"description": json.dumps(about)}})

    return behave


def empty_shards(about: dict[str, Any]) -> None:
    about["shards"] += [{"rows": 0, "blake3": "00"}] * 1000


def named_shards(about: dict[str, Any]) -> None:
    about["shards"][0]["name"] = "../../../metrics.jsonl"


def other_public(about: dict[str, Any]) -> None:
    about["public"] = {"images": 3, "blake3": "00"}


def negative_rows(about: dict[str, Any]) -> None:
    about["shards"][0]["rows"] = -1


def given_away(about: dict[str, Any]) -> None:
    about["given_away"] = ["weights"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (empty_shards, "shards without encodings"), (named_shards, "does not describe"),
        (other_public, "other public images"), (negative_rows, "does not describe"), (given_away, "stay secret"),
    ],
)  # fmt: skip
def test_descriptions_that_cannot_be(tmp_path: Path, change: Any, said: str) -> None:
    rows = collected(server(tmp_path, ENCODINGS, parties(tmp_path, 3, {1: redescribing(change)})), 0)
    assert len(rows) in (106, 107)
    assert said in (tmp_path / "out" / "refused.jsonl").read_text()


def test_an_unchecked_description_of_a_killed_server_is_checked(tmp_path: Path) -> None:
    """A server that was killed between writing a description and checking it has the file, and must not trust it."""
    spoilt: list[str] = []

    def behave(asked: Message, answers: Any) -> Message | None:
        answer = redescribing(given_away)(asked, answers)
        if asked.kind == DESCRIBE and answer is not None:
            from blake3 import blake3

            text = str(answer.words[CONFIG]["description"])
            folder = tmp_path / "out" / "pool" / "00000" / blake3(text.encode()).hexdigest()[:32]
            folder.mkdir(parents=True)
            (folder / "release.json").write_text(text)
            spoilt.append(text)
        return answer

    rows = collected(server(tmp_path, ENCODINGS, parties(tmp_path, 3, {1: behave})), 0)
    assert spoilt
    assert len(rows) in (106, 107)


def test_encodings_of_an_earlier_round_are_not_trained_on_again(tmp_path: Path) -> None:
    """A party that answers every round with its first encodings is refused from the second on."""

    def replaying(asked: Message, answers: Callable[[Message], Message]) -> Message | None:
        first = {CONFIG: {**asked.numbers[CONFIG], "round": 0}}
        return answers(replace(asked, numbers=first) if asked.kind in (DESCRIBE, SHARD) else asked)

    run = server(tmp_path, replace(ENCODINGS, again=True), parties(tmp_path, 3, {1: replaying}))
    assert len(collected(run, 0)) == 160
    assert len(collected(run, 1)) in (106, 107)
    assert "sent before" in (tmp_path / "out" / "refused.jsonl").read_text()
