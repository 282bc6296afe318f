"""The protocol *encodings*: parties send encoded images, shard by shard; the server pools them, shuffles and trains."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from blake3 import blake3

from hideseek.errors import BadInput
from hideseek.federate.agreement import Agreement
from hideseek.federate.client import DESCRIPTION
from hideseek.federate.gradients import State
from hideseek.federate.messages import CONFIG, DESCRIBE, SHARD, Message, number, word
from hideseek.federate.pool import Delivery, pooled
from hideseek.federate.server import Server
from hideseek.files import new_file, own_folder, parsed
from hideseek.hide import RecipeEncoder
from hideseek.learn import Plain, RunFolder, Source, learn
from hideseek.learn.sources.pooled import Pooled
from hideseek.progress import meter
from hideseek.records import Samples
from hideseek.train.training import SGD, Training, automatic

POOL, CLOSED = "pool", "closed.json"
TRIES = 3  # to get what a party does not send


def run_encodings(server: Server) -> State:
    """Collect encodings, train on them, and hand the model back; what is there already is not asked for again."""
    agreement, settings = server.agreement, server.settings
    assert isinstance(agreement.scheme, RecipeEncoder)  # noqa: S101 (the protocol's)
    rows = collected(server, 0)
    source: Source[Any] = Plain(rows, agreement.scheme)
    if agreement.again:
        name = hashlib.sha256(agreement.to_json().encode()).hexdigest()
        source = Pooled(rows, agreement.scheme, lambda epoch: rows if epoch == 0 else collected(server, epoch), name)
    training = _training(server, len(rows))
    folder = settings.out / "training"
    own_folder(folder)
    learnt = learn(
        source,
        agreement.model,
        training,
        test=server.test,
        chance=settings.chance(),
        run_folder=RunFolder(folder, resume=True),
        on_epoch=lambda epoch: server.note(_measured(epoch, training.epochs)),
    )
    state = {name: tensor.detach().clone() for name, tensor in learnt.trained.network.state_dict().items()}
    server.hand_back(state)
    return state


def _training(server: Server, rows: int) -> Training:
    """Choose how to train: a round is an epoch where images are encoded anew."""
    settings, agreement = server.settings, server.agreement
    usual = automatic(rows)
    if settings.training is not None:
        return replace(settings.training, epochs=agreement.rounds) if agreement.again else settings.training
    epochs = agreement.rounds if agreement.again else settings.epochs
    batch = min(settings.batch, max(1, rows // 8)) if settings.batch else usual.batch
    if settings.rate is None and batch == usual.batch:
        return replace(usual, epochs=epochs)
    rate = settings.rate or 0.1 * batch / 128
    return replace(usual, epochs=epochs, batch=batch, optimiser=SGD(rate, 0.9, 5e-4))


def collected(server: Server, round_: int) -> Samples:
    """Get the encodings of all chosen parties, and put them together; who does not send his is left out, and named.

    What was collected is written down before anything is learnt from it: after a stop, the same rows are trained on,
    in the same order, whoever is connected then.
    """
    folder = _folder(server, round_)
    if (folder / CLOSED).exists():
        return pooled([Delivery(folder / name, server.agreement) for name in _closed(folder)["deliveries"]])
    whole, said, names = delivered(server, round_)
    rows = pooled(whole)
    server.note({"round": round_, **said, "pooled": len(whole), "rows": len(rows)})
    closed = {
        "deliveries": [each.folder.name for each in whole],
        "shards": sorted(chain(*map(Delivery.digests, whole))),
        "parties": names,  # by whose number what one party sent in several rounds is found again
    }
    with new_file(folder / CLOSED) as file:
        file.write(json.dumps(closed).encode())
    return rows


def delivered(server: Server, round_: int) -> tuple[list[Delivery], dict[str, Any], dict[str, int]]:
    """Get the shards of all chosen parties onto the disk; gives all that is there, whole, who sent now, and what."""
    folder = _folder(server, round_)
    kept = {each.folder: each for each in _complete(folder, server.agreement)}
    deliveries = _described(server, round_, folder, kept)
    asked = len(deliveries)
    _fetch(server, round_, deliveries)
    arrived = kept | {each.folder: each for each in deliveries.values()}
    whole = [arrived[place] for place in sorted(arrived)]  # by content: numbers of nodes change from run to run
    if len(whole) < server.settings.least:
        raise BadInput(f"{len(whole)} parties sent their encodings and {server.settings.least} are needed.")
    names = {each.folder.name: party for party, each in sorted(deliveries.items())}
    return whole, {"parties": sorted(deliveries), "asked": asked}, names


def _folder(server: Server, round_: int) -> Path:
    return server.settings.out / POOL / f"{round_ if server.agreement.again else 0:05d}"


def _closed(folder: Path) -> dict[str, Any]:
    """Read what was collected in a round: which encodings, whose, and the checksums of all shards."""
    return parsed((folder / CLOSED).read_text("utf-8"))  # type: ignore[no-any-return]


def _fetch(server: Server, round_: int, deliveries: dict[int, Delivery]) -> None:
    """Ask every party for one missing shard after another, whatever the others do; one that fails is taken out.

    A shard is in memory until it is checked and written, so that memory does not grow with their number.
    """
    lacking = {party: missing for party, each in deliveries.items() if (missing := each.missing())}
    with meter(sum(map(len, lacking.values()))) as show:
        done = 0
        for attempt in range(TRIES):
            if attempt and lacking:
                server.wait_for(lacking)
            queues = {party: _requests(server, round_, party, lacking, deliveries) for party in lacking}
            for party, asked, answer in server.parties.ask_on(queues, server.settings.timeout):
                if answer is None or party not in deliveries:
                    continue
                try:
                    deliveries[party].accept(place := int(number(asked, CONFIG, "shard")), _content(answer))
                    lacking[party].remove(place)
                    done += 1
                    show(done, f"encodings of {len(deliveries)} parties, {server.traffic.back / 1e6:,.1f} MB in")
                except BadInput as mistake:
                    server.refuse(party, round_, str(mistake))
                    del deliveries[party]
            lacking = {party: left for party, left in lacking.items() if left and party in deliveries}
    for party in lacking:
        server.refuse(party, round_, "it did not answer in time")
        del deliveries[party]


def _requests(
    server: Server, round_: int, party: int, lacking: Mapping[int, list[int]], deliveries: Mapping[int, Delivery]
) -> Iterator[Message]:
    """Ask for one shard after another, until the party is refused."""
    for place in list(lacking[party]):
        if party in deliveries:
            yield server.message(SHARD, {"round": round_, "shard": place})


def _complete(folder: Path, agreement: Agreement) -> Iterator[Delivery]:
    """Give what arrived whole before the server was stopped."""
    for place in sorted(folder.glob("*/")):
        delivery = Delivery(place, agreement)
        if (place / DESCRIPTION).exists() and not delivery.missing():
            yield delivery


def _described(server: Server, round_: int, folder: Path, kept: Mapping[Path, Delivery]) -> dict[int, Delivery]:
    """Ask what parties will send; who does not answer, or differs from the agreement, is left out.

    Encodings are known by their description, which has a checksum of every shard: a party that comes back goes on
    where it was, whatever number it has now. What somebody sent already, in this round or before, is not taken again.
    """
    taken = {shard for other in folder.parent.glob(f"*/{CLOSED}") for shard in _closed(other.parent)["shards"]}
    message = server.message(DESCRIBE, {"round": round_})
    found: dict[int, Delivery] = {}
    waiting = set(server.chosen(round_))
    for attempt in range(TRIES):
        if attempt:
            server.wait_for(waiting)
        answers = server.parties.ask(dict.fromkeys(sorted(waiting), message), server.settings.timeout)
        for party in sorted(waiting):
            answer = answers.get(party)
            if answer is None and attempt + 1 < TRIES:
                continue
            waiting.discard(party)
            try:
                text = _text(answer)
                delivery = Delivery(folder / blake3(text.encode()).hexdigest()[:32], server.agreement)
                delivery.describe(text)
                others = {
                    shard for place, other in kept.items() if place != delivery.folder for shard in other.digests()
                }
                if not (taken | others).isdisjoint(delivery.digests()):
                    raise BadInput("it sends what was sent before, by itself or by another party")
                taken |= delivery.digests()
                found[party] = delivery
            except BadInput as mistake:
                server.refuse(party, round_, str(mistake))
        if not waiting:
            break
    return found


def _measured(epoch: Mapping[str, float], epochs: int) -> dict[str, Any]:
    """Give what is told of an epoch."""
    kept = {name: value for name, value in epoch.items() if name in ("loss", "test_accuracy")}
    return {"epoch": int(epoch["epoch"]), "epochs": epochs, **kept}


def _text(answer: Message | None) -> str:
    if answer is None:
        raise BadInput("it did not answer in time")
    if answer.error:
        raise BadInput(answer.error)
    return word(answer, CONFIG, "description")


def _content(answer: Message | None) -> bytes:
    if answer is None:
        raise BadInput("it did not answer in time")
    if answer.error:
        raise BadInput(answer.error)
    shard = answer.tensors.get("shard", {})
    if set(answer.tensors) != {"shard"} or set(shard) != {"bytes"} or str(shard["bytes"].dtype) != "torch.uint8":
        raise BadInput("it sends something else than a shard")
    return shard["bytes"].cpu().contiguous().numpy().tobytes()
