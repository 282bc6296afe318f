"""Asking through Flower's grid: a few messages under way, answers one at a time, and nobody waits for the silent."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from hideseek.federate.messages import CONFIG, Message, number

flwr = pytest.importorskip("flwr.app")
from hideseek.federate.flower import parties as flower_parties  # noqa: E402
from hideseek.federate.flower.parties import AHEAD, FlowerParties  # noqa: E402
from hideseek.federate.flower.records import content  # noqa: E402


@dataclass
class Sent:
    """A message as Flower makes it, of what our parties use."""

    content: Any
    dst_node_id: int
    message_type: str
    ttl: float

    def __post_init__(self) -> None:
        self.metadata = type("Metadata", (), {"message_id": "", "message_type": self.message_type})()

    @property
    def error(self) -> Any:
        return flwr.Error(self.content, "Flower says so") if self.has_error() else None

    def has_error(self) -> bool:
        return isinstance(self.content, int)


@dataclass
class Grid:
    """Nodes that answer the oldest question each time somebody looks; some are silent, some are not known."""

    silent: frozenset[int] = frozenset()
    unknown: frozenset[int] = frozenset()
    waiting: dict[int, list[Sent]] = field(default_factory=dict)
    calls: list[int] = field(default_factory=list)
    most: Counter[int] = field(default_factory=Counter)
    made: int = 0

    def push_messages(self, messages: Iterable[Sent]) -> list[str | None]:
        given: list[str | None] = []
        self.calls.append(0)
        for each in messages:
            self.made += 1
            self.calls[-1] += 1
            each.metadata.message_id = f"message-{self.made}"
            if each.dst_node_id in self.unknown:
                given.append(None)
                continue
            queue = self.waiting.setdefault(each.dst_node_id, [])
            queue.append(each)
            self.most[each.dst_node_id] = max(self.most[each.dst_node_id], len(queue))
            given.append(each.metadata.message_id)
        return given

    def pull_messages(self, numbers: Iterable[str]) -> list[Sent]:
        (wanted,) = numbers
        for node, queue in self.waiting.items():
            if node not in self.silent and queue and queue[0].metadata.message_id == wanted:
                return [queue.pop(0)]
        return []


@dataclass
class MovedClock:
    """Time that passes while somebody rests, and not else: no test waits, or depends on how busy the machine is."""

    now: float = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture(autouse=True)
def no_flower_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make messages without a run of Flower's, and rest on a clock that the test moves."""
    monkeypatch.setattr(flower_parties, "FlowerMessage", Sent)
    clock = MovedClock()
    monkeypatch.setattr(flower_parties, "time", clock)


def question(place: int) -> Message:
    return Message("query.shard", numbers={CONFIG: {"shard": place}})


def place(message: Message) -> int:
    return int(number(message, CONFIG, "shard"))


def test_queues_are_answered_in_order_with_few_messages_under_way() -> None:
    grid = Grid()
    read: Counter[int] = Counter()

    def queue(party: int, count: int) -> Iterator[Message]:
        for each in range(count):
            read[party] += 1
            yield question(each)

    answered: dict[int, list[int]] = {1: [], 2: []}
    for party, asked, answer in FlowerParties(grid).ask_on({1: queue(1, 7), 2: queue(2, 3)}, 10.0):  # type: ignore[arg-type]
        assert answer is not None
        assert place(asked) == place(answer)
        answered[party].append(place(answer))
        assert read[party] <= len(answered[party]) + AHEAD
    assert answered == {1: list(range(7)), 2: list(range(3))}
    assert max(grid.most.values()) == AHEAD


def test_a_queue_ends_when_whoever_asks_ends_it() -> None:
    going, seen = {1, 2}, []

    def queue(party: int) -> Iterator[Message]:
        for each in range(9):
            if party in going:
                yield question(each)

    for party, asked, _ in FlowerParties(Grid()).ask_on({1: queue(1), 2: queue(2)}, 10.0):  # type: ignore[arg-type]
        seen.append((party, place(asked)))
        going.discard(1)
    assert len([each for each in seen if each[0] == 1]) <= 1 + AHEAD
    assert len([each for each in seen if each[0] == 2]) == 9


def test_who_is_silent_or_not_known_gives_nothing_once_and_the_others_go_on() -> None:
    grid = Grid(silent=frozenset({1}), unknown=frozenset({2}))
    queues = {party: [question(each) for each in range(4)] for party in (1, 2, 3)}
    found = list(FlowerParties(grid).ask_on(queues, 60.0))  # type: ignore[arg-type]
    assert [(party, answer) for party, _, answer in found if party in (1, 2)] == [(2, None), (1, None)]
    assert len([answer for party, _, answer in found if party == 3 and answer is not None]) == 4


def test_one_call_sends_one_message_to_all_and_its_records_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def counted(message: Message) -> Any:
        made.append(message)
        return content(message)

    monkeypatch.setattr(flower_parties, "content", counted)
    grid, message = Grid(silent=frozenset({3})), question(5)
    answers = FlowerParties(grid).ask(dict.fromkeys((1, 2, 3), message), 60.0)  # type: ignore[arg-type]
    assert sorted(answers) == [1, 2]
    assert len(made) == 1
    assert grid.calls == [3]


def test_what_cannot_be_read_is_an_error_of_its_sender() -> None:
    grid = Grid()
    bad = flwr.RecordDict({"update": flwr.ArrayRecord({"w": flwr.Array("object", (1,), "pickle", b"")})})
    pull = grid.pull_messages

    def spoilt(numbers: Iterable[str]) -> list[Sent]:
        found = pull(numbers)
        for each in found:
            each.content = bad
        return found

    grid.pull_messages = spoilt  # type: ignore[method-assign]
    answers = FlowerParties(grid).ask({1: question(0)}, 10.0)  # type: ignore[arg-type]
    assert "no array of numbers" in answers[1].error


@pytest.mark.parametrize("code", sorted(flower_parties.GONE))
def test_a_node_that_flower_lost_is_silent_and_not_refused_and_nobody_waits_for_it(code: int) -> None:
    grid = Grid()
    pull = grid.pull_messages

    def lost(numbers: Iterable[str]) -> list[Sent]:
        found = pull(numbers)
        for each in found:
            if each.dst_node_id == 1:
                each.content = code
        return found

    grid.pull_messages = lost  # type: ignore[method-assign]
    found = list(FlowerParties(grid).ask_on({1: [question(0), question(1)], 2: [question(0)]}, 60.0))  # type: ignore[arg-type]
    assert [(party, answer is None) for party, _, answer in found] == [(1, True), (2, False)]


def test_what_a_party_says_itself_is_its_answer() -> None:
    grid = Grid()
    pull = grid.pull_messages

    def refusing(numbers: Iterable[str]) -> list[Sent]:
        found = pull(numbers)
        for each in found:
            each.content = 600
        return found

    grid.pull_messages = refusing  # type: ignore[method-assign]
    assert FlowerParties(grid).ask({1: question(0)}, 60.0)[1].error == "Flower says so"  # type: ignore[arg-type]
