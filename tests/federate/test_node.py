"""The node's own gate: whatever an app hands to the SuperNode, what leaves is what the owner allows, or an error."""

import hashlib
import importlib
import json
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.federate.client import answer
from hideseek.federate.gate import LOG
from hideseek.federate.messages import UPDATE, Message
from hideseek.federate.party import Part, PartySettings
from hideseek.hide.updates import GradientPruning, ShareUpdates
from local_parties import DATA, agreement, faces, parties, server

pytest.importorskip("flwr")
from flwr.app import Array, ArrayRecord, ConfigRecord, Error, MetricRecord, RecordDict
from flwr.app import Message as FlowerMessage
from flwr.app.message.message import make_message
from flwr.app.metadata import Metadata
from flwr.supercore.error import ApiErrorCode
from flwr.supercore.fab import Fab
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects, get_object_tree
from flwr.supercore.inflatable.inflatable_utils import inflate_object_from_contents
from flwr.supercore.run import RunNotRunningException

from hideseek.federate.flower.coming_back import patient
from hideseek.federate.flower.gate_mod import FAILED
from hideseek.federate.flower.gated_connection import Connection, GatedConnection
from hideseek.federate.flower.node import Node, place_gate
from hideseek.federate.flower.records import content, plain

PRUNED = ShareUpdates("lenet", 16, 2, 1, 0.1, "weights", "eval", defences=(GradientPruning(0.9),))
APP = b"an app"
POLICY = """protocols = ["gradients"]
schemes = ["gradient-pruning:p=0.9"]
rounds = 3
statistics = ["num-examples"]
apps = [{apps}]
"""
SECRET = b"mueller-017"
RUN, NODE = 7, 42
PADDING = b" \t  \t\t \t" * 8  # which numpy reads over


@dataclass
class SuperLink:
    """What a SuperLink would see of a node."""

    asked: FlowerMessage
    fab: Fab = field(default_factory=lambda: Fab(hashlib.sha256(APP).hexdigest(), APP, {}))
    sent: list[str] = field(default_factory=list)
    pushed: dict[str, bytes] = field(default_factory=dict)

    def connection(self) -> Connection:
        parts = {name: each.deflate() for name, each in get_all_nested_objects(self.asked).items()}
        tree = get_object_tree(self.asked)
        waiting = [(self.asked, tree)]

        def receive() -> tuple[FlowerMessage, Any] | None:
            return waiting.pop() if waiting else None

        def send(message: FlowerMessage, tree: Any, seconds: float) -> tuple[set[str], str]:
            self.sent.append(message.object_id)
            assert tree.object_id == message.metadata.message_id
            return set(get_all_nested_objects(message)), "session"

        def get_run(run: int) -> None: ...

        def get_fab(digest: str, run: int) -> Fab:
            return self.fab

        def pull_object(run: int, name: str) -> bytes:
            return parts[name]

        def push_object(run: int, session: str, name: str, part: bytes) -> None:
            self.pushed[name] = part

        def confirm_message_received(run: int, name: str) -> None: ...

        return Connection.checked(
            (NODE, receive, send, get_run, get_fab, pull_object, push_object, confirm_message_received)
        )

    def got(self) -> FlowerMessage:
        """Give the one message that arrived."""
        (name,) = self.sent
        found = inflate_object_from_contents(name, dict(self.pushed))
        assert isinstance(found, FlowerMessage)
        assert found.metadata.reply_to_message_id == self.asked.metadata.message_id
        return found


@dataclass
class Exchange:
    superlink: SuperLink
    gated: GatedConnection
    honest: Message
    folder: Path

    def reply(self, records: RecordDict | Error, change: Callable[[FlowerMessage], None] | None = None) -> None:
        """Do what Flower's loop does with an answer of an app."""
        message = FlowerMessage(records, reply_to=self.superlink.asked)
        if change is not None:
            change(message)
        message.metadata.__dict__["_message_id"] = message.object_id
        wanted, session = self.gated.send(message, get_object_tree(message), 0.1)
        parts = {name: each.deflate() for name, each in get_all_nested_objects(message).items()}
        assert set(parts) == wanted
        for name, part in parts.items():
            assert not self.superlink.sent
            self.gated.push_object(RUN, session, name, part)

    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / LOG).read_text("utf-8").splitlines()]


