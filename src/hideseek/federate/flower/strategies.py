"""Flower's own strategies, by name, as ways to put updates together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from flwr.app import Array, ArrayRecord, MetricRecord, RecordDict
from flwr.serverapp import strategy as flower

from hideseek.errors import BadInput, no_such
from hideseek.federate.gradients import Aggregate, Received, State

HOSTILE = 0.2  # the share of parties that robust strategies stand, about
MOMENTUM = 0.9  # of fedavgm: Hsu et al. 2019
FEW: dict[str, Any] = {"min_train_nodes": 1, "min_available_nodes": 1}


def _hostile(parties: int) -> int:
    return max(1, round(HOSTILE * parties))


STRATEGIES: dict[str, Callable[[int], flower.FedAvg]] = {
    "fedavg": lambda parties: flower.FedAvg(**FEW),
    "fedprox": lambda parties: flower.FedProx(**FEW),  # the proximal term is the clients'
    "fedmedian": lambda parties: flower.FedMedian(**FEW),
    "trimmed-mean": lambda parties: flower.FedTrimmedAvg(beta=HOSTILE, **FEW),
    "krum": lambda parties: flower.Krum(num_malicious_nodes=_hostile(parties), **FEW),
    "multi-krum": lambda parties: flower.MultiKrum(
        num_malicious_nodes=_hostile(parties), num_nodes_to_select=max(1, parties - _hostile(parties)), **FEW
    ),
    "fedadam": lambda parties: flower.FedAdam(**FEW),
    "fedavgm": lambda parties: flower.FedAvgM(server_momentum=MOMENTUM, **FEW),
}
KEPT = ("fedadam", "fedavgm")  # have momentum, and must be the same object in all rounds

LISTED = "momentum_vector"
MEMORIES = ("m_t", "v_t", LISTED)  # where they keep it


@dataclass
class FlowerAggregate(Aggregate):
    """A strategy of Flower's that is given the weights of every party, and the number of its images."""

    name: str
    kept: dict[str, flower.FedAvg] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.name not in STRATEGIES:
            raise no_such("strategy", self.name, STRATEGIES)

    def __call__(self, round_: int, state: State, received: Sequence[Received]) -> State:
        """Aggregate floats by the strategy; counters are those of the party with the most images."""
        strategy = self.kept.get("strategy") or STRATEGIES[self.name](len(received))
        if self.name in KEPT:
            self.kept["strategy"] = strategy
            _give(strategy, state)
        replies = [_reply(each) for each in received]
        found, _ = strategy.aggregate_train(round_, replies)
        if found is None:
            raise BadInput(f"the strategy {self.name} could not put {len(received)} updates together.")
        largest = max(received, key=lambda each: each.examples)
        merged = {name: torch.from_numpy(array.numpy().copy()) for name, array in found.items()}
        return {
            name: merged[name].to(tensor.dtype).reshape(tensor.shape) if name in merged else largest.state[name]
            for name, tensor in state.items()
        }

    def memory(self) -> State:
        """Give the momentum, by the name of the strategy's own field and a number or name in it."""
        found: State = {}
        for field_ in MEMORIES:
            held = getattr(self.kept.get("strategy"), field_, None) or {}
            named = held if isinstance(held, dict) else dict(enumerate(held))
            found |= {f"{field_}/{key}": torch.from_numpy(array.copy()) for key, array in named.items()}
        return found

    def recall(self, memory: State) -> None:
        """Take up the momentum of a run that was stopped."""
        if not memory:
            return
        strategy = self.kept["strategy"] = STRATEGIES[self.name](1)
        for field_ in MEMORIES:
            held = {key.partition("/")[2]: each.numpy() for key, each in memory.items() if key.startswith(f"{field_}/")}
            if held and hasattr(strategy, field_):
                numbered = field_ == LISTED
                setattr(strategy, field_, [held[str(place)] for place in range(len(held))] if numbered else held)


def _give(strategy: flower.FedAvg, state: State) -> None:
    """Tell a strategy with momentum what the model was before the round, in the form that it keeps it in."""
    before = _arrays(_floats(state))
    listed = hasattr(strategy, LISTED)
    strategy.current_arrays = before if listed else {name: each.numpy() for name, each in before.items()}  # type: ignore[attr-defined]


def _floats(state: State) -> State:
    return {name: tensor for name, tensor in state.items() if tensor.is_floating_point()}


def _arrays(state: State) -> ArrayRecord:
    return ArrayRecord({name: Array(tensor.detach().cpu().contiguous().numpy()) for name, tensor in state.items()})


@dataclass(frozen=True)
class _Reply:
    """A reply as strategies read it; Flower's own can be made during a run of its alone."""

    content: RecordDict

    def has_error(self) -> bool:
        return False


def _reply(received: Received) -> Any:
    metrics = MetricRecord({"num-examples": received.examples})
    return _Reply(RecordDict({"arrays": _arrays(_floats(received.state)), "metrics": metrics}))
