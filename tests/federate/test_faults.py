"""Faults: parties that leave, come back or never answer, and a server that is killed at any of its writes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from hideseek.federate.encodings import collected, run_encodings
from hideseek.federate.gradients import State, run_gradients
from hideseek.federate.messages import CONFIG, DESCRIBE, SHARD, UPDATE, Message, number
from hideseek.federate.metrics import place_of, read_metrics
from hideseek.hide import InstaHide
from hideseek.hide.files import shards
from hideseek.hide.updates import ShareUpdates
from local_parties import Behaviour, LocalParties, agreement, parties, server

pytest.importorskip("flwr")
from hideseek.federate.flower.strategies import FlowerAggregate

UPDATES = ShareUpdates("tanh-dense", batch=16, local_steps=4, rate=0.1, sends="weights", mode="eval")
ENCODINGS = replace(agreement(InstaHide(k=4)), model="tanh-dense")


class KilledError(BaseException):
    """As if the process had ended: nothing but `finally` sees it."""


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make two shards of a party's few images."""
    monkeypatch.setattr(shards, "SHARD", 1)
    monkeypatch.setattr(shards, "block_rows", lambda pixels: 40)


def run(folder: Path, who: LocalParties, strategy: str = "fedavg", rounds: int = 3, **settings: object) -> State:
    return run_gradients(server(folder, agreement(UPDATES, rounds=rounds), who, **settings), FlowerAggregate(strategy))


def equal(found: State, wanted: State) -> bool:
    return found.keys() == wanted.keys() and all(torch.equal(found[name], each) for name, each in wanted.items())


def answering(*rounds: int) -> Behaviour:
    """Give a party that answers in some rounds alone."""

    def behave(asked: Message, honest: Any) -> Message | None:
        return honest(asked) if number(asked, CONFIG, "round") in rounds else None

    return behave


class Present(LocalParties):
    """Parties of which one is connected in some rounds alone, so that nobody waits for it."""

    rounds: tuple[int, ...] = ()

    def present(self) -> list[int]:
        done = len({int(number(message, CONFIG, "round")) for _, message in self.asked})
        return [place for place in self.settings if place != 1 or done + 1 in self.rounds]


@pytest.mark.parametrize("rounds", [(1,), (), (1, 3), (2, 3)])
def test_a_party_that_leaves_or_comes_back_changes_nothing_else(tmp_path: Path, rounds: tuple[int, ...]) -> None:
    """The weights are those of a run in which it was not connected; every answer is used once."""
    who = parties(tmp_path, 3, {1: answering(*rounds)})
    found = run(tmp_path, who)
    calm = Present(parties(tmp_path / "calm", 3).settings)
    calm.rounds = rounds
    assert equal(found, run(tmp_path / "calm", calm))
    used = [(each["round"], party) for each in read_metrics(tmp_path / "out")[1:] for party in each["parties"]]
    answered = [(int(number(asked, CONFIG, "round")), party) for party, asked in who.asked if asked.kind == UPDATE]
    assert sorted(used) == sorted(each for each in answered if each[1] != 1 or each[0] in rounds)


def test_who_answered_is_not_asked_again_when_a_round_is_tried_again(tmp_path: Path) -> None:
    calls: list[Message] = []

    def slow(asked: Message, honest: Any) -> Message | None:
        calls.append(asked)
        return None if len(calls) == 1 else honest(asked)

    who = parties(tmp_path, 2, {0: slow})
    run(tmp_path, who, rounds=1, least=2)
    assert [party for party, message in who.asked if message.kind == UPDATE] == [0, 1, 0]
    assert read_metrics(tmp_path / "out")[1]["parties"] == [0, 1]


@pytest.mark.parametrize(("missed", "rows"), [(1, 160), (2, 160), (3, 107), (1000, 107)])
def test_a_party_that_stops_in_the_middle_of_its_shards(tmp_path: Path, missed: int, rows: int) -> None:
    """It is asked three times; then the others are trained on without it."""
    calls: list[Message] = []

    def leaving(asked: Message, honest: Any) -> Message | None:
        if asked.kind == SHARD and number(asked, CONFIG, "shard") == 1:
            calls.append(asked)
            return honest(asked) if len(calls) > missed else None
        return honest(asked)  # type: ignore[no-any-return]

    found = collected(server(tmp_path, ENCODINGS, parties(tmp_path, 3, {1: leaving})), 0)
    assert len(found) == rows
    assert len(found.images.flatten(1).unique(dim=0)) == rows
    assert (tmp_path / "out" / "refused.jsonl").exists() == (rows < 160)


class Away(LocalParties):
    """Parties of which one is not connected for some looks, after it was lost."""

    looks: int = 0

    def present(self) -> list[int]:
        self.looks -= 1
        return [place for place in self.settings if place != 1 or self.looks < 0]