@pytest.fixture
def exchange(tmp_path: Path) -> Exchange:
    """A node that was asked for an update, and what an honest app would answer."""
    run = server(tmp_path, agreement(PRUNED, buffers=False), parties(tmp_path, 2))
    asked = run.message(UPDATE, {"round": 1}, run.initial_state())
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY.format(apps=f'"{hashlib.sha256(APP).hexdigest()}"'))
    settings = PartySettings(DATA, tmp_path / "kept", Part(0, 2), policy)
    metadata = Metadata(RUN, "", 1, NODE, "", "", 1e9, 1e9, UPDATE)
    message = make_message(metadata, content(asked))
    metadata.__dict__["_message_id"] = message.object_id
    superlink = SuperLink(message)
    gated = GatedConnection(superlink.connection(), settings)
    assert gated.receive() is not None
    for name in get_all_nested_objects(message):
        gated.pull_object(RUN, name)
    gated.get_fab(hashlib.sha256(APP).hexdigest(), RUN)
    return Exchange(superlink, gated, answer(asked, settings), tmp_path / "kept")


def any_app(exchange: Exchange) -> None:
    policy = exchange.gated.settings.policy
    assert policy is not None
    policy.write_text(POLICY.format(apps=""))


def test_an_answer_that_is_allowed_arrives_as_it_was_sent(exchange: Exchange) -> None:
    exchange.reply(content(exchange.honest))
    got = plain(exchange.superlink.got())
    assert got.digest() == exchange.honest.digest()
    assert exchange.log()[-1]["digest"] == got.digest()
    assert exchange.log()[-1]["passed"]


def hidden_in_a_header(exchange: Exchange) -> RecordDict:
    """Give the honest answer, with something in the padding of a header of numpy's."""
    records = content(exchange.honest)
    update = records["update"]
    assert isinstance(update, ArrayRecord)
    name, tensor = next(iter(exchange.honest.tensors["update"].items()))
    array = Array(tensor.numpy())  # not packed, so that there is a header
    length = int.from_bytes(array.data[8:10], "little")
    padded = array.data[10 : 10 + length].rstrip() + PADDING + b"\n"
    data = array.data[:8] + len(padded).to_bytes(2, "little") + padded + array.data[10 + length :]
    update[name] = Array(array.dtype, tuple(array.shape), array.stype, data)
    return records


def test_what_leaves_is_written_anew_from_what_was_read(exchange: Exchange) -> None:
    def stuffed(message: FlowerMessage) -> None:
        message.metadata.__dict__["_group_id"] = SECRET.decode()

    records = hidden_in_a_header(exchange)
    before = b"".join(each.deflate() for each in get_all_nested_objects(records).values())
    exchange.reply(records, stuffed)
    assert plain(exchange.superlink.got()).digest() == exchange.honest.digest()
    everything = b"".join(exchange.superlink.pushed.values())
    assert PADDING in before
    assert PADDING not in everything
    assert SECRET not in everything


def raw() -> RecordDict:
    return RecordDict({"images": ArrayRecord({"pixels": Array(faces().pixels()[:4].numpy())})})


def undefended(exchange: Exchange) -> RecordDict:
    update = {name: seeded(1).normals(*each.shape) for name, each in exchange.honest.tensors["update"].items()}
    return content(replace(exchange.honest, tensors={"update": update}))


def beside(exchange: Exchange) -> RecordDict:
    records = content(exchange.honest)
    records["more"] = ConfigRecord({"note": SECRET.decode()})
    return records


def statistic(exchange: Exchange) -> RecordDict:
    records = content(exchange.honest)
    records["metrics.numbers"] = MetricRecord({"num-examples": 32, "oldest": 91})
    return records


