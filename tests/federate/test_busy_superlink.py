"""Asking parties through Flower's grid: who answers, who does not, and a SuperLink that is busy for a moment."""

from collections.abc import Iterable
from typing import Any

import httpx
import pytest

from hideseek.federate.messages import Message

pytest.importorskip("flwr")
from flwr.app import Message as FlowerMessage
from flwr.supercore.task_identity import TaskIdentity

from hideseek.federate.flower.parties import FlowerParties
from hideseek.federate.flower.records import content


class Grid:
    """A grid whose nodes answer at the second look; the first one fails with a status."""

    def __init__(self, status: int, silent: int = 0) -> None:
        self.status, self.silent, self.looks = status, silent, 0
        self.sent: dict[str, FlowerMessage] = {}

    def push_messages(self, messages: list[FlowerMessage]) -> list[str | None]:
        for message in messages:
            message.metadata.__dict__["_message_id"] = message.object_id
            self.sent[message.object_id] = message
        return [*self.sent, None]

    def pull_messages(self, waiting: set[str]) -> Iterable[FlowerMessage]:
        self.looks += 1
        if self.looks == 1 and self.status != 200:
            response = httpx.Response(self.status, request=httpx.Request("POST", "https://localhost"))
            raise httpx.HTTPStatusError("busy", request=response.request, response=response)
        asked = [self.sent[each] for each in waiting if self.sent[each].metadata.dst_node_id != self.silent]
        return [FlowerMessage(content(Message("train")), reply_to=each) for each in asked]


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_task_id", "_run_id", "_node_id"):
        monkeypatch.setattr(TaskIdentity, name, 1)


def asked(grid: Any, timeout: float = 60.0) -> dict[int, Message]:
    return FlowerParties(grid).ask(dict.fromkeys((4, 7), Message("train")), timeout)


@pytest.mark.parametrize("status", [200, 500, 503])
def test_all_answers_are_collected_also_where_the_superlink_was_busy(status: int) -> None:
    assert sorted(asked(Grid(status))) == [4, 7]


def test_a_party_that_does_not_answer_is_missing() -> None:
    assert list(asked(Grid(200, silent=7), timeout=0.3)) == [4]


def test_a_run_that_is_refused_is_not_asked_again() -> None:
    with pytest.raises(httpx.HTTPStatusError):
        asked(Grid(403))
