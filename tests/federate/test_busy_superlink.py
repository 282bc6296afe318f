"""Asking parties through Flower's grid: who answers, who does not, and a SuperLink that is busy for a moment."""

import asyncio
import importlib
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from hideseek.federate.messages import Message

pytest.importorskip("flwr")
from flwr.app import Message as FlowerMessage
from flwr.supercore.task_identity import TaskIdentity
from sqlalchemy.exc import OperationalError

from hideseek.federate.flower import busy, control
from hideseek.federate.flower.busy import STATES, AskAgain, ask_again, asked_again, start_late
from hideseek.federate.flower.control import Control
from hideseek.federate.flower.parties import FlowerParties
from hideseek.federate.flower.records import content


def failure(status: int) -> httpx.HTTPStatusError | httpx.TransportError:
    """Give what is raised where the SuperLink answers with a status; 0: where it does not answer in time."""
    request = httpx.Request("POST", "https://localhost")
    if status == 0:
        return httpx.ReadTimeout("it does not answer", request=request)
    response = httpx.Response(status, request=request)
    return httpx.HTTPStatusError("busy", request=request, response=response)


class Grid:
    """A grid whose nodes answer at the second look; the first one fails with a status."""

    def __init__(self, status: int, silent: int = 0) -> None:
        self.status, self.silent, self.looks, self.pushes, self.counts = status, silent, 0, 0, 0
        self.sent: dict[str, FlowerMessage] = {}
        self.seen: set[str] = set()

    def get_node_ids(self) -> list[int]:
        self.counts += 1
        if self.counts == 1:
            raise failure(self.status)
        return [4, 7]

    def push_messages(self, messages: list[FlowerMessage]) -> list[str | None]:
        self.pushes += 1
        names = {message.object_id for message in messages}
        assert names.isdisjoint(self.seen)  # what the SuperLink has already it would not take again
        self.seen |= names
        if self.pushes == 1 and self.status != 200:
            raise failure(self.status)
        for message in messages:
            message.metadata.__dict__["_message_id"] = message.object_id
            self.sent[message.object_id] = message
        return [*self.sent, None]

    def pull_messages(self, waiting: set[str]) -> Iterable[FlowerMessage]:
        self.looks += 1
        if self.looks == 1 and self.status != 200:
            raise failure(self.status)
        asked = [self.sent[each] for each in waiting if self.sent[each].metadata.dst_node_id != self.silent]
        return [FlowerMessage(content(Message("train")), reply_to=each) for each in asked]


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_task_id", "_run_id", "_node_id"):
        monkeypatch.setattr(TaskIdentity, name, 1)
    monkeypatch.setattr(busy, "PAUSE", 0.0)
    monkeypatch.setattr("time.sleep", lambda _: None)


def asked(grid: Any, timeout: float = 60.0) -> dict[int, Message]:
    return FlowerParties(grid).ask(dict.fromkeys((4, 7), Message("train")), timeout)


@pytest.mark.parametrize("status", [0, 200, 500, 503])
def test_all_answers_are_collected_also_where_the_superlink_was_busy(status: int) -> None:
    assert sorted(asked(Grid(status))) == [4, 7]


def test_a_party_that_does_not_answer_is_missing() -> None:
    assert list(asked(Grid(200, silent=7), timeout=0.3)) == [4]


def test_a_run_that_is_refused_is_not_asked_again() -> None:
    with pytest.raises(httpx.HTTPStatusError):
        asked(Grid(403))


@pytest.mark.parametrize("status", [0, 500, 503])
def test_who_is_there_is_asked_again(status: int) -> None:
    assert FlowerParties(Grid(status)).present() == [4, 7]  # type: ignore[arg-type]


def test_what_stays_busy_is_said_in_the_end_and_a_wrong_certificate_at_once() -> None:
    tried = []

    def call(error: Exception) -> Callable[[], None]:
        def fails() -> None:
            tried.append(error)
            raise error

        return fails

    with pytest.raises(httpx.HTTPStatusError):
        asked_again(call(failure(500)), longest=0.0)
    tried.clear()
    with pytest.raises(httpx.ConnectError):
        asked_again(call(httpx.ConnectError("CERTIFICATE_VERIFY_FAILED")))
    assert len(tried) == 1


