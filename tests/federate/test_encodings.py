"""The protocol encodings: what is pooled, what is asked for again after a stop, and what is refused."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from blake3 import blake3
from safetensors.torch import load, save

from hideseek.data import load as load_images
from hideseek.data import normalise
from hideseek.errors import BadInput
from hideseek.federate import party
from hideseek.federate.agreement import Agreement
from hideseek.federate.encodings import collected, delivered, run_encodings
from hideseek.federate.messages import DESCRIBE, SHARD, Message, number
from hideseek.federate.party import Part
from hideseek.federate.server import Server, read_metrics
from hideseek.hide import InstaHide, Mixup
from hideseek.hide.files import shards
from hideseek.hide.files.release_files import read_release
from hideseek.train.trained import read_model
from hideseek.train.training import AdamW, Training
from local_parties import Behaviour, LocalParties, agreement, faces, parties, server

ONCE = agreement(InstaHide(k=4))
SMALL = 16  # rows of a shard in these tests


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make several shards of a party's few images."""
    monkeypatch.setattr(shards, "SHARD", 1)
    monkeypatch.setattr(shards, "block_rows", lambda pixels: SMALL)


def asked(who: LocalParties, kind: str) -> list[tuple[int, int]]:
    messages = [(party, message) for party, message in who.asked if message.kind == kind]
    return [(party, int(number(message, "config", "shard"))) for party, message in messages]


def test_all_rows_of_all_parties_are_pooled_once(tmp_path: Path) -> None:
    who = parties(tmp_path, 3)
    state = run_encodings(server(tmp_path, ONCE, who))
    folders = [each.folder / "encodings-00000" for each in who.settings.values()]
    rows = torch.cat([read_release(folder).encoded.images for folder in folders])
    assert len(rows) == len(faces()) == read_metrics(tmp_path / "out")[0]["rows"]
    assert len(asked(who, SHARD)) == len(set(asked(who, SHARD))) == 12  # 53 or 54 rows in shards of 16
    model, _ = read_model(who.settings[0].folder / "model.safetensors")
    assert all(torch.equal(tensor, state[name]) for name, tensor in model.network.state_dict().items())


def test_the_model_does_not_depend_on_the_numbers_of_the_parties(tmp_path: Path) -> None:
    who = parties(tmp_path / "first", 3)
    others = parties(tmp_path / "second", 3)
    others = replace(others, settings={100 - number: each for number, each in others.settings.items()})
    first = run_encodings(server(tmp_path / "first", ONCE, who))
    second = run_encodings(server(tmp_path / "second", ONCE, others))
    assert all(torch.equal(tensor, second[name]) for name, tensor in first.items())


def test_a_server_may_say_all_of_how_it_trains(tmp_path: Path) -> None:
    training = Training(3, 16, AdamW())
    run_encodings(server(tmp_path, ONCE, parties(tmp_path, 3), training=training))
    assert [each["epochs"] for each in read_metrics(tmp_path / "out") if "epoch" in each] == [3, 3, 3]


def test_parties_may_share_features(tmp_path: Path) -> None:
    labels = torch.arange(40) % 2
    features = labels[:, None] + torch.linspace(0, 1, 240).view(40, 6)
    np.savez(tmp_path / "features.npz", x=features.numpy(), y=labels.numpy())
    private = normalise(load_images(f"npz:{tmp_path}/features.npz"), "channel")
    agreed = Agreement("encodings", "linear", Mixup(), private.shape, ("0", "1"), private.normalisation)
    who = parties(tmp_path, 2)
    named = {
        number: replace(each, data=f"npz:{tmp_path}/features.npz", part=Part(number, 2))
        for number, each in who.settings.items()
    }
    rows = collected(server(tmp_path, agreed, replace(who, settings=named)), 0)
    assert rows.shape == (6, 1, 1)
    assert len(rows) == 40


def test_a_server_that_was_stopped_asks_for_what_is_missing_alone(tmp_path: Path) -> None:
    class KilledError(Exception):
        pass

    def killed(message: Message, honest: Behaviour) -> Message | None:
        if message.kind == SHARD and message.numbers["config"]["shard"] == 2:
            raise KilledError
        return honest(message)  # type: ignore[call-arg]

    first = parties(tmp_path, 3, {2: killed})  # type: ignore[dict-item]
    with pytest.raises(KilledError):
        collected(server(tmp_path, ONCE, first), 0)
    again = parties(tmp_path, 3)
    rows = collected(server(tmp_path, ONCE, again), 0)
    whole = set(asked(first, SHARD)) | set(asked(again, SHARD))
    answered = {(party, place) for party, place in asked(first, SHARD) if place < 2}
    assert len(rows) == len(faces())
    assert not answered & set(asked(again, SHARD))
    assert len(whole) == 12


