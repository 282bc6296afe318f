"""Inspection: what a message leaks is found out at home, written down, and kept in where it is too much."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from hideseek.errors import BadInput
from hideseek.federate.client import answer
from hideseek.federate.gate import LOG, Gate
from hideseek.federate.messages import DESCRIBE, SHARD, UPDATE, Message
from hideseek.federate.party import Part, PartySettings, loaded
from hideseek.federate.policy import Policy
from hideseek.hide import Mixup, RecipeEncoder
from hideseek.hide.updates import GradientNoise, ShareUpdates
from local_parties import DATA, agreement, parties, server

DENSE = ShareUpdates("relu-dense", 4, 1, 1, 0.05, "gradient", "eval")
NOISY = replace(DENSE, defences=(GradientNoise(1.0, 1.0),))


def node(tmp_path: Path, scheme: str, protocol: str, inspect: list[str], recovered: int = 0) -> Gate:
    policy = tmp_path / "policy.toml"
    policy.write_text(
        f"protocols = ['{protocol}']\nschemes = ['{scheme}']\nrounds = 9\nstatistics = ['num-examples']\n"
        f"inspect = {inspect}\nrecovered = {recovered}\n"
    )
    settings = PartySettings(DATA, tmp_path / "party", Part(0, 2), policy=policy)
    return Gate.of(settings, Message(UPDATE))


def sent(tmp_path: Path, gate: Gate, scheme: ShareUpdates) -> tuple[Message, dict[str, object]]:
    run = server(tmp_path, agreement(scheme, buffers=False), parties(tmp_path, 2))
    asked = run.message(UPDATE, {"round": 1}, run.initial_state())
    found = gate.passed(asked, answer(asked, PartySettings(DATA, tmp_path / "party", Part(0, 2))))
    return found, json.loads((tmp_path / "party" / LOG).read_text().splitlines()[-1])


def test_an_update_that_gives_images_away_stays_and_the_log_says_how_many(tmp_path: Path) -> None:
    found, entry = sent(tmp_path, node(tmp_path, "none", "gradients", ["first-layer", "imprint"]), DENSE)
    assert "4 images back" in found.error
    assert not found.tensors
    leaks = {each["attack"]: each for each in entry["leaks"]}  # type: ignore[attr-defined]
    assert leaks["first-layer"]["recovered"] == 4
    assert not leaks["imprint"]["applies"]


def test_what_leaks_no_more_than_the_owner_allows_leaves(tmp_path: Path) -> None:
    allowed, entry = sent(tmp_path / "a", node(_made(tmp_path / "a"), "none", "gradients", ["first-layer"], 4), DENSE)
    assert not allowed.error
    assert entry["leaks"][0]["recovered"] == 4  # type: ignore[index]
    scheme = "gradient-noise:clip=1:noise=1"
    gate = node(_made(tmp_path / "b"), scheme, "gradients", ["first-layer", "labels-from-gradient"])
    noisy, entry = sent(tmp_path / "b", gate, NOISY)
    assert not noisy.error
    assert [each["recovered"] for each in entry["leaks"]] == [0, 0]  # type: ignore[attr-defined]
    assert [each["labels"] for each in entry["leaks"]] == [False, True]  # type: ignore[attr-defined]


@pytest.mark.parametrize(("scheme", "name", "leaks"), [(Mixup(k=2), "mixup", True), (Mixup(k=8), "mixup:k=8", False)])
def test_encodings_are_inspected_shard_by_shard(tmp_path: Path, scheme: RecipeEncoder, name: str, leaks: bool) -> None:
    gate = node(tmp_path, name, "encodings", ["byte-decoding"])
    gate = replace(gate, party=partial(loaded, settings := PartySettings(DATA, tmp_path / "party", Part(0, 16))))
    run = server(tmp_path, agreement(scheme), parties(tmp_path, 16))
    describing, sharding = run.message(DESCRIBE, {"round": 0}), run.message(SHARD, {"round": 0, "shard": 0})
    assert not gate.passed(describing, answer(describing, settings)).error
    assert bool(gate.passed(sharding, answer(sharding, settings)).error) == leaks
    if leaks:
        entry = json.loads((tmp_path / "party" / LOG).read_text().splitlines()[-1])
        assert entry["leaks"][0]["recovered"] > 5


def test_an_inspection_without_images_lets_nothing_leave(tmp_path: Path) -> None:
    gate = replace(node(tmp_path, "none", "gradients", ["first-layer"], 99), party=None)
    assert "not here" in sent(tmp_path, gate, DENSE)[0].error


def test_an_unknown_attack_is_a_mistake_of_the_policy(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="did you mean first-layer"):
        Policy.of_values(
            {"protocols": ["gradients"], "schemes": ["none"], "rounds": 1, "inspect": ["first-layr"]}, "policy"
        )


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
