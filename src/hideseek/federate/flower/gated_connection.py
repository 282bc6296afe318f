"""A SuperNode's connection to its SuperLink, behind the gate: whatever an app answers, this is the only way out."""

import hashlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

from flwr.app import Error, RecordDict
from flwr.app import Message as FlowerMessage
from flwr.supercore.fab import Fab
from flwr.supercore.inflatable.inflatable_object import (
    get_all_nested_objects,
    get_object_tree,
    iterate_object_tree,
    no_object_id_recompute,
)
from flwr.supercore.inflatable.inflatable_utils import inflate_object_from_contents
from flwr.supercore.run import RunNotRunningException

from hideseek.errors import BadInput
from hideseek.federate.flower.gate_mod import FAILED, REFUSED
from hideseek.federate.flower.parties import UNREADABLE
from hideseek.federate.flower.records import content, plain
from hideseek.federate.gate import Gate
from hideseek.federate.messages import Message
from hideseek.federate.party import PartySettings
from hideseek.federate.policy import Policy

LOOKS, PAUSE = 40, 0.5  # for a message, before the node rests, and seconds between two of them
MOVED = "this version of Flower is put together in another way, and the gate cannot be placed: use Flower 1.41."
PENDING = "gate"  # the session of an answer that is not on its way yet


class Connection(NamedTuple):
    """What a SuperNode calls, under the names that Flower gives it."""

    node_id: int
    receive: Callable[[], tuple[FlowerMessage, Any] | None]
    send: Callable[[FlowerMessage, Any, float], tuple[set[str], str]]
    get_run: Callable[[int], Any]
    get_fab: Callable[[str, int], Fab]
    pull_object: Callable[[int, str], bytes]
    push_object: Callable[[int, str, str, bytes], None]
    confirm_message_received: Callable[[int, str], None]

    @classmethod
    def checked(cls, given: tuple[Any, ...]) -> Self:
        """Take what Flower made, where it is what it is known to be; else nothing may be sent through it."""
        names = [getattr(each, "__name__", "node_id") for each in given]
        if names != list(cls._fields):
            raise BadInput(MOVED)
        return cls(*given)


@dataclass
class Answer:
    """An answer of an app whose parts are being collected."""

    message: FlowerMessage
    seconds: float
    wanted: set[str]
    parts: dict[str, bytes] = field(default_factory=dict)


