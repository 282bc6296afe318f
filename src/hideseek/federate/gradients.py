"""The protocol *gradients*: in every round parties send updates of the model, and the server puts them together."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from hideseek.errors import BadInput
from hideseek.federate.messages import EXAMPLES, METRICS, UPDATE, Message, number
from hideseek.federate.metrics import read_metrics
from hideseek.federate.recording import record_received
from hideseek.federate.server import Server
from hideseek.hide.updates import ShareUpdates
from hideseek.hide.updates.update_checks import as_float32, check_update
from hideseek.progress import meter
from hideseek.train.state_files import read_state, write_state

CHECKPOINT = "round.safetensors"
MEMORY = "strategy:"  # before the names of what a strategy remembers, in a checkpoint
HUGE = 1e3  # times the norm of all weights: no update of an honest client is as large
STATISTIC = 1e9  # the largest mean or variance of activations, and the most batches
TRIES = 3  # of a round that too few parties answered

State = dict[str, Tensor]


@dataclass(frozen=True)
class Received:
    """An update that was checked: the party's weights after it, and how many images it is of."""

    party: int
    state: State
    examples: int


class Aggregate(ABC):
    """How the weights of several parties become one."""

    @abstractmethod
    def __call__(self, round_: int, state: State, received: Sequence[Received]) -> State:
        """Put them together."""

    def memory(self) -> State:
        """Give what it remembers of earlier rounds, such as momentum."""
        return {}

    def recall(self, memory: State) -> None:  # noqa: B027 (most remember nothing)
        """Take up what it remembered when a run was stopped."""


def run_gradients(server: Server, aggregate: Aggregate) -> State:
    """Run all rounds, from the last that was finished on, and hand the model back."""
    done, state = _begun(server, aggregate)
    rounds = server.agreement.rounds
    with meter(rounds) as show:
        for round_ in range(done + 1, rounds + 1):
            show(round_ - 1, f"round {round_} of {rounds}")
            received, asked = _collected(server, round_, state)
            state = aggregate(round_, state, received)
            _check_finite(state)
            examples = sum(each.examples for each in received)
            about = {"parties": [each.party for each in received], "asked": asked, "examples": examples}
            _keep(server, aggregate, round_, state, about)
            server.finished(round_, state, about)
    server.hand_back(state)
    return state


def _keep(server: Server, aggregate: Aggregate, round_: int, state: State, about: Mapping[str, object]) -> None:
    """Write the checkpoint of a round, which is finished with it."""
    said = {"round": round_, "agreement": server.agreement.to_json(), "about": about}
    memory = {MEMORY + name: tensor for name, tensor in aggregate.memory().items()}
    write_state(server.settings.out / CHECKPOINT, {**state, **memory}, said)


def _begun(server: Server, aggregate: Aggregate) -> tuple[int, State]:
    """Give the last round that was finished, and its state; or the beginning."""
    path = server.settings.out / CHECKPOINT
    if not path.exists():
        state = server.initial_state()
        _keep(server, aggregate, 0, state, {})
        server.finished(0, state, {})
        return 0, state
    tensors, about = read_state(path, "checkpoint of a federation")
    if about.get("agreement") != server.agreement.to_json():
        raise BadInput(f"{path} is of a federation with another agreement: choose another folder.")
    done = int(about["round"])
    kept = {name: tensor for name, tensor in tensors.items() if not name.startswith(MEMORY)}
    aggregate.recall({name.removeprefix(MEMORY): tensors[name] for name in tensors.keys() - kept.keys()})
    names = server.trained(kept).network.state_dict()  # in their order, which files do not keep and strategies may need
    state = {name: kept[name] for name in names}
    server.tell(f"going on after round {done} of {server.agreement.rounds}.")
    if done not in [each["round"] for each in read_metrics(server.settings.out)]:  # stopped before it was measured
        server.finished(done, state, about["about"])
    return done, state


def _collected(server: Server, round_: int, state: State) -> tuple[list[Received], int]:
    """Ask some parties, and give what of their answers can be used; where these are too few, others are asked too.

    Who has answered is not asked again: its images would be in two messages, of which one is of no use.
    """
    received: dict[int, Received] = {}
    asked: set[int] = set()
    message = server.message(UPDATE, {"round": round_}, state)
    for attempt in range(TRIES):
        chosen = [party for party in server.chosen(round_, attempt) if party not in received]
        asked |= set(chosen)
        answers = server.parties.ask(dict.fromkeys(chosen, message), server.settings.timeout)
        for party in chosen:
            try:
                if party not in answers:
                    raise BadInput("it did not answer in time")
                received[party] = checked(server, party, state, answers[party])
            except BadInput as mistake:
                server.refuse(party, round_, str(mistake))
        if server.settings.record:
            kept = {party: answer for party, answer in answers.items() if party in received}
            record_received(server.settings.out, server.agreement, round_, state, kept)
        if len(received) >= server.settings.least:
            return [received[party] for party in sorted(received)], len(asked)
    raise BadInput(f"round {round_} was tried {TRIES} times, and fewer than {server.settings.least} parties answered.")


def checked(server: Server, party: int, state: State, answer: Message) -> Received:
    """Check an answer, and give the party's weights; what cannot be an update is a BadInput."""
    if answer.error:
        raise BadInput(answer.error)
    where, scheme = "what it sent", server.agreement.scheme
    assert isinstance(scheme, ShareUpdates)  # noqa: S101 (the protocol's)
    network = server.trained(state).network
    trained = {name: each.detach() for name, each in network.named_parameters() if each.requires_grad}
    if extra := sorted(set(answer.tensors) - {"update", "buffers"}):
        raise BadInput(f"it also sent {extra[0]!r}, which nobody asked for")
    update = answer.tensors.get("update", {})
    check_update(update, trained, where)
    update = as_float32(update, trained, where)
    norm, whole = (
        math.sqrt(sum(float(each.double().square().sum()) for each in some.values())) for some in (update, trained)
    )
    if norm > HUGE * max(1.0, whole):
        raise BadInput(f"its update has the norm {norm:.3g}, and all weights together {whole:.3g}")
    examples = number(answer, METRICS, EXAMPLES)
    most = scheme.work.images
    if not (examples.is_integer() and 0 < examples <= most):
        raise BadInput(f"it counts {examples:g} images, and an update is of 1 to {most}")
    factor = scheme.rate if scheme.sends == "gradient" else 1.0
    found = {name: tensor - factor * update[name] if name in update else tensor for name, tensor in state.items()}
    if "buffers" in answer.tensors:
        buffers = dict(network.named_buffers())
        check_update(answer.tensors["buffers"], buffers, where)
        for name, tensor in as_float32(answer.tensors["buffers"], buffers, where).items():
            if name.endswith("running_var") and bool((tensor < 0).any()):
                raise BadInput(f"{where}: {name} holds variances below 0")
            if tensor.numel() and float(tensor.abs().max()) > STATISTIC:
                raise BadInput(f"{where}: {name} holds statistics above {STATISTIC:g}, which no images have")
            found[name] = tensor
    return Received(party, found, int(examples))


def _check_finite(state: Mapping[str, Tensor]) -> None:
    for name, tensor in state.items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise BadInput(f"the model is not finite after this round, in {name}: lower the learning rate.")