def test_a_party_that_left_after_it_sent_all_is_pooled(tmp_path: Path) -> None:
    whole = collected(server(tmp_path, ONCE, parties(tmp_path, 3)), 0)
    few = parties(tmp_path, 3)
    few.settings = {place: each for place, each in few.settings.items() if place > 0}
    assert len(collected(server(tmp_path, ONCE, few), 0)) == len(whole)
    assert not asked(few, SHARD)


def test_encoding_anew_gives_every_epoch_its_own_rows(tmp_path: Path) -> None:
    who = parties(tmp_path, 2)
    run = server(tmp_path, replace(ONCE, again=True, rounds=3), who)
    run_encodings(run)
    folders = [who.settings[0].folder / f"encodings-{place:05d}" for place in range(3)]
    rows = [read_release(folder).encoded.images for folder in folders]
    assert not torch.equal(rows[0].sort(0).values, rows[1].sort(0).values)
    assert [each["rows"] for each in read_metrics(tmp_path / "out") if "rows" in each] == [160, 160, 160]


def _changed(change: str) -> Behaviour:
    """Give a party that changes its description, or a shard, and describes it truly."""
    kept: dict[str, bytes] = {}

    def behave(message: Message, honest: object) -> Message | None:
        answer: Message = honest(message)  # type: ignore[operator]
        if message.kind == DESCRIBE:
            about = json.loads(str(answer.words["config"]["description"]))
            if change in ("nan", "inf", "huge", "label", "shape", "pickle", "float64", "float8", "twice"):
                inner = honest(replace(message, kind=SHARD, numbers={"config": {"round": 0, "shard": 0}}))  # type: ignore[operator]
                kept["shard"] = _spoilt(inner.tensors["shard"]["bytes"].numpy().tobytes(), change)
                about["shards"][0]["blake3"] = blake3(kept["shard"]).hexdigest()
                if change == "twice":
                    about["shards"][1] = about["shards"][0]
            elif change == "rows":
                about["rows"] *= 10
                about["shards"][0]["rows"] += 9 * sum(each["rows"] for each in about["shards"])
            elif change == "scheme":
                about["scheme"]["k"] = 2
            elif change == "rounds":
                about["rounds"] = 2
            elif change == "normalisation":
                about["normalisation"]["std"] = [0.5]
            text = "{" if change == "json" else json.dumps(about)
            return replace(answer, words={"config": {"description": text}})
        if message.kind == SHARD and "shard" in kept and number(message, "config", "shard") <= (change == "twice"):
            spoilt = torch.frombuffer(bytearray(kept["shard"]), dtype=torch.uint8)
            return replace(answer, tensors={"shard": {"bytes": spoilt}})
        if message.kind == SHARD and change == "other":
            return replace(answer, tensors={"shard": {"bytes": answer.tensors["shard"]["bytes"].flip(0)}})
        if message.kind == SHARD and change == "pixels":
            return replace(answer, tensors={**answer.tensors, "images": {"raw": faces().pixels()[:4]}})
        return answer

    return behave


def _spoilt(content: bytes, change: str) -> bytes:
    tensors = load(content)
    if change == "huge":
        tensors["images"][0, 0, 0, 0] = 3e38
    elif change == "float8":
        return save(tensors).replace(b'"F32"', b'"F4" ', 1)
    elif change in ("nan", "inf"):
        tensors["images"][0, 0, 0, 0] = float(change)
    elif change == "label":
        tensors["labels"][0, 0] = 1.5
    elif change == "shape":
        tensors["images"] = tensors["images"][:, :, :6].contiguous()
    elif change == "float64":
        tensors["images"] = tensors["images"].double()
    elif change == "pickle":
        return b"\x80\x04c__builtin__\neval\n" + b"." * 200
    return save(tensors)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("nan", "not finite"), ("inf", "not finite"), ("huge", "which no encoding of images has"),
        ("float8", "shard 0"), ("label", "sum to more than 1"), ("shape", "shapes"),
        ("float64", "shard 0"), ("pickle", "shard 0"), ("other", "is not what it described"),
        ("twice", "under several numbers"), ("rows", "agreed were at most"), ("scheme", "agreed was"),
        ("rounds", "does not describe"), ("normalisation", "normalisation"), ("json", "cannot be read"),
        ("pixels", "something else"),
    ],
)  # fmt: skip
def test_what_cannot_be_encodings_is_refused_and_the_others_go_on(tmp_path: Path, change: str, said: str) -> None:
    agreed = replace(ONCE, most_rows=100)
    rows = collected(server(tmp_path, agreed, parties(tmp_path, 3, {1: _changed(change)})), 0)
    assert len(rows) in (106, 107)
    refused = (tmp_path / "out" / "refused.jsonl").read_text()
    assert said in refused
    assert '"party": 1' in refused