@dataclass
class GatedConnection:
    """The same connection, through which nothing leaves that the owner's policy does not allow.

    An answer is collected whole, read, and held against the policy. What leaves is written anew from what was read:
    names, headers and metadata that an app may have filled with something else stay here.
    """

    real: Connection
    settings: PartySettings
    asked: dict[str, FlowerMessage] = field(default_factory=dict)
    parts: dict[str, bytes] = field(default_factory=dict)
    apps: dict[int, str] = field(default_factory=dict)
    """The digest of each run's app."""
    answers: dict[str, Answer] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def functions(self) -> tuple[Any, ...]:
        """Give the connection as Flower wants it."""
        return (
            self.real.node_id, self.receive, self.send, self.real.get_run, self.get_fab, self.pull_object,
            self.push_object, self.real.confirm_message_received,
        )  # fmt: skip

    def receive(self) -> tuple[FlowerMessage, Any] | None:
        """Wait a while for a message, and remember it: the gate reads what was asked for."""
        for _ in range(LOOKS):
            if (found := self.real.receive()) is not None:
                message, tree = found
                kept = {each.object_id for each in iterate_object_tree(tree)}
                self.parts = {name: part for name, part in self.parts.items() if name in kept}
                self.asked = {message.metadata.message_id: message}  # a node answers one message at a time
                self.answers = {}
                return found
            time.sleep(PAUSE)
        return None

    def pull_object(self, run: int, name: str) -> bytes:
        """Get a part of a message, and remember it."""
        self.parts[name] = part = self.real.pull_object(run, name)
        return part

    def get_fab(self, digest: str, run: int) -> Fab:
        """Get an app; one that the owner does not allow is not run, and the server is told so at once."""
        fab = self.real.get_fab(digest, run)
        found = hashlib.sha256(fab.content).hexdigest()
        self.apps[run] = found
        for message in self.asked.values():
            try:
                policy = self._policy()
                if not (found == digest == fab.hash_str) or (policy.apps and found not in policy.apps):
                    raise BadInput(f"the app {found} is none of those that are allowed")
            except BadInput as mistake:
                Gate(Policy(), self.settings.folder).note(f"not run: {mistake}")
                self._leave(FlowerMessage(Error(REFUSED, FAILED), reply_to=message), 0.0)
                raise RunNotRunningException from None
        return fab

    def send(self, message: FlowerMessage, tree: Any, seconds: float) -> tuple[set[str], str]:
        """Begin to collect an answer: Flower then hands over its parts, one by one."""
        wanted = {each.object_id for each in iterate_object_tree(tree)}
        with self.lock:
            self.answers[tree.object_id] = Answer(message, seconds, wanted)
        return wanted, f"{PENDING}:{tree.object_id}"

    def push_object(self, run: int, session: str, name: str, part: bytes) -> None:
        """Take a part of an answer; with the last of them, it passes the gate or does not."""
        key = session.removeprefix(f"{PENDING}:")
        with self.lock:
            answer = self.answers.get(key)
            if answer is None or name not in answer.wanted or not isinstance(part, bytes):
                raise BadInput("an app sends what nobody asked for.")
            answer.parts[name] = part
            if set(answer.parts) != answer.wanted:
                return
            del self.answers[key]
        self._pass(key, answer)

    def _policy(self) -> Policy:
        if self.settings.policy is None:
            raise BadInput("this node has no policy: nothing leaves before it has.")
        return Policy.read(self.settings.policy)

    def _pass(self, key: str, answer: Answer) -> None:
        """Hold an answer against the policy, and send it, or an error in its place."""
        (message,) = self.asked.values()
        if answer.message.metadata.reply_to_message_id != message.metadata.message_id:
            raise BadInput("an app answers what it was not asked.")
        sent = FlowerMessage(Error(REFUSED, FAILED), reply_to=message)
        checked: dict[str, bytes] = {}
        try:
            policy = self._policy()
            if policy.apps and self.apps.get(message.metadata.run_id) not in policy.apps:
                raise BadInput("the app is none of those that are allowed any more")
            asked = plain(self._asked(message))
            gate = replace(Gate.of(self.settings, asked), words=bool(policy.apps))
            passed = gate.passed(asked, self._read(key, answer, asked.kind))
            records = Error(REFUSED, passed.error) if passed.error else content(passed)
            sent = FlowerMessage(records, reply_to=message)
            checked = {} if passed.error else answer.parts  # all of them are what their names say, or it had not passed
        except BadInput as mistake:
            Gate(Policy(), self.settings.folder).note(f"not sent: {mistake}")
        self._leave(sent, answer.seconds, checked)

    def _asked(self, message: FlowerMessage) -> FlowerMessage:
        """Give the message that is answered, with its content."""
        whole = _inflated(message.metadata.message_id, dict(self.parts))
        whole.metadata.__dict__["_message_id"] = message.metadata.message_id
        return whole

    def _read(self, key: str, answer: Answer, kind: str) -> Message:
        """Read an answer; what cannot be read is an error, as is one that says of itself that it is."""
        try:
            found = plain(_inflated(key, dict(answer.parts)))
        except BadInput as mistake:
            return Message(kind, error=str(mistake))
        return found

    def _leave(self, message: FlowerMessage, seconds: float, checked: Mapping[str, bytes] | None = None) -> None:
        """Send a message that was made here, with all its parts.

        A part that an app handed over under the same name, its checksum, which was checked, need not be written again.
        """
        with no_object_id_recompute():  # each part is hashed once
            message.metadata.__dict__["_message_id"] = message.object_id
            tree = get_object_tree(message)
            wanted, session = self.real.send(message, tree, seconds)
            for name, each in get_all_nested_objects(message).items():
                if name in wanted:
                    part = (checked or {}).get(name) or each.deflate()
                    self.real.push_object(message.metadata.run_id, session, name, part)


def _inflated(name: str, parts: dict[str, bytes]) -> FlowerMessage:
    """Put a message together from its parts; a part must be what its name, a checksum, says."""
    for each, part in parts.items():
        if hashlib.sha256(part).hexdigest() != each:
            raise BadInput("a part of a message is not what its checksum says")
    try:
        found = inflate_object_from_contents(name, parts)
    except UNREADABLE as mistake:
        raise BadInput(f"a message cannot be read ({type(mistake).__name__})") from None
    if not isinstance(found, FlowerMessage) or (found.has_content() and not isinstance(found.content, RecordDict)):
        raise BadInput("what is sent is no message")
    return found