@pytest.mark.parametrize("kind", [DESCRIBE, SHARD])
def test_a_party_that_was_lost_is_waited_for_before_it_is_asked_again(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hideseek.federate.server.POLL", 0.0)
    who, lost = Away(parties(tmp_path, 3).settings), list[Message]()

    def leaving(asked: Message, honest: Any) -> Message | None:
        if asked.kind == kind and not lost:
            lost.append(asked)
            who.looks = 5
            return None
        assert who.looks < 0  # nobody asks while it is away
        return honest(asked)  # type: ignore[no-any-return]

    who.behaviours = {1: leaving}
    assert len(collected(server(tmp_path, ENCODINGS, who, wait=600.0), 0)) == 160
    assert lost
    assert not (tmp_path / "out" / "refused.jsonl").exists()


@contextmanager
def killed_at(place: int, monkeypatch: pytest.MonkeyPatch, folder: Path, *, after: bool) -> Iterator[list[str]]:
    """Raise where the server gives a file its name for the n-th time, before or after it has."""
    seen: list[str] = []

    def counted(original: Callable[..., Any]) -> Callable[..., Any]:
        def renamed(self: Path, target: Path) -> Any:
            if folder not in Path(target).parents:
                return original(self, target)
            seen.append(Path(target).name)
            if len(seen) == place and not after:
                raise KilledError
            done = original(self, target)
            if len(seen) == place:
                raise KilledError
            return done

        return renamed

    with monkeypatch.context() as patch:
        for name in ("replace", "rename"):
            patch.setattr(Path, name, counted(getattr(Path, name)))
        yield seen


def killed_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: Callable[[Path, LocalParties], Any], only: str = ""
) -> Iterator[tuple[Path, Any, Any, LocalParties, LocalParties]]:
    """Give, for every write of the server, what came of the work without a kill there and after it."""
    with killed_at(0, monkeypatch, tmp_path / "whole" / "out", after=True) as writes:
        whole = work(tmp_path / "whole", parties(tmp_path / "whole", 2))
    assert len(writes) > 3
    for place, name in enumerate(writes, start=1):
        for after in (False, True) if not only else (True,) if name == only else ():
            folder = tmp_path / f"{place}-{after}"
            first, again = parties(folder, 2), parties(folder, 2)
            with killed_at(place, monkeypatch, folder / "out", after=after), pytest.raises(KilledError):
                work(folder, first)
            yield folder, whole, work(folder, again), first, again


def test_a_server_killed_at_any_write_goes_on_after_the_last_finished_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The weights and metrics are those of a run without a stop, and at most one round is asked for twice."""
    seen = 0
    for folder, whole, found, first, again in killed_everywhere(
        tmp_path, monkeypatch, lambda place, who: run(place, who, "fedavgm", rounds=2)
    ):
        seen += 1
        assert equal(found, whole)
        assert [each["round"] for each in read_metrics(folder / "out")] == [0, 1, 2]
        asked = [number(message, CONFIG, "round") for _, message in first.asked + again.asked if message.kind == UPDATE]
        assert 4 <= len(asked) <= 6
    assert seen >= 14


def test_a_server_killed_while_it_collects_asks_for_what_is_missing_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def collect(place: Path, who: LocalParties) -> Any:
        return collected(server(place, ENCODINGS, who), 0)

    for folder, whole, found, first, again in killed_everywhere(tmp_path, monkeypatch, collect):
        assert torch.equal(found.images, whole.images)
        assert [each["rows"] for each in read_metrics(folder / "out")] == [160]
        asked = [party for party, message in first.asked + again.asked if message.kind == SHARD]
        assert 4 <= len(asked) <= 6  # two shards a party, and those that were on their way


def test_a_server_killed_while_it_trains_trains_on_the_same_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def train(place: Path, who: LocalParties) -> State:
        return run_encodings(server(place, replace(ENCODINGS, again=True, rounds=2), who))

    for folder, whole, found, _, _ in killed_everywhere(tmp_path, monkeypatch, train, "metrics.jsonl"):
        assert equal(found, whole)
        measured = sorted(map(place_of, read_metrics(folder / "out")))
        assert measured == [("epoch", 1), ("epoch", 2), ("round", 0), ("round", 1)]


def test_after_a_stop_parties_that_join_late_do_not_change_what_is_trained_on(tmp_path: Path) -> None:
    few = parties(tmp_path, 3)
    few.settings = {place: each for place, each in few.settings.items() if place < 2}
    before = collected(server(tmp_path, ENCODINGS, few), 0)
    again = parties(tmp_path, 3)
    assert torch.equal(collected(server(tmp_path, ENCODINGS, again), 0).images, before.images)
    assert not again.asked