def test_after_a_stop_the_same_shards_under_another_description_are_not_taken_twice(tmp_path: Path) -> None:
    delivered(server(tmp_path, ONCE, parties(tmp_path, 2)), 0)  # all is there, and the server stops before it says so

    def spaced(message: Message, honest: Behaviour) -> Message | None:
        answer: Message = honest(message)  # type: ignore[call-arg, assignment]
        if message.kind == DESCRIBE:
            text = json.dumps(json.loads(str(answer.words["config"]["description"])))
            return replace(answer, words={"config": {"description": text}})
        return answer

    again = parties(tmp_path, 2, {1: spaced})  # type: ignore[dict-item]
    assert len(collected(server(tmp_path, ONCE, again), 0)) == len(faces())
    assert "sent before" in (tmp_path / "out" / "refused.jsonl").read_text()


def test_what_another_party_sent_is_not_taken_twice(tmp_path: Path) -> None:
    who = parties(tmp_path, 2)
    who.settings = {0: who.settings[0], 1: who.settings[1], 2: who.settings[1]}
    assert len(collected(server(tmp_path, ONCE, who), 0)) == 160
    assert "what was sent before" in (tmp_path / "out" / "refused.jsonl").read_text()


def test_too_few_encodings_end_the_run(tmp_path: Path) -> None:
    def silent(message: Message, honest: object) -> Message | None:
        return None

    run: Server = server(tmp_path, ONCE, parties(tmp_path, 2, {0: silent}), least=2)
    with pytest.raises(BadInput, match="1 parties sent their encodings and 2 are needed"):
        collected(run, 0)


def test_schemes_of_other_kinds_pool_too(tmp_path: Path) -> None:
    agreed = agreement(Mixup(k=2))
    run_encodings(server(tmp_path, agreed, parties(tmp_path, 2)))
    assert (tmp_path / "out" / "model.safetensors").exists()


def test_a_party_that_comes_back_is_asked_for_what_is_missing_alone(tmp_path: Path) -> None:
    calls = []

    def away_once(message: Message, honest: object) -> Message | None:
        if message.kind == SHARD:
            calls.append(int(number(message, "config", "shard")))
            if len(calls) == 3:
                return None
        return honest(message)  # type: ignore[operator,no-any-return]

    rows = collected(server(tmp_path, ONCE, parties(tmp_path, 3, {1: away_once})), 0)
    assert len(rows) == len(faces())
    assert calls == [0, 1, 2, 2, 3]
    assert not (tmp_path / "out" / "refused.jsonl").exists()


def test_a_party_that_goes_silent_is_left_out_and_the_others_do_not_wait(tmp_path: Path) -> None:
    def silent(message: Message, honest: object) -> Message | None:
        return None if message.kind == SHARD else honest(message)  # type: ignore[operator]

    who = parties(tmp_path, 3, {1: silent})
    assert len(collected(server(tmp_path, ONCE, who), 0)) in (106, 107)
    assert asked(who, SHARD).count((1, 0)) == 3
    assert [each for each in asked(who, SHARD) if each[0] == 1] == [(1, 0)] * 3
    refused = (tmp_path / "out" / "refused.jsonl").read_text().splitlines()
    assert len(refused) == 1
    assert "did not answer in time" in refused[0]


def test_images_are_not_loaded_to_send_a_shard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    who = parties(tmp_path, 2)
    first = collected(server(tmp_path, ONCE, who), 0)
    party.loaded.cache_clear()
    monkeypatch.setattr(party, "load_party", lambda *_: pytest.fail("images were loaded"))
    again = collected(server(tmp_path / "again", ONCE, who), 0)
    assert torch.equal(first.images.sort(0).values, again.images.sort(0).values)


def test_a_shard_that_was_not_described_is_not_sent(tmp_path: Path) -> None:
    who = parties(tmp_path, 1)
    run = server(tmp_path, ONCE, who)
    answers = run.parties.ask({0: run.message(SHARD, {"round": 0, "shard": 0})}, 1.0)
    assert "not described" in answers[0].error
