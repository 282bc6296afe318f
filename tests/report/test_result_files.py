"""result.json: what is written is read back, and what no audit wrote is refused in a sentence."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hideseek.errors import BadInput
from hideseek.report.result_files import inside, read_result, schema, write_result
from report.results import sample

Change = Callable[[dict[str, Any]], Any]
FIRST = Path(__file__).parents[2]


def _attack(about: dict[str, Any]) -> dict[str, Any]:
    return next(attack for attack in about["schemes"][0]["attacks"] if attack["exhibits"])


def test_written_and_read_back(tmp_path: Path) -> None:
    result = sample(tmp_path)
    write_result(result, tmp_path)
    assert read_result(tmp_path) == result
    assert read_result(tmp_path / "result.json") == result
    assert (tmp_path / "result.json").read_text("utf-8").startswith('{\n "format": 3,')


def test_what_has_a_default_may_be_left_out(tmp_path: Path) -> None:
    result = sample(tmp_path)
    write_result(result, tmp_path)
    about = json.loads((tmp_path / "result.json").read_text("utf-8"))
    del about["schemes"][3]["known"]
    (tmp_path / "result.json").write_text(json.dumps(about))
    assert read_result(tmp_path) == result


CHANGES: dict[str, tuple[Change, str]] = {
    "an unknown field": (lambda about: about.update(verdict="fine"), "verdict: an unknown field"),
    "an unknown field within": (lambda about: about["private"].update(path="/home"), "private.path: an unknown field"),
    "one that looks like a way": (lambda about: about.update({"private.address": 1}), "private.address: an unknown"),
    "a field that is missing": (lambda about: about.pop("flags"), "flags: "),
    "a number for a word": (lambda about: about["private"].update(address=3), "private.address: "),
    "a word for a number": (lambda about: about.update(tested_on="12"), "tested_on: "),
    "a truth for a number": (lambda about: about.update(tested_on=True), "tested_on: "),
    "a share for a count": (lambda about: about.update(tested_on=1.5), "tested_on: "),
    "an outcome of its own": (lambda about: _attack(about).update(outcome="safe"), "outcome: "),
    "a number that is none": (lambda about: _attack(about).update(seconds=float("nan")), "NaN is not a number"),
    "a number without end": (
        lambda about: _attack(about)["settings"].update(rate=float("inf")),
        "Infinity is not a number",
    ),
    "a huge number": (lambda about: _attack(about).update(memory=10**400), "is not a number that can be drawn"),
    "a number too large to draw": (lambda about: _attack(about).update(seconds=1e100), "1e+100 is not a number"),
    "half a letter": (lambda about: _attack(about).update(source="\ud800"), "the whole: "),
    "a harm of its own": (lambda about: _attack(about).update(harm="none"), "harm: "),
    "a flag without its facts": (
        lambda about: about["flags"].append({"kind": "reproducible"}),
        "the flag 'reproducible' lacks a fact",
    ),
    "a flag with facts of another kind": (
        lambda about: about["flags"].append({"kind": "few images", "facts": {"images": "many"}}),
        "the flag 'few images' lacks a fact",
    ),
    "a refusal without its facts": (
        lambda about: _attack(about).update(refusal={"reason": "too-few-rows", "facts": {"given": 3}}),
        "the refusal 'too-few-rows' lacks a fact",
    ),
    "a reason of its own": (lambda about: _attack(about).update(refusal={"reason": "lazy"}), "refusal.reason: "),
    "a list": (lambda about: about.update(private=[1]), "private: "),
    "a format that is no number": (lambda about: about.update(format="3"), "format: "),
    "a picture elsewhere": (
        lambda about: _attack(about)["exhibits"][0]["panels"][0].update(file="../a.png"),
        "picture",
    ),
    "half a curve": (lambda about: _attack(about)["curves"][0]["y"].pop(), "as many heights as places"),
    "half a baseline": (lambda about: _attack(about)["curves"][0]["baseline"].pop(), "as many heights as places"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_no_audit_wrote_is_refused(tmp_path: Path, name: str) -> None:
    change, says = CHANGES[name]
    write_result(sample(tmp_path), tmp_path)
    path = tmp_path / "result.json"
    about = json.loads(path.read_text("utf-8"))
    change(about)
    path.write_text(json.dumps(about))
    with pytest.raises(BadInput, match=r"result\.json .* run the audit again") as refused:
        read_result(tmp_path)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"format": ' + b"9" * 5000 + b"}", b"[]"]
)
def test_what_is_damaged_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "result.json").write_bytes(content)
    with pytest.raises(BadInput, match="run the audit again"):
        read_result(tmp_path)


def test_a_file_that_was_cut_short_is_refused(tmp_path: Path) -> None:
    write_result(sample(tmp_path), tmp_path)
    path = tmp_path / "result.json"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(BadInput, match=r"cut short.*run the audit again"):
        read_result(tmp_path)


def test_a_name_that_stands_twice_is_refused(tmp_path: Path) -> None:
    write_result(sample(tmp_path), tmp_path)
    path = tmp_path / "result.json"
    path.write_text(path.read_text("utf-8").replace('"tested_on":', '"tested_on": 5, "tested_on":', 1))
    with pytest.raises(BadInput, match="'tested_on' stands in it twice"):
        read_result(tmp_path)


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "result.json")
    with pytest.raises(BadInput, match="not an audit's folder"):
        read_result(tmp_path)


def test_a_newer_format_asks_for_an_update(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text('{"format": 4, "news": true}')
    with pytest.raises(BadInput, match=r"format 4.*update hideseek"):
        read_result(tmp_path)


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_format_asks_for_another_audit(tmp_path: Path, version: int) -> None:
    (tmp_path / "result.json").write_text(f'{{"format": {version}, "unlearnt": ""}}')
    with pytest.raises(BadInput, match=rf"format {version} of an older version of hideseek: run the audit again\.$"):
        read_result(tmp_path)


def test_a_folder_of_something_else_is_named(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nowhere", tmp_path / "nowhere" / "result.json"):
        with pytest.raises(BadInput, match="not an audit's folder"):
            read_result(place)


def test_nothing_is_written_that_cannot_be_read(tmp_path: Path) -> None:
    result = sample(tmp_path)
    with pytest.raises(ValueError, match=r"provenance\.seconds|JSON"):
        write_result(replace(result, provenance=replace(result.provenance, seconds=float("nan"))), tmp_path)
    with pytest.raises(ValueError, match="tested_on"):
        write_result(replace(result, tested_on="many"), tmp_path)  # type: ignore[arg-type]
    assert not (tmp_path / "result.json").exists()


def test_names_that_leave_the_folder() -> None:
    for name in (
        "",
        "/a.png",
        "a/../../b.png",
        "..",
        "..\\a.png",
        "C:a.png",
        "C:\\a.png",
        "a\0.png",
        "\\\\host\\a.png",
    ):
        assert not inside(name), name
    for name in ("a.png", "mixup/best..1.png", "a b-é.png"):
        assert inside(name), name


def test_the_schema_in_the_documentation_is_the_one_that_is_checked() -> None:
    assert json.loads((FIRST / "docs" / "result.schema.json").read_text("utf-8")) == schema()
    parts = [schema(), *schema()["$defs"].values()]
    records = [part for part in parts if part["type"] == "object"]
    assert len(records) > 25
    assert all(part["additionalProperties"] is False for part in records)
    assert schema()["version"] == 3
