"""What parties sent, kept as releases: the ground truth beside it at a party, and nothing of it at a server."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from hideseek.federate.agreement import Agreement
from hideseek.federate.messages import EXAMPLES, METRICS, Message, number
from hideseek.federate.party import Party
from hideseek.hide.updates import ShareUpdates
from hideseek.hide.updates.recomputed import Recomputed
from hideseek.hide.updates.update_files import write_updates
from hideseek.models import build
from hideseek.records import Samples
from hideseek.records.shared_model import SharedModel
from hideseek.records.update_release import UpdateRelease
from hideseek.records.update_secret import UpdateSecret

RECORDED = "recorded"
DIGITS = 16  # of a digest, in names

State = Mapping[str, Tensor]


def record_update(
    party: Party,
    client: ShareUpdates,
    round_: int,
    message: Message,
    truth: tuple[Samples, Tensor, Tensor],
) -> None:
    """Keep an update at home as a release, and its ground truth in a file that only its owner can read.

    Its name has the round, and the message's digest as the gate's log has it: a round that is asked for again is
    another update, and one that the gate kept is told from those that left.
    """
    rows, sources, weights = truth
    model = client.start
    assert model is not None  # noqa: S101 (a client that computed an update)
    buffers = message.tensors.get("buffers")
    after = None if buffers is None else [buffers]
    release = _release(client, party.agreement, model, [message.tensors["update"]], after, [len(rows)])
    again = Recomputed(model, client.mode, (rows,), client)
    masked = client.encoding is not None and client.encoding.masked
    secret = UpdateSecret(party.private, sources[None], weights[None], torch.zeros(1, dtype=torch.int64), masked, again)
    folder, name = party.settings.folder / RECORDED, f"{_name(round_)}-{message.digest()[:DIGITS]}"
    write_updates(folder / name, release, folder / f"{name}.secret", secret)


def record_received(out: Path, agreement: Agreement, round_: int, state: State, answers: Mapping[int, Message]) -> None:
    """Keep what parties sent in a round, each by itself; a server has no ground truth."""
    for party, answer in answers.items():
        folder = out / RECORDED / f"party-{party}" / _name(round_)
        if not folder.exists():
            write_updates(folder, as_release(agreement, state, answer))


def as_release(agreement: Agreement, state: State, answer: Message) -> UpdateRelease:
    """Give an update that answers a model as its attacker sees it."""
    scheme = agreement.scheme
    assert isinstance(scheme, ShareUpdates)  # noqa: S101 (the protocol's)
    make = partial(build, agreement.model, agreement.shape, len(agreement.classes))
    model = SharedModel(agreement.model, make, {name: tensor.clone() for name, tensor in state.items()})
    buffers, count = answer.tensors.get("buffers"), number(answer, METRICS, EXAMPLES)
    sizes = [int(count)] if count > 0 else None
    return _release(scheme, agreement, model, [answer.tensors["update"]], None if buffers is None else [buffers], sizes)


def _release(
    client: ShareUpdates,
    agreement: Agreement,
    model: SharedModel,
    updates: list[State],
    buffers: list[State] | None,
    sizes: list[int] | None,
) -> UpdateRelease:
    weights = client.sends == "weights"
    after = [dict(each) for each in buffers] if buffers else [_buffers(model) for _ in updates]
    return UpdateRelease(
        tuple(dict(each) for each in updates),
        (model,),
        replace(client, start=model),
        agreement.shape,
        len(agreement.classes),
        agreement.normalisation,
        None if sizes is None else tuple(sizes),
        tuple(after) if weights else None,
    )


def _buffers(model: SharedModel) -> dict[str, Tensor]:
    return {name: model.state[name] for name, _ in model.build().named_buffers()}


def _name(round_: int) -> str:
    return f"round-{round_:05d}"
