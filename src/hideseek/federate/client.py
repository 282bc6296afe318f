"""What a party answers: updates of a model, shards of its encodings, or why it answers nothing."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from hideseek.errors import BadInput
from hideseek.federate.agreement import Agreement
from hideseek.federate.gate import Gate
from hideseek.federate.messages import (
    CONFIG,
    DECIMALS,
    DESCRIBE,
    EXAMPLES,
    JUDGE,
    METRICS,
    SHARD,
    TAKE,
    UPDATE,
    Message,
    number,
    word,
)
from hideseek.federate.party import Party, PartySettings, loaded
from hideseek.federate.received_model import received_model
from hideseek.federate.recording import record_update
from hideseek.files import check_plain, locked, own_folder
from hideseek.hide import RecipeEncoder
from hideseek.hide.files.release_files import write_release
from hideseek.hide.files.shards import shard_name
from hideseek.hide.updates import ShareUpdates
from hideseek.learn import accuracy, predict
from hideseek.train.trained import MODEL, Trained, write_model

DESCRIPTION = "release.json"
Load = Callable[[PartySettings, Agreement], Party]  # gives a party with its images; who needs none does not call it


def answer(asked: Message, settings: PartySettings, load: Load = loaded) -> Message:
    """Answer a message of the server; what a party refuses is a BadInput, whose sentence stays at home."""
    agreement = Agreement.from_json(word(asked, CONFIG, "agreement"))
    if asked.kind not in ANSWERS:
        raise BadInput(f"the server asks for {asked.kind!r}, which is unknown here: update hideseek.")
    return ANSWERS[asked.kind](settings, agreement, asked, load)


def gated_answer(asked: Message, settings: PartySettings, load: Load = loaded) -> Message:
    """Answer a message behind the party's gate; what the party refuses is an error, as over a network."""
    gate = Gate.of(settings, asked)
    try:
        answered = answer(asked, settings, load)
    except BadInput as mistake:
        answered = Message(asked.kind, error=str(mistake))
    return gate.passed(asked, answered)


def update(settings: PartySettings, agreement: Agreement, asked: Message, load: Load) -> Message:
    """Compute an update of the model that came: of fresh encodings, in fresh batches, defended as agreed."""
    party, scheme = load(settings, agreement), agreement.scheme
    if not isinstance(scheme, ShareUpdates):
        raise BadInput("the server asks for an update, and encodings were agreed on.")
    model = received_model(asked.tensors.get("model", {}), agreement)
    chance = party.settings.chance("update", _round(asked))
    client = replace(scheme, start=model)
    rows, sources, weights = next(client.batches(party.private, chance, party.public))
    sent, buffers = client.update(model, rows, chance, proximal=agreement.proximal)
    tensors = {"update": sent}
    if agreement.buffers and buffers:
        tensors["buffers"] = buffers
    message = Message(asked.kind, tensors, {METRICS: {EXAMPLES: len(rows)}})
    if party.settings.record:
        record_update(party, client, _round(asked), message, (rows, sources, weights))
    return message


def describe(settings: PartySettings, agreement: Agreement, asked: Message, load: Load) -> Message:
    """Say what the party's encodings of a round are: their description, with a checksum of every shard."""
    folder = _folder(settings, agreement, asked)
    if not folder.exists():
        _encode(load(settings, agreement), folder, _round(asked))
    text = (folder / DESCRIPTION).read_text("utf-8")
    return Message(asked.kind, words={CONFIG: {"description": text}})


def shard(settings: PartySettings, agreement: Agreement, asked: Message, load: Load) -> Message:
    """Send one shard of the encodings of a round; asked again, it is the same bytes.

    Images are not loaded for it: where every message has a process of its own, that would take longer than sending.
    """
    folder, place = _folder(settings, agreement, asked), number(asked, CONFIG, "shard")
    if not folder.exists():
        raise BadInput("the server asks for a shard of encodings that were not described yet.")
    count = len(json.loads((folder / DESCRIPTION).read_text("utf-8"))["shards"])
    if not (place.is_integer() and 0 <= place < count):
        raise BadInput(f"the server asks for the shard {place}, and there are {count}.")
    path = folder / shard_name(int(place))
    check_plain(path)
    content = torch.from_numpy(np.fromfile(path, np.uint8))
    return Message(asked.kind, {"shard": {"bytes": content}})


def judge(settings: PartySettings, agreement: Agreement, asked: Message, load: Load) -> Message:
    """Say how many of the party's own images the model gets right, where the owner allows that."""
    party, trained = load(settings, agreement), _trained(agreement, asked)
    share = accuracy(predict(trained, party.private), party.private.labels)
    return Message(asked.kind, numbers={METRICS: {EXAMPLES: len(party.private), "accuracy": round(share, DECIMALS)}})


def take(settings: PartySettings, agreement: Agreement, asked: Message, load: Load) -> Message:
    """Keep the model that was learnt together."""
    own_folder(settings.folder, 0o700)
    write_model(settings.folder / MODEL, _trained(agreement, asked))
    return Message(asked.kind)


ANSWERS: dict[str, Callable[[PartySettings, Agreement, Message, Load], Message]] = {
    UPDATE: update,
    DESCRIBE: describe,
    SHARD: shard,
    JUDGE: judge,
    TAKE: take,
}


def _trained(agreement: Agreement, asked: Message) -> Trained:
    network = received_model(asked.tensors.get("model", {}), agreement).network().eval()
    return Trained(
        network, agreement.model, agreement.shape, agreement.classes, agreement.normalisation,
        features=agreement.features, size=agreement.size,
    )  # fmt: skip


def _folder(settings: PartySettings, agreement: Agreement, asked: Message) -> Path:
    """Give the folder of a round's encodings."""
    if not isinstance(agreement.scheme, RecipeEncoder):
        raise BadInput("the server asks for encodings, and updates were agreed on.")
    return settings.folder / f"encodings-{_round(asked) if agreement.again else 0:05d}"


def _encode(party: Party, folder: Path, round_: int) -> None:
    """Make the encodings of a round, when they are first asked for; under fresh keys, and only once."""
    scheme, settings = party.agreement.scheme, party.settings
    assert isinstance(scheme, RecipeEncoder)  # noqa: S101 (`_folder`)
    own_folder(settings.folder, 0o700)
    with locked(settings.folder / ".encoding") as free:
        if not free:
            raise BadInput("another process of this party is encoding: one node serves one party.")
        if not folder.exists():
            secret = folder.with_suffix(".secret") if settings.record else None
            write_release(scheme, party.private, party.public, settings.chance("rows", round_), folder, secret)


def _round(asked: Message) -> int:
    found = number(asked, CONFIG, "round")
    if not (found.is_integer() and 0 <= found < 1 << 20):
        raise BadInput("the server names no round.")
    return int(found)
