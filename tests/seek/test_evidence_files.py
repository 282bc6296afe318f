import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from hideseek.errors import BadInput
from hideseek.records import Attribution, Evidence, Links, Masks, PublicImagesFound, Reconstruction
from hideseek.seek.evidence_files import Found, read_evidence, write_evidence

EVERYTHING = Found(
    Evidence(
        (
            Reconstruction(torch.rand(2, 1, 3, 4), torch.tensor([5, 7]), "any"),
            Reconstruction(torch.rand(2, 1, 3, 4), torch.tensor([5, 7]), "any", torch.tensor([True, False])),
            Reconstruction(torch.rand(2, 1, 3, 4), torch.tensor([5, 7]), groups=torch.tensor([[5, 1, 2], [7, 3, -1]])),
            PublicImagesFound(torch.tensor([0]), torch.tensor([[3, 1]]), torch.tensor([[0.5, 0.25]]), 9, complete=True),
            Links(torch.tensor([0, 0]), torch.tensor([1, 2]), torch.tensor([0.1, -0.2]), 0.0),
            Masks(torch.tensor([4]), torch.ones(1, 1, 3, 4, dtype=torch.int8)),
            Attribution(torch.tensor([1, 2]), torch.tensor([8, 9]), torch.rand(2, 2)),
        ),
        {"wrong": 0.25, "table": [[1, 2]]},
        1.5,
        1024,
    ),
    "some-attack",
    "0" * 64,
    {"top": 100},
    7,
)


def test_evidence_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_evidence(EVERYTHING, tmp_path)
    found = read_evidence(tmp_path)
    assert (found.attack, found.release, found.settings, found.seed) == ("some-attack", "0" * 64, {"top": 100}, 7)
    assert (found.evidence.remarks, found.evidence.seconds, found.evidence.memory) == (
        EVERYTHING.evidence.remarks,
        1.5,
        1024,
    )
    for kept, written in zip(found.evidence.claims, EVERYTHING.evidence.claims, strict=True):
        assert type(kept) is type(written)
        for name, value in vars(written).items():
            other = getattr(kept, name)
            assert torch.equal(other, value) if isinstance(value, torch.Tensor) else other == value


def test_evidence_from_before_there_were_groups_and_thresholds_is_read(tmp_path: Path) -> None:
    write_evidence(EVERYTHING, tmp_path)
    described = json.loads((tmp_path / "evidence.json").read_text())
    for claim in described["claims"]:
        claim.pop("groups", None)
        claim.pop("threshold", None)
    (tmp_path / "evidence.json").write_text(json.dumps(described))
    held = load_file(tmp_path / "claims.safetensors")
    save_file({name: each for name, each in held.items() if "groups" not in name}, tmp_path / "claims.safetensors")
    claims = read_evidence(tmp_path).evidence.claims
    assert all(claim.groups is None for claim in claims if isinstance(claim, Reconstruction))
    assert [claim.threshold for claim in claims if isinstance(claim, Links)] == [None]


def test_a_folder_without_evidence_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="holds no evidence"):
        read_evidence(tmp_path)


@pytest.mark.parametrize("damage", ["json", "tensors", "kind", "missing", "shape", "type", "nan", "newer", "older"])
def test_damaged_evidence_is_one_sentence(tmp_path: Path, damage: str) -> None:
    write_evidence(EVERYTHING, tmp_path)
    about, tensors = tmp_path / "evidence.json", tmp_path / "claims.safetensors"
    described = json.loads(about.read_text())
    held = load_file(tensors)
    if damage == "json":
        about.write_text("{")
    elif damage == "tensors":
        tensors.write_bytes(tensors.read_bytes()[:-9])
    elif damage in ("kind", "newer", "older"):
        described["claims"][0]["kind"] = "gossip"
        about.write_text(json.dumps(described | {"kind": {}, "newer": {"format": 99}, "older": {"format": 1}}[damage]))
    else:
        changed = {
            "missing": {name: tensor for name, tensor in held.items() if name != "0.about"},
            "shape": held | {"0.about": torch.tensor([5])},
            "type": held | {"0.about": torch.rand(2)},
            "nan": held | {"0.images": torch.full((2, 1, 3, 4), torch.nan)},
        }[damage]
        save_file(changed, tensors)
    sentences = {"newer": "newer than", "older": "no longer read: run the attack again"}
    with pytest.raises(BadInput, match=sentences.get(damage, "damaged: run the attack again")):
        read_evidence(tmp_path)


def test_evidence_is_for_its_owner_alone(tmp_path: Path) -> None:
    write_evidence(EVERYTHING, tmp_path)
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}


@pytest.mark.parametrize(
    "change",
    [
        lambda about: about.update(comment="x"),
        lambda about: about.pop("remarks"),
        lambda about: about["claims"][0].update(comment="x"),
        lambda about: about["claims"][0].update(of="gossip"),
        lambda about: about["claims"][1].update(among="many"),
        lambda about: about["claims"][1].update(complete=1),
        lambda about: about["claims"].pop(),
        lambda about: about.update(claims={"0": about["claims"][0]}),
        lambda about: about.update(remarks=[]),
        lambda about: about.update(settings="all"),
        lambda about: about.update(attack=3),
        lambda about: about.update(seed="7"),
        lambda about: about.update(memory=1.5),
        lambda about: about.update(seconds=True),
    ],
)
def test_evidence_of_another_form_is_one_sentence(tmp_path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    write_evidence(EVERYTHING, tmp_path)
    described = json.loads((tmp_path / "evidence.json").read_text())
    change(described)
    (tmp_path / "evidence.json").write_text(json.dumps(described))
    with pytest.raises(BadInput, match="damaged: run the attack again"):
        read_evidence(tmp_path)


@pytest.mark.parametrize("text", ['"seconds": 1e999', '"seconds": 1.5, "seconds": 1.5', '"seconds": NaN'])
def test_numbers_that_are_none_and_names_that_stand_twice_are_refused(tmp_path: Path, text: str) -> None:
    write_evidence(EVERYTHING, tmp_path)
    path = tmp_path / "evidence.json"
    path.write_text(path.read_text().replace('"seconds": 1.5', text))
    with pytest.raises(BadInput, match="damaged: run the attack again"):
        read_evidence(tmp_path)


@pytest.mark.parametrize("name", ["evidence.json", "claims.safetensors"])
def test_a_pipe_in_the_place_of_a_file_is_refused_at_once(tmp_path: Path, name: str) -> None:
    write_evidence(EVERYTHING, tmp_path)
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with pytest.raises(BadInput):
        read_evidence(tmp_path)
