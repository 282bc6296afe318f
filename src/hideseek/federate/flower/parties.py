"""The parties of a federation, asked through Flower's grid."""

import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import httpx
from flwr.app import Message as FlowerMessage
from flwr.common.constant import ErrorCode
from flwr.serverapp import Grid
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from hideseek.errors import BadInput
from hideseek.federate.flower.busy import asked_again, is_busy
from hideseek.federate.flower.records import content, plain
from hideseek.federate.messages import Message
from hideseek.federate.parties import Parties

UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, AssertionError, RecursionError, DecodeError)
"""What Flower raises on a message that is put together wrongly."""
GONE = {
    ErrorCode.MESSAGE_UNAVAILABLE, ErrorCode.REPLY_MESSAGE_UNAVAILABLE, ErrorCode.NODE_UNAVAILABLE,
    ErrorCode.CLIENT_APP_CRASHED,
}  # fmt: skip
"""Errors that are Flower's word, and not the party's: it may be asked again when it is back."""
POLL = 0.1  # seconds between two looks for answers; Flower's own calls look every three
LOOKING = 0.1  # the most of the time that is spent on looking
AHEAD = 2  # messages of a queue that are under way: a node that finds none after its answer rests for three seconds


@dataclass
class _Queue:
    """What one party is still asked, and what it was asked already, in this order."""

    left: Iterator[Message]
    since: float
    """When it was asked for the first time, or answered last."""
    under_way: deque[tuple[str, Message]] = field(default_factory=deque)
    """With the numbers that Flower gave them; none, where it did not take them."""


@dataclass(frozen=True)
class FlowerParties(Parties):
    """Nodes that are connected to Flower's SuperLink, or simulated."""

    grid: Grid

    def present(self) -> list[int]:
        """Give the numbers of the nodes."""
        return [int(node) for node in asked_again(self.grid.get_node_ids)]

    def ask(self, messages: Mapping[int, Message], timeout: float) -> dict[int, Message]:
        """Send all, and wait for the answers; what cannot be read is an error of its sender."""
        found = self.ask_on({party: [message] for party, message in messages.items()}, timeout)
        return {party: answer for party, _, answer in found if answer is not None}

    def ask_on(
        self, queues: Mapping[int, Iterable[Message]], timeout: float
    ) -> Iterator[tuple[int, Message, Message | None]]:
        """Ask one message after another; the next is sent before an answer is looked at, so that nobody waits."""
        waiting = {party: _Queue(iter(queue), time.monotonic()) for party, queue in queues.items()}
        self._send(waiting, AHEAD, timeout)
        while waiting:
            start, came = time.monotonic(), False
            for party, queue in list(waiting.items()):
                if not queue.under_way:
                    del waiting[party]
                    continue
                number, asked = queue.under_way[0]
                answer, gone = self._answer(number) if number else (None, True)
                if answer is not None:
                    queue.under_way.popleft()
                    queue.since, came = time.monotonic(), True
                    self._send({party: queue}, 1, timeout)
                    yield party, asked, answer
                elif gone or time.monotonic() - queue.since > timeout:
                    del waiting[party]
                    yield party, asked, None
            if waiting and not came:
                self.rest(max(POLL, (time.monotonic() - start) / LOOKING))

    def rest(self, seconds: float) -> None:
        """Wait between two looks for answers."""
        time.sleep(seconds)

    def _send(self, queues: Mapping[int, _Queue], count: int, timeout: float) -> None:
        """Send the next messages of some queues, all in one call, in which what is the same is sent once."""
        due: list[tuple[int, _Queue, Message]] = []
        for _ in range(count):
            for party, queue in queues.items():
                if (message := next(queue.left, None)) is not None:
                    due.append((party, queue, message))
        records = {id(message): content(message) for message in {id(each): each for _, _, each in due}.values()}

        def pushed() -> list[str]:
            """Push; where the SuperLink failed midway, messages are made anew: it has the names of the others."""
            carried = [
                FlowerMessage(records[id(message)], dst_node_id=party, message_type=message.kind, ttl=count * timeout)
                for party, _, message in due
            ]
            taken = set(self.grid.push_messages(carried))
            return [each.metadata.message_id if each.metadata.message_id in taken else "" for each in carried]

        for (_, queue, message), number in zip(due, asked_again(pushed) if due else (), strict=True):
            queue.under_way.append((number, message))

    def _answer(self, number: str) -> tuple[Message | None, bool]:
        """Look for one answer; others stay with Flower until they are looked for, so that few are held at a time.

        Also tells whether none can come any more: Flower answers itself for a node that it lost, or whose app crashed.
        """
        try:
            for answer in self._arrived(number):
                if answer.has_error() and answer.error.code in GONE:
                    return None, True
                return plain(answer), False
        except BadInput as mistake:
            return Message("", error=str(mistake)), False
        except UNREADABLE:
            return Message("", error="it sends what is no message"), False
        return None, False

    def _arrived(self, number: str) -> Iterable[FlowerMessage]:
        """Look once; a SuperLink whose database is busy at this moment is asked again later."""
        try:
            return self.grid.pull_messages([number])
        except (httpx.TransportError, httpx.HTTPStatusError) as error:
            if not is_busy(error):
                raise
            return []
