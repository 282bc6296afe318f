"""The protocol gradients: sums against references, parties that fail or cheat, and a server that is stopped."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from hideseek.errors import BadInput
from hideseek.federate.gradients import Received, State, run_gradients
from hideseek.federate.messages import UPDATE, Message
from hideseek.federate.server import read_metrics
from hideseek.hide import InstaHide
from hideseek.hide.updates import GradientPruning, ShareUpdates
from hideseek.models import build
from hideseek.train.gradients import gradient, local_steps, parameters_of
from local_parties import Behaviour, agreement, faces, parties, server

pytest.importorskip("flwr")
from hideseek.federate.flower.strategies import FlowerAggregate

PLAIN = ShareUpdates("lenet", batch=16, local_steps=4, rate=0.1, sends="weights", mode="eval")
FEDAVG = FlowerAggregate("fedavg")


def test_an_average_of_gradients_is_a_gradient_of_all_images(tmp_path: Path) -> None:
    """FedSGD of all images of all parties is one step of gradient descent on their union."""
    scheme = ShareUpdates("lenet", batch=160, rate=0.5, mode="eval")
    run = server(tmp_path, agreement(scheme, rounds=1), parties(tmp_path, 3))
    after = run_gradients(run, FEDAVG)
    images, network = faces(), build("lenet", faces().shape, 2)
    network.load_state_dict(server(tmp_path / "again", run.agreement, run.parties).initial_state())
    before = parameters_of(network)
    found = gradient(network.eval(), before, images.pixels(), images.labels)
    for name, tensor in before.items():
        torch.testing.assert_close(after[name], tensor.detach() - 0.5 * found[name], rtol=1e-4, atol=1e-6)


def test_fedprox_without_its_term_is_refused(tmp_path: Path) -> None:
    plain = agreement(ShareUpdates("tanh-dense", 8, 1, 1, 0.1))
    with pytest.raises(BadInput, match="fedprox without a proximal term is fedavg"):
        server(tmp_path, plain, parties(tmp_path, 2), strategy="fedprox")
    server(tmp_path, replace(plain, proximal=0.1), parties(tmp_path, 2), strategy="fedprox")


def test_fedprox_pulls_back_to_the_model_that_was_sent() -> None:
    """On a linear model, two steps against a few lines of NumPy."""
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2, bias=False))
    images, labels = (
        torch.randn(6, 1, 2, 2, generator=torch.Generator().manual_seed(1)),
        torch.eye(2)[[0, 1, 0, 1, 1, 0]],
    )
    after = local_steps(network, parameters_of(network), images, labels, 6, 2, 0.3, proximal=0.7)["1.weight"]
    x, y, first = images.flatten(1).numpy(), labels.numpy(), network[1].weight.detach().numpy()  # type: ignore[operator]
    w = first.copy()
    for _ in range(2):
        logits = x @ w.T
        p = np.exp(logits - logits.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        w = w - 0.3 * ((p - y).T @ x / len(x) + 0.7 * (w - first))
    np.testing.assert_allclose(after.detach().numpy(), w, rtol=1e-5, atol=1e-6)


def test_part_of_the_parties_is_asked(tmp_path: Path) -> None:
    who = parties(tmp_path, 5)
    run_gradients(server(tmp_path, agreement(PLAIN, rounds=3), who, fraction=0.4, least=2), FEDAVG)
    asked = [sorted(each["parties"]) for each in read_metrics(tmp_path / "out")[1:]]
    assert [len(each) for each in asked] == [2, 2, 2]
    assert len({tuple(each) for each in asked}) > 1
    assert len([message for _, message in who.asked if message.kind == UPDATE]) == 6


def test_images_are_encoded_and_dealt_out_anew_in_every_round(tmp_path: Path) -> None:
    scheme = replace(PLAIN, local_steps=1, encoding=InstaHide(k=4), defences=(GradientPruning(0.5),))
    who = parties(tmp_path, 2)
    run_gradients(server(tmp_path, agreement(scheme, rounds=2), who), FEDAVG)
    updates = [message.tensors["update"] for _, message in who.answered if message.kind == UPDATE]
    assert len(updates) == 4
    for update in updates:
        for tensor in update.values():
            assert int((tensor == 0).sum()) >= math.floor(0.5 * tensor.numel())
    assert not torch.equal(updates[0]["features.0.weight"], updates[2]["features.0.weight"])


def silent(asked: Message, honest: object) -> Message | None:
    return None


def test_a_party_that_never_answers_is_left_out(tmp_path: Path) -> None:
    """The run ends with the weights that it has without that party."""
    agreed = agreement(PLAIN)
    whole = parties(tmp_path, 3, {1: silent})
    with_silent = run_gradients(server(tmp_path, agreed, whole), FEDAVG)
    few = parties(tmp_path / "few", 3)
    few.settings = {place: each for place, each in few.settings.items() if place != 1}
    without = run_gradients(server(tmp_path / "few", agreed, few), FEDAVG)
    for name, tensor in without.items():
        torch.testing.assert_close(with_silent[name], tensor)
    assert "did not answer in time" in (tmp_path / "out" / "refused.jsonl").read_text()


def test_a_party_that_comes_back_takes_part_again(tmp_path: Path) -> None:
    calls = []

    def away_first(asked: Message, honest: Behaviour) -> Message | None:
        calls.append(asked)
        return None if len(calls) == 1 else honest(asked)  # type: ignore[call-arg]

    run_gradients(server(tmp_path, agreement(PLAIN, rounds=2), parties(tmp_path, 2, {0: away_first})), FEDAVG)  # type: ignore[dict-item]
    assert [len(each["parties"]) for each in read_metrics(tmp_path / "out")[1:]] == [1, 2]


def test_too_few_answers_end_the_run(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="fewer than 2 parties answered"):
        run_gradients(server(tmp_path, agreement(PLAIN), parties(tmp_path, 2, {0: silent}), least=2), FEDAVG)


def test_a_server_that_was_killed_goes_on_after_the_last_finished_round(tmp_path: Path) -> None:
    agreed = agreement(PLAIN, rounds=3)
    whole = run_gradients(server(tmp_path / "whole", agreed, parties(tmp_path / "whole", 2)), FEDAVG)

    class KilledError(Exception):
        pass

    class Killed(FlowerAggregate):
        def __call__(self, round_: int, state: State, received: Sequence[Received]) -> State:
            if round_ == 2:
                raise KilledError
            return super().__call__(round_, state, received)

    with pytest.raises(KilledError):
        run_gradients(server(tmp_path, agreed, parties(tmp_path, 2)), Killed("fedavg"))
    again = parties(tmp_path, 2)
    resumed = run_gradients(server(tmp_path, agreed, again), FEDAVG)
    assert len([message for _, message in again.asked if message.kind == UPDATE]) == 4
    for name, tensor in whole.items():
        torch.testing.assert_close(resumed[name], tensor)
    with pytest.raises(BadInput, match="another agreement"):
        run_gradients(server(tmp_path, replace(agreed, rounds=4), parties(tmp_path, 2)), FEDAVG)


def _changed(change: str) -> Behaviour:
    """Give a party that changes its honest answer."""

    def behave(asked: Message, honest: object) -> Message | None:
        answer: Message = honest(asked)  # type: ignore[operator]
        if asked.kind != UPDATE:
            return answer
        update, examples = dict(answer.tensors["update"]), 4
        name = next(iter(update))
        tensor = update[name].clone()
        if change in ("nan", "inf"):
            tensor[0] = float(change)
        elif change == "huge":
            tensor = tensor + 1e30
        elif change == "shape":
            tensor = tensor[:1]
        elif change == "integers":
            tensor = tensor.round().long()
        elif change == "share":
            examples = 10 * 64
        elif change == "count":
            examples = -1
        update[name] = tensor
        if change == "missing":
            del update[name]
        groups = {"update": update} | ({"images": update} if change == "more" else {})
        return Message(asked.kind, groups, {"metrics": {"num-examples": examples}})

    return behave


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("nan", "not finite"), ("inf", "not finite"), ("huge", "has the norm"), ("shape", "is of"),
        ("integers", "int64"), ("share", "counts 640 images"), ("count", "counts -1 images"),
        ("missing", "lacks"), ("more", "nobody asked for"),
    ],
)  # fmt: skip
def test_what_cannot_be_an_update_is_refused_and_the_others_go_on(tmp_path: Path, change: str, said: str) -> None:
    run = server(tmp_path, agreement(PLAIN, rounds=1), parties(tmp_path, 3, {2: _changed(change)}))
    state = run_gradients(run, FEDAVG)
    assert all(bool(tensor.isfinite().all()) for tensor in state.values())
    assert read_metrics(tmp_path / "out")[-1]["parties"] == [0, 1]
    assert said in (tmp_path / "out" / "refused.jsonl").read_text()


def test_robust_strategies_stand_a_hostile_party(tmp_path: Path) -> None:
    """One of ten parties sends a hundredfold update the wrong way round: an average follows it, others do not."""

    def hostile(asked: Message, honest: object) -> Message | None:
        answer: Message = honest(asked)  # type: ignore[operator]
        if asked.kind != UPDATE:
            return answer
        return replace(answer, tensors={"update": {k: -100 * v for k, v in answer.tensors["update"].items()}})

    agreed = agreement(replace(PLAIN, model="tanh-dense", local_epochs=4), rounds=2)
    found = {}
    for name, behaviours in (
        ("honest", {}),
        ("fedavg", {4: hostile}),
        ("trimmed-mean", {4: hostile}),
        ("krum", {4: hostile}),
    ):
        run = server(tmp_path / name, agreed, parties(tmp_path / name, 10, behaviours))
        run.test = faces()
        run_gradients(run, FlowerAggregate("fedavg" if name == "honest" else name))
        found[name] = read_metrics(tmp_path / name / "out")[-1]["test_accuracy"]
    assert found["honest"] > 0.8
    assert min(found["trimmed-mean"], found["krum"]) > found["honest"] - 0.15
    assert found["fedavg"] < found["honest"] - 0.15


def test_a_model_with_an_imprint_is_named_and_nothing_is_sent(tmp_path: Path) -> None:
    agreed = agreement(replace(PLAIN, model="relu-dense"), rounds=1)
    run = server(tmp_path, agreed, parties(tmp_path, 2))
    state = run.initial_state()
    weight = next(name for name, tensor in state.items() if tensor.ndim == 2)
    row = torch.ones_like(state[weight][0]) / len(state[weight][0])
    bias = weight.replace("weight", "bias")
    crafted = {**state, weight: row.expand_as(state[weight]).clone(), bias: torch.linspace(-2, 2, len(state[bias]))}
    for model, said in (
        (crafted, "rows that are equal"),
        (
            {**state, weight: crafted[weight] * torch.linspace(1, 2, len(state[bias]))[:, None], bias: crafted[bias]},
            "imprint",
        ),
        ({**state, weight: state[weight] * 1e9}, "above 10000"),
        ({**state, weight: state[weight] * float("nan")}, "not finite"),
    ):
        answers = run.parties.ask({0: run.message(UPDATE, {"round": 1}, model)}, 1.0)
        assert said in answers[0].error
        assert not answers[0].tensors