def pickled() -> RecordDict:
    return RecordDict({"update": ArrayRecord({"x": Array("object", (1,), "pickle", SECRET)})})


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (lambda exchange: raw(), "images"),
        (undefended, "gradient-pruning"),
        (beside, "words"),
        (statistic, "oldest"),
        (lambda exchange: pickled(), "no array of numbers"),
        (lambda exchange: Error(1, SECRET.decode()), SECRET.decode()),
    ],
    ids=["raw images", "undefended", "words beside", "a statistic", "a pickle", "an error's sentence"],
)
def test_of_any_app_nothing_but_an_error_leaves_and_the_log_says_why(
    exchange: Exchange, made: Callable[[Exchange], RecordDict | Error], why: str
) -> None:
    any_app(exchange)
    exchange.reply(made(exchange))
    got = exchange.superlink.got()
    assert got.has_error()
    assert len(exchange.superlink.pushed) == 1
    assert SECRET not in b"".join(exchange.superlink.pushed.values())
    assert why in exchange.log()[-1]["why"]


def test_an_app_that_was_not_allowed_is_not_run_and_the_server_hears_it_at_once(exchange: Exchange) -> None:
    other = b"another app"
    digest = hashlib.sha256(other).hexdigest()
    exchange.superlink.fab = Fab(digest, other, {})
    with pytest.raises(RunNotRunningException):
        exchange.gated.get_fab(digest, RUN)
    assert exchange.superlink.got().error.reason == FAILED
    assert digest in exchange.log()[-1]["note"]


def test_an_app_under_the_digest_of_another_is_not_run(exchange: Exchange) -> None:
    any_app(exchange)
    digest = hashlib.sha256(APP).hexdigest()
    exchange.superlink.fab = Fab(digest, b"another app", {})
    with pytest.raises(RunNotRunningException):
        exchange.gated.get_fab(digest, RUN)


@pytest.mark.parametrize("policy", [None, "", "rounds = 1", POLICY.format(apps='"0"')])
def test_without_a_policy_that_allows_it_nothing_leaves(exchange: Exchange, policy: str | None) -> None:
    path = exchange.gated.settings.policy
    assert path is not None
    path.unlink() if policy is None else path.write_text(policy)
    exchange.reply(content(exchange.honest))
    assert exchange.superlink.got().error.reason == FAILED
    assert exchange.log()[-1]["note"].startswith("not sent")


def test_answers_to_other_messages_and_parts_of_others_stay(exchange: Exchange) -> None:
    def elsewhere(message: FlowerMessage) -> None:
        message.metadata.__dict__["_reply_to_message_id"] = "0" * 64

    with pytest.raises(BadInput, match="not asked"):
        exchange.reply(content(exchange.honest), elsewhere)
    with pytest.raises(BadInput, match="nobody asked"):
        exchange.gated.push_object(RUN, "session", "0" * 64, SECRET)
    message = FlowerMessage(content(exchange.honest), reply_to=exchange.superlink.asked)
    wanted, session = exchange.gated.send(message, get_object_tree(message), 0.1)
    for name in wanted:  # every part is something else than its name, a checksum, says
        exchange.gated.push_object(RUN, session, name, SECRET)
    assert exchange.superlink.got().has_error()
    assert SECRET not in b"".join(exchange.superlink.pushed.values())


def test_a_log_that_cannot_be_written_lets_nothing_leave(exchange: Exchange) -> None:
    (exchange.folder / LOG).unlink(missing_ok=True)
    (exchange.folder / LOG).mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        exchange.reply(content(exchange.honest))
    assert not exchange.superlink.sent


def _moved(monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    flower: Any = importlib.import_module("flwr.supernode.start_client_internal")
    command: Any = importlib.import_module("flwr.supernode.cli.flower_supernode")
    if change == "gone":
        monkeypatch.delattr(flower, "_init_connection")
    elif change == "other parameters":
        monkeypatch.setattr(flower, "_init_connection", lambda server_address: None)
    elif change == "not called":
        monkeypatch.setattr(flower, "start_client_internal", lambda: None)
    else:
        monkeypatch.setattr(command, "start_client_internal", lambda: None)


@pytest.mark.parametrize("change", ["gone", "other parameters", "not called", "another loop"])
def test_a_node_does_not_start_where_the_gate_cannot_be_placed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, change: str
) -> None:
    _moved(monkeypatch, change)
    with pytest.raises(BadInput, match="gate cannot be placed"):
        place_gate(PartySettings(DATA, tmp_path))


