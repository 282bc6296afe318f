"""The gate and the ledger: what leaves is written down before, and what is over the budget stays."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hideseek.data import load
from hideseek.errors import BadInput
from hideseek.federate.agreement import Agreement
from hideseek.federate.client import answer
from hideseek.federate.gate import LOG, UNWRITTEN, Gate
from hideseek.federate.messages import DESCRIBE, JUDGE, SHARD, UPDATE, Message
from hideseek.federate.party import Part, PartySettings, known_images
from hideseek.federate.policy import Policy
from hideseek.hide import InstaHide
from hideseek.hide.privacy.ledger import Ledger
from hideseek.hide.privacy.ledger_budget import Budget
from hideseek.hide.privacy.ledger_totals import split
from hideseek.hide.updates import GradientNoise, GradientPruning, ShareUpdates
from hideseek.records import Spent
from local_parties import DATA, agreement, parties, server

NOISED = ShareUpdates("lenet", 16, 1, 1, 0.1, "gradient", "eval", defences=(GradientNoise(1.0, 4.0),))
PRUNED = replace(NOISED, defences=(GradientPruning(0.9),))


def gate(tmp_path: Path, budget: Budget) -> Gate:
    """The gate of a party that has half of the faces."""
    Ledger.begin(tmp_path / "ledger.db", budget)
    values = {
        "protocols": ["gradients", "encodings"], "schemes": ["instahide-inside:k=4"], "rounds": 9,
        "statistics": ["num-examples", "accuracy"], "ledger": "ledger.db",
    }  # fmt: skip
    (tmp_path / "policy.toml").write_text("\n".join(f"{name} = {json.dumps(value)}" for name, value in values.items()))
    read = Policy.read(tmp_path / "policy.toml")
    chain = Policy.of_values({"protocols": ["gradients"], "schemes": ["none"]}, "policy").exact
    return replace(
        Gate.of(replace(settings(tmp_path), policy=tmp_path / "policy.toml"), Message(UPDATE)),
        policy=replace(read, exact=(*read.exact, *chain)),
    )


def settings(tmp_path: Path) -> PartySettings:
    return PartySettings(DATA, tmp_path / "party", Part(0, 2))


def exchange(tmp_path: Path, agreed: Agreement, kind: str = UPDATE, **about: int) -> tuple[Message, Message]:
    run = server(tmp_path, agreed, parties(tmp_path, 2))
    model = run.initial_state() if kind in (UPDATE, JUDGE) else None
    asked = run.message(kind, {"round": 1, **about}, model)
    return asked, answer(asked, settings(tmp_path))


def test_an_update_is_written_down_with_its_proof_and_all_images_of_the_party(tmp_path: Path) -> None:
    agreed = agreement(NOISED, buffers=False)
    node = gate(tmp_path, Budget(mu=0.8))
    asked, answered = exchange(tmp_path, agreed)
    assert node.passed(asked, answered) is answered
    assert node.passed(asked, answered) is answered, "the same bytes tell nothing new"
    ledger = Ledger.open(tmp_path / "ledger.db")
    (entry,) = ledger.read().entries
    assert entry.finished
    assert entry.leaving.spent == Spent("gaussian", (2 / 4.0) ** 2)
    assert entry.leaving.release == answered.digest()
    own = known_images(settings(tmp_path), agreed, ledger.key)
    assert sorted(own) == split(ledger.read().sets[entry.image_set])
    wanted = Part(0, 2).take(load(DATA))
    assert sorted(own) == sorted(ledger.key.image(image) for image in wanted.images.numpy())
    later, second = exchange(tmp_path, agreed)
    assert not node.passed(later, second).error
    stopped = node.passed(*exchange(tmp_path, agreed))
    assert stopped.error.endswith(UNWRITTEN), "the server does not learn what is left"
    assert not stopped.tensors
    last = json.loads((tmp_path / "party" / LOG).read_text().splitlines()[-1])
    assert not last["passed"]
    assert "80 of 80 images would be over the budget of μ = 0.8" in last["why"]
    assert len(ledger.read().entries) == 2


def test_without_a_proof_no_update_is_within_an_epsilon(tmp_path: Path) -> None:
    node = gate(tmp_path, Budget(epsilon=50.0))
    assert node.passed(*exchange(tmp_path, agreement(PRUNED, buffers=False))).error.endswith(UNWRITTEN)
    assert not Ledger.open(tmp_path / "ledger.db").read().entries


def test_encodings_are_written_down_when_they_are_described(tmp_path: Path) -> None:
    agreed = agreement(InstaHide(k=4))
    node = gate(tmp_path, Budget(releases=2))
    assert not node.passed(*exchange(tmp_path, agreed, DESCRIBE)).error
    assert not node.passed(*exchange(tmp_path, agreed, SHARD, shard=0)).error
    (entry,) = Ledger.open(tmp_path / "ledger.db").read().entries
    assert (entry.leaving.kind, entry.leaving.spent, entry.images) == ("encodings", Spent(), 80)
    assert not node.passed(*exchange(tmp_path, agreed, JUDGE)).error
    assert [each.leaving.kind for each in Ledger.open(tmp_path / "ledger.db").read().entries][1:] == ["statistics"]
    again = replace(settings(tmp_path), folder=tmp_path / "again")
    asked = server(tmp_path, agreed, parties(tmp_path, 2)).message(DESCRIBE, {"round": 2})
    assert node.passed(asked, answer(asked, again)).error.endswith(UNWRITTEN)


@pytest.mark.parametrize("fault", ["missing", "edited", "no images"])
def test_what_cannot_be_written_down_does_not_leave(tmp_path: Path, fault: str) -> None:
    node = gate(tmp_path, Budget())
    if fault == "missing":
        (tmp_path / "ledger.db").unlink()
    elif fault == "edited":
        (tmp_path / "ledger.db.head").write_text("1 x")
    else:
        node = replace(node, images=None)
    assert node.passed(*exchange(tmp_path, agreement(PRUNED, buffers=False))).error.endswith(UNWRITTEN)


def test_a_policy_names_a_ledger_by_a_path(tmp_path: Path) -> None:
    gate(tmp_path, Budget())
    assert Policy.read(tmp_path / "policy.toml").ledger == tmp_path / "ledger.db"
    for wrong in (3, "", ["x"]):
        with pytest.raises(BadInput, match="ledger must be the path"):
            Policy.of_values({"ledger": wrong}, "policy")