class Client:
    """What controls a SuperLink whose answers are lost; whether a run was started before says `started`."""

    def __init__(self, status: int, started: bool) -> None:
        self.status, self.started = status, started
        self.asked: list[str] = []
        self.known: dict[int, Any] = {}

    def _fail_first(self, name: str) -> None:
        self.asked.append(name)
        if self.asked.count(name) == 1:
            raise failure(self.status)

    def ListRuns(self, request: Any) -> Any:  # noqa: N802 (Flower's names)
        self._fail_first("ListRuns")
        status = type("Status", (), {"status": "finished", "sub_status": "completed", "details": "all is well"})
        about = type("Run", (), {"status": status})
        return type("Runs", (), {"run_dict": dict.fromkeys({*self.known, 11}, about)})

    def StartRun(self, request: Any) -> Any:  # noqa: N802
        number = 12 + len(self.known)
        if self.started:
            self.known[number] = None
        self._fail_first("StartRun")
        self.known[number] = None
        return type("Started", (), {"run_id": number})

    def ListNodes(self, request: Any) -> Any:  # noqa: N802
        self._fail_first("ListNodes")
        return type("Nodes", (), {"nodes_info": [type("Node", (), {"node_id": 4, "status": "online"})]})


@pytest.mark.parametrize("started", [True, False])
@pytest.mark.parametrize("status", [0, 500, 503])
def test_a_run_is_started_once_where_the_answer_is_lost(
    status: int, started: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "_bundle", lambda app: b"an app")
    client: Any = Client(status, started)
    held = Control(client)
    assert held.start(Path("app")) == 12
    assert list(client.known) == [12]
    assert (held.status(12), held.details(12)) == ("finished:completed", "all is well")
    assert held.nodes() == {4: "online"}


@pytest.mark.parametrize("begun", [True, False])
def test_a_locked_database_is_unavailable_and_not_broken(begun: bool) -> None:
    sent: list[int] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if begun:
            await send({"type": "http.response.start", "status": 200})
        raise OperationalError("UPDATE", {}, Exception("database is locked"))

    async def send(message: dict[str, Any]) -> None:
        sent.append(int(message.get("status", 0)))

    if begun:  # too late to say so
        with pytest.raises(OperationalError):
            asyncio.run(AskAgain(app)({}, None, send))
    else:
        asyncio.run(AskAgain(app)({}, None, send))
        assert sent == [503, 0]


def test_a_locked_database_reaches_the_middleware_through_flowers_own() -> None:
    """Flower's app turns errors that it expects into answers; this one goes through."""
    flower: Any = importlib.import_module("flwr.superlink.main")
    app = flower.create_app()

    def locked() -> None:
        raise OperationalError("UPDATE", {}, Exception("database is locked"))

    app.get("/locked")(locked)
    ask_again(app)

    async def asked() -> int:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            return (await client.get("/locked")).status_code

    assert asyncio.run(asked()) == 503


def test_apps_may_start_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flower's own 30 seconds are in the function; in ours, the time that was asked for."""
    for module, name in STATES.items():
        kind = getattr(importlib.import_module(module), name)
        monkeypatch.setattr(kind, "claim_task", kind.claim_task)  # put back at the end
    start_late(1234.0)
    from flwr.supercore.object_store import ObjectStoreFactory
    from flwr.supernode.nodestate import NodeStateFactory

    state: Any = NodeStateFactory(ObjectStoreFactory()).state()
    task = state.create_task(task_type="flwr-clientapp", run_id=1, fab_hash="0")
    before = datetime.now().astimezone()
    assert state.claim_task(task)
    given = state.task_token_store[task].active_until - before
    assert timedelta(seconds=1233) < given < timedelta(seconds=1234 + 600)
    sql = importlib.import_module("flwr.supercore.corestate.sql_corestate")
    assert sql.SqlCoreState.claim_task.__globals__["HEARTBEAT_DEFAULT_INTERVAL"] == 1234.0
    assert sql.HEARTBEAT_DEFAULT_INTERVAL == 30