def test_the_gate_is_around_the_connection_that_a_supernode_makes(
    monkeypatch: pytest.MonkeyPatch, exchange: Exchange
) -> None:
    flower: Any = importlib.import_module("flwr.supernode.start_client_internal")
    made: tuple[Any, ...] = exchange.superlink.connection()

    @contextmanager
    def connect(server_address, insecure, root_certificates, authentication_keys, max_retries, max_wait_time):  # type: ignore[no-untyped-def]
        yield made

    monkeypatch.setattr(flower, "_init_connection", connect)
    place_gate(exchange.gated.settings)
    with flower._init_connection("a", False, None, None, None, None) as found:
        assert found[0] == NODE
        assert isinstance(found[2].__self__, GatedConnection)
        assert found[6].__self__ is found[2].__self__
    made = made[:-1]
    with (
        pytest.raises(SystemExit, match="gate cannot be placed"),
        flower._init_connection("a", False, None, None, None, None),
    ):
        pass


@pytest.mark.parametrize("missing", ["node.toml", "policy.toml", "key", "ca.crt"])
def test_a_node_says_what_is_missing(tmp_path: Path, missing: str) -> None:
    (tmp_path / "node.toml").write_text('data = "faces"\n')
    (tmp_path / "policy.toml").write_text(POLICY.format(apps=""))
    for name in ("key", "ca.crt"):
        (tmp_path / name).write_text("x")
        (tmp_path / name).chmod(0o600)
    Node(tmp_path, "localhost:1").checked()
    (tmp_path / missing).unlink()
    with pytest.raises(BadInput, match=missing):
        Node(tmp_path, "localhost:1").checked()


@pytest.mark.parametrize("address", ["", "localhost", ":9092", "localhost:", "localhost:0", "localhost:65536", "a:b"])
def test_an_address_that_is_none_is_refused_before_anything_is_started(tmp_path: Path, address: str) -> None:
    (tmp_path / "node.toml").write_text('data = "faces"\n')
    with pytest.raises(BadInput, match="write HOST:PORT"):
        Node(tmp_path, address).checked()


def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "node.toml").write_text('data = "faces"\n')
    (tmp_path / "policy.toml").write_text(POLICY.format(apps=""))
    for name in ("key", "ca.crt"):
        (tmp_path / name).write_text("x")
        (tmp_path / name).chmod(0o644)
    with pytest.raises(BadInput, match="chmod 600"):
        Node(tmp_path, "localhost:1").checked()


def test_the_same_part_twice_is_one_part(exchange: Exchange) -> None:
    """Two layers with the same weights are one object of Flower's."""
    update = {name: torch.zeros_like(each) for name, each in exchange.honest.tensors["update"].items()}
    exchange.reply(content(replace(exchange.honest, tensors={"update": update})))
    assert plain(exchange.superlink.got()).tensors["update"].keys() == update.keys()


def test_a_node_that_was_killed_tries_again_until_its_superlink_knows_that_it_was_gone() -> None:
    tries = []

    def activate(code: int, after: int) -> str:
        tries.append(code)
        if len(tries) > after:
            return "node"
        text = json.dumps({"code": code, "detail": "refused"})
        response = httpx.Response(412, text=text, request=httpx.Request("POST", "https://localhost"))
        raise httpx.HTTPStatusError("412", request=response.request, response=response)

    still = int(ApiErrorCode.FLEET_NODE_ACTIVATION_FAILED)
    assert patient(activate, pause=0.0)(still, 3) == "node"
    assert len(tries) == 4
    tries.clear()
    with pytest.raises(httpx.HTTPStatusError):  # another reason
        patient(activate, pause=0.0)(int(ApiErrorCode.FLEET_INVALID_HEARTBEAT_INTERVAL), 3)
    assert len(tries) == 1
    with pytest.raises(httpx.HTTPStatusError):  # too long
        patient(activate, pause=0.0, longest=-1.0)(still, 9)
