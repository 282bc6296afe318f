"""The gate: what an owner's policy lets leave, what stays, and what is written down."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from blake3 import blake3
from safetensors.torch import load as load_tensors
from safetensors.torch import save

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.federate.agreement import Agreement
from hideseek.federate.client import answer
from hideseek.federate.gate import LOG, Gate
from hideseek.federate.messages import DESCRIBE, JUDGE, SHARD, TAKE, UPDATE, Message
from hideseek.federate.outgoing import balanced
from hideseek.federate.party import Part, PartySettings
from hideseek.federate.policy import Policy, template
from hideseek.hide import InstaHide, Mixup, SingularizedMixup
from hideseek.hide.named import schemes
from hideseek.hide.updates import GradientNoise, GradientPruning, Quantised, ShareUpdates, Sign
from hideseek.hide.updates.chains import Chain, chains
from local_parties import DATA, agreement, faces, parties, server

PRUNED = ShareUpdates("lenet", 16, 2, 1, 0.1, "weights", "eval", defences=(GradientPruning(0.9),))
POLICY: dict[str, object] = {
    "protocols": ["gradients"], "schemes": ["gradient-pruning:p=0.9"], "rounds": 2, "cohort": 10,
    "statistics": ["num-examples"],
}  # fmt: skip


def gate(tmp_path: Path, **changes: object) -> Gate:
    return Gate(Policy.of_values({**POLICY, **changes}, "policy"), tmp_path / "node")


def exchange(tmp_path: Path, agreed: Agreement, round_: int = 1) -> tuple[Message, Message]:
    run = server(tmp_path, agreed, parties(tmp_path, 2))
    asked = run.message(UPDATE, {"round": round_}, run.initial_state())
    return asked, answer(asked, PartySettings(DATA, tmp_path / "party", Part(0, 2)))


def test_what_is_allowed_leaves_unchanged_and_is_written_down(tmp_path: Path) -> None:
    asked, answered = exchange(tmp_path, agreement(PRUNED, buffers=False))
    assert gate(tmp_path).passed(asked, answered) is answered
    (entry,) = [json.loads(line) for line in (tmp_path / "node" / LOG).read_text().splitlines()]
    assert entry["passed"]
    assert entry["digest"] == answered.digest()
    assert entry["bytes"] == answered.size()
    assert (tmp_path / "node" / LOG).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ({"protocols": ["encodings"], "schemes": ["mixup"]}, "protocol gradients is not allowed"),
        ({"schemes": ["gradient-pruning:p=0.99"]}, "p = 0.9, and at least 0.99"),
        ({"schemes": ["gradient-noise"]}, "gradient-noise"),
        ({"schemes": ["intra-instahide+gradient-pruning:p=0.9"]}, "not encoded"),
        ({"schemes": ["sign", "gradient-noise"]}, "none of those"),
        ({"rounds": 0}, "0 rounds already"),
        ({"cohort": 100}, "fewer than 100 images"),
        ({"statistics": []}, "num-examples"),
    ],
)
def test_what_the_owner_does_not_allow_stays(tmp_path: Path, policy: dict[str, object], said: str) -> None:
    asked, answered = exchange(tmp_path, agreement(PRUNED, buffers=False))
    found = gate(tmp_path, **policy).passed(asked, answered)
    assert not found.tensors
    assert said in found.error
    assert not json.loads((tmp_path / "node" / LOG).read_text().splitlines()[-1])["passed"]


def _with(answered: Message, change: str) -> Message:
    update = dict(answered.tensors["update"])
    name = next(name for name, tensor in update.items() if tensor.ndim > 1)
    if change == "raw":
        return replace(answered, tensors={"images": {"pixels": faces().pixels()[:2]}})
    if change == "beside":
        return replace(answered, tensors={**answered.tensors, "extra": {"x": torch.zeros(3)}})
    if change == "words":
        return replace(answered, words={"config": {"note": "patient 17"}})
    if change == "list":
        return replace(answered, numbers={"metrics": {"num-examples": faces().pixels()[0].flatten().tolist()}})
    if change == "number":
        return replace(answered, numbers={"metrics": {"num-examples": 16, "maximum": 3.5}})
    if change == "undefended":
        return replace(answered, tensors={"update": {**update, name: torch.randn_like(update[name])}})
    if change == "other":
        return replace(answered, tensors={"update": {**update, "patients": torch.zeros(4)}})
    if change == "shape":
        return replace(answered, tensors={"update": {**update, name: torch.zeros(7, 7)}})
    if change == "nan":
        return replace(answered, tensors={"update": {**update, name: update[name] * float("nan")}})
    if change == "kind":
        return replace(answered, kind="query.anything")
    return replace(answered, tensors={})


@pytest.mark.parametrize(
    "change", ["raw", "beside", "words", "list", "number", "undefended", "other", "shape", "nan", "kind", "nothing"]
)
def test_whatever_an_app_makes_of_an_answer_stays(tmp_path: Path, change: str) -> None:
    asked, answered = exchange(tmp_path, agreement(PRUNED, buffers=False))
    found = gate(tmp_path).passed(asked, _with(answered, change))
    assert found.error
    assert not found.tensors
    assert not found.numbers
    assert not found.words


@pytest.mark.parametrize("kind", [DESCRIBE, SHARD, JUDGE, TAKE])
@pytest.mark.parametrize("hidden", ["tensors", "numbers", "words", "in the shard"])
def test_nothing_travels_beside_answers_of_other_kinds(tmp_path: Path, kind: str, hidden: str) -> None:
    run = server(tmp_path, agreement(InstaHide(k=4)), parties(tmp_path, 2))
    settings = PartySettings(DATA, tmp_path / "party", Part(0, 2))
    allowed = {"protocols": ["encodings"], "schemes": ["instahide-inside:k=4"]}
    node = gate(tmp_path, **allowed, statistics=["num-examples", "accuracy"])
    describing = run.message(DESCRIBE, {"round": 0})
    assert not node.passed(describing, answer(describing, settings)).error
    model = run.initial_state() if kind in (JUDGE, TAKE) else None
    asked = run.message(kind, {"round": 0, "shard": 0}, model)
    honest, pixels = answer(asked, settings), faces().pixels()[0].flatten()
    assert not node.passed(asked, honest).error
    beside = {
        "tensors": replace(honest, tensors={**honest.tensors, "metrics": {"image": pixels}}),
        "numbers": replace(honest, numbers={"metrics": {"accuracy": pixels.tolist()}}),
        "words": replace(honest, words={**honest.words, "note": {"patient": "17"}}),
        "in the shard": replace(honest, tensors={"shard": {**honest.tensors.get("shard", {}), "image": pixels}}),
    }
    assert node.passed(asked, beside[hidden]).error


def test_one_unmasked_row_among_many_does_not_pass() -> None:
    rows = InstaHide(k=4).hide(faces(), None, seeded(1))[0].encoded.pixels()
    assert balanced(rows)
    assert balanced((rows * 20).round().to(torch.int8))
    rows[17] = rows[17].abs()
    assert not balanced(rows)


def test_sentences_of_other_peoples_apps_stay_at_home(tmp_path: Path) -> None:
    asked, _ = exchange(tmp_path, agreement(PRUNED, buffers=False))
    told = Message(asked.kind, error="/data/patients/mueller.png is damaged")
    strict = replace(gate(tmp_path), words=False)
    assert "mueller" not in strict.passed(asked, told).error
    assert "mueller" in (tmp_path / "node" / LOG).read_text()


def test_rounds_are_counted_over_runs_and_the_same_message_counts_once(tmp_path: Path) -> None:
    node, agreed = gate(tmp_path), agreement(PRUNED, buffers=False)
    first, second, third = (exchange(tmp_path / str(place), agreed, place) for place in (1, 2, 3))
    assert not node.passed(*first).error
    assert not node.passed(*first).error
    assert not node.passed(*second).error
    assert "2 rounds already" in node.passed(*third).error


def test_a_log_that_cannot_be_written_lets_nothing_leave(tmp_path: Path) -> None:
    asked, answered = exchange(tmp_path, agreement(PRUNED, buffers=False))
    (tmp_path / "node" / LOG).mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        gate(tmp_path).passed(asked, answered)


def test_encodings_pass_after_their_description_alone(tmp_path: Path) -> None:
    run = server(tmp_path, agreement(InstaHide(k=4)), parties(tmp_path, 2))
    settings = PartySettings(DATA, tmp_path / "party", Part(0, 2))
    node = gate(tmp_path, protocols=["encodings"], schemes=["instahide-inside:k=4"])
    describing, sharding = run.message(DESCRIBE, {"round": 0}), run.message(SHARD, {"round": 0, "shard": 0})
    described, shard = answer(describing, settings), answer(sharding, settings)
    assert "not described" in node.passed(sharding, shard).error
    assert node.passed(describing, described) is described
    assert node.passed(sharding, shard) is shard
    unmasked = replace(run.agreement, scheme=Mixup(k=4))
    weaker = gate(tmp_path / "2", protocols=["encodings"], schemes=["instahide-inside:k=6"])
    assert "k = 4, and at least 6" in weaker.passed(describing, described).error
    mixing = replace(describing, words={"config": {"agreement": unmasked.to_json()}})
    other = answer(mixing, replace(settings, folder=tmp_path / "other"))
    assert "not instahide" in node.passed(mixing, other).error


def test_an_unmasked_shard_does_not_pass_as_masked(tmp_path: Path) -> None:
    asked, mixed = (
        server(tmp_path, agreement(scheme), parties(tmp_path, 2)) for scheme in (InstaHide(k=4), Mixup(k=4))
    )
    settings = PartySettings(DATA, tmp_path / "party", Part(0, 2))
    sharding = {"round": 0, "shard": 0}
    about = described(answer(mixed.message(DESCRIBE, {"round": 0}), settings))
    about["scheme"] = json.loads(asked.agreement.to_json())["scheme"]
    node = gate(tmp_path, protocols=["encodings"], schemes=["instahide-inside:k=4"])
    assert not node.passed(asked.message(DESCRIBE, {"round": 0}), description(about)).error
    shard = answer(mixed.message(SHARD, sharding), settings)
    assert "not masked" in node.passed(asked.message(SHARD, sharding), shard).error


def described(answered: Message) -> dict[str, Any]:
    about: dict[str, Any] = json.loads(str(answered.words["config"]["description"]))
    return about


def description(about: dict[str, Any], **how: Any) -> Message:
    text = json.dumps(about, **{"indent": 1, "ensure_ascii": False, **how})
    return Message(DESCRIBE, words={"config": {"description": text}})


@pytest.mark.parametrize("beside", ["key", "blanks", "checksum", "class", "rows"])
def test_nothing_travels_in_a_description(tmp_path: Path, beside: str) -> None:
    run = server(tmp_path, agreement(InstaHide(k=4)), parties(tmp_path, 2))
    asked = run.message(DESCRIBE, {"round": 0})
    honest = answer(asked, PartySettings(DATA, tmp_path / "party", Part(0, 2)))
    about = described(honest)
    node = gate(tmp_path, protocols=["encodings"], schemes=["instahide-inside:k=4"])
    assert not node.passed(asked, description(about)).error
    if beside == "key":
        about["patients"] = [0.25, 0.5]
    elif beside == "checksum":
        about["shards"][0]["blake3"] = "mueller"
    elif beside == "class":
        about["classes"][0] = "mueller"
    elif beside == "rows":
        about["rows"] = 0
    assert node.passed(asked, description(about, **({"indent": 2} if beside == "blanks" else {}))).error


@pytest.mark.parametrize("change", ["wide labels", "metadata", "longer", "other rows", "unfinished"])
def test_nothing_travels_in_a_shard(tmp_path: Path, change: str) -> None:
    """Bytes of a hostile app, described with their checksum as they should be."""
    run = server(tmp_path, agreement(InstaHide(k=4)), parties(tmp_path, 2))
    settings = PartySettings(DATA, tmp_path / "party", Part(0, 2))
    describing, sharding = run.message(DESCRIBE, {"round": 0}), run.message(SHARD, {"round": 0, "shard": 0})
    about = described(answer(describing, settings))
    content = bytes(answer(sharding, settings).tensors["shard"]["bytes"].numpy())
    rows = load_tensors(content)
    raw = faces().pixels()[: len(rows["images"])]
    changed = {
        "wide labels": lambda: save({"images": rows["images"], "labels": raw.double().flatten(1)}),
        "metadata": lambda: save(rows, {"patient": "mueller"}),
        "longer": lambda: content + b"mueller ",
        "other rows": lambda: save({"images": raw.reshape(-1, 48), "labels": rows["labels"]}),
        "unfinished": lambda: save({**rows, "labels": rows["labels"] * float("nan")}),
    }[change]()
    about["shards"][0]["blake3"] = blake3(changed).hexdigest()
    node = gate(tmp_path, protocols=["encodings"], schemes=["instahide-inside:k=4"])
    assert not node.passed(describing, description(about)).error
    held = torch.frombuffer(bytearray(changed), dtype=torch.uint8)
    assert node.passed(sharding, Message(SHARD, {"shard": {"bytes": held}})).error


def test_rounds_limit_encodings_too(tmp_path: Path) -> None:
    """What is described in a round too many is refused, and so are its shards."""
    run = server(tmp_path, agreement(InstaHide(k=4), again=True, rounds=3), parties(tmp_path, 2))
    settings = PartySettings(DATA, tmp_path / "party", Part(0, 2))
    node = gate(tmp_path, protocols=["encodings"], schemes=["instahide-inside:k=4"], rounds=1)
    passed = []
    for round_ in range(3):
        describing = run.message(DESCRIBE, {"round": round_})
        sharding = run.message(SHARD, {"round": round_, "shard": 0})
        for asked in (describing, sharding):
            passed.append(not node.passed(asked, answer(asked, settings)).error)
    assert passed == [True, True, False, False, False, False]


def test_updates_are_held_against_the_agreed_model_and_not_against_what_the_server_sent(tmp_path: Path) -> None:
    asked, answered = exchange(tmp_path, agreement(PRUNED))
    node = gate(tmp_path, statistics=["num-examples", "buffers"])
    update = answered.tensors["update"]
    assert not node.passed(asked, answered).error
    more = replace(asked, tensors={"model": {**asked.tensors["model"], "patients": torch.zeros(10, 144)}})
    for tensors in (
        {"update": {"patients": torch.zeros(10, 144)}},
        {"update": update, "buffers": {name: torch.randn_like(tensor) for name, tensor in update.items()}},
        {"update": {name: tensor.double() for name, tensor in update.items()}},
    ):
        assert "agreed model" in node.passed(more, replace(answered, tensors=tensors)).error


@pytest.mark.parametrize(
    "numbers", [{"num-examples": 16.25}, {"num-examples": 16, "accuracy": 0.123456}, {"buffers": 1}]
)
def test_a_number_holds_no_pixel(tmp_path: Path, numbers: dict[str, float]) -> None:
    asked, answered = exchange(tmp_path, agreement(PRUNED, buffers=False))
    node = gate(tmp_path, statistics=["num-examples", "accuracy", "buffers"])
    assert "number" in node.passed(asked, replace(answered, numbers={"metrics": numbers})).error


def test_a_sentence_with_a_separator_of_lines_does_not_spoil_the_log(tmp_path: Path) -> None:
    asked, answered = exchange(tmp_path, agreement(PRUNED, buffers=False))
    node = gate(tmp_path)
    node.passed(asked, Message(UPDATE, error="the class face\u2028 is another"))
    assert not node.passed(asked, answered).error
    assert not node.passed(replace(asked, numbers={"config": {"round": float("inf")}}), answered).error


def test_a_log_that_is_not_written_whole_lets_nothing_leave(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, answered = exchange(tmp_path, agreement(PRUNED, buffers=False))
    node, write = gate(tmp_path), os.write
    assert not node.passed(asked, answered).error
    before = (tmp_path / "node" / LOG).read_bytes()
    monkeypatch.setattr(os, "write", lambda descriptor, line: write(descriptor, line[:10]))
    with pytest.raises(OSError, match="free some space"):
        node.passed(asked, answered)
    assert (tmp_path / "node" / LOG).read_bytes() == before


@pytest.mark.parametrize("defence", [GradientPruning(0.5), Sign(), Quantised(4), GradientNoise(1.0, 0.5)])
def test_defences_show_in_what_they_leave_and_not_in_a_plain_update(defence: object) -> None:
    plain = {"a": seeded(1).normals(40, 30), "b": seeded(2).normals(40)}
    assert defence.evident(defence.apply(dict(plain), seeded(3)))  # type: ignore[attr-defined]
    weak = {name: tensor * (1e-3 if isinstance(defence, GradientNoise) else 1.0) for name, tensor in plain.items()}
    assert not defence.evident(weak)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("scheme", "least", "allowed"),
    [
        ("instahide-inside:k=6", "instahide-inside:k=4", True),
        ("instahide-inside:k=3", "instahide-inside:k=4", False),
        ("instahide-inside:largest=0.5", "instahide-inside:largest=0.65", True),
        ("singularized-mixup:tau=1e-4", "singularized-mixup:tau=1e-3", True),
        ("singularized-mixup:tau=1e-2", "singularized-mixup:tau=1e-3", False),
        ("mixup", "instahide-inside", False),
        ("instahide-inside:law=dirichlet", "instahide-inside", False),
        ("instahide-inside:rows=int8", "instahide-inside", True),
        ("instahide-inside:k=3:rows=int8", "instahide-inside:k=4", False),
        ("instahide-inside", "instahide-inside:rows=int8", False),
        ("singularized-mixup:tau=1e-3:radius=0.5", "singularized-mixup:tau=1e-3", False),
        ("laplace:scale=1e-12", "laplace", False),
        ("instahide-cross:k=4", "instahide-inside:k=4", False),
    ],
)
def test_stronger_parameters_pass(scheme: str, least: str, allowed: bool) -> None:
    policy = Policy.of_values({"protocols": ["encodings"], "schemes": [least], "rounds": 1}, "policy")
    assert (not policy.allows("encodings", schemes(scheme)[scheme])) == allowed


def test_chains_may_have_more_than_the_owner_asks_for() -> None:
    policy = Policy.of_values(
        {"protocols": ["gradients"], "schemes": ["gradient-pruning:p=0.9"], "rounds": 1}, "policy"
    )
    more = chains("sign+gradient-pruning:p=0.99")["sign+gradient-pruning:p=0.99"]
    assert not policy.allows("gradients", more)
    assert policy.allows("gradients", Chain())
    covered = Chain(None, (GradientPruning(0.9), GradientNoise(1e6, 0.0)))
    assert "after gradient-pruning" in policy.allows("gradients", covered)


@pytest.mark.parametrize(
    "text",
    [
        "", "rounds = 1", "not toml", 'protocols = ["pigeons"]\nschemes = []\nrounds = 1',
        'protocols = ["gradients"]\nschemes = ["none"]\nrounds = -1',
        'protocols = ["gradients"]\nschemes = ["none"]\nrounds = true',
        'protocols = ["gradients"]\nschemes = "none"\nrounds = 1',
        'protocols = ["gradients"]\nschemes = ["none"]\nrounds = 1\nrouds = 2',
        'protocols = ["gradients"]\nschemes = ["no-such"]\nrounds = 1',
        'protocols = ["gradients"]\nschemes = ["none"]\nrounds = 1\nstatistics = ["maximum"]',
        'protocols = ["gradients"]\nschemes = ["none"]\nrounds = 1\nseeded = true',
        'protocols = ["gradients"]\nschemes = ["none"]\nrounds = 1\ninspect = ["no-such"]',
    ],
)  # fmt: skip
def test_a_policy_that_is_not_understood_forbids_all(tmp_path: Path, text: str) -> None:
    (tmp_path / "policy.toml").write_text(text)
    with pytest.raises(BadInput):
        Policy.read(tmp_path / "policy.toml")


def test_the_template_allows_what_is_planned_and_explains_itself(tmp_path: Path) -> None:
    agreed = agreement(PRUNED, buffers=False)
    (tmp_path / "policy.toml").write_text(template(agreed, "gradient-pruning:p=0.9", 5, 8))
    policy = Policy.read(tmp_path / "policy.toml")
    assert (policy.rounds, policy.cohort, policy.statistics) == (5, 8, ("num-examples",))
    assert not policy.allows("gradients", Chain(None, (GradientPruning(0.9),)))
    assert SingularizedMixup.harder == {"tau": -1, "radius": 1}
