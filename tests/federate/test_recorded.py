"""What a federation recorded: read as it was sent, joined over rounds, and attacked."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from hideseek.audit import Question
from hideseek.chance import seeded
from hideseek.cli import main
from hideseek.cli.audit_options import Audit
from hideseek.data.digests import images_digest
from hideseek.errors import BadInput
from hideseek.federate.client import gated_answer
from hideseek.federate.encodings import run_encodings
from hideseek.federate.gradients import run_gradients
from hideseek.federate.messages import UPDATE
from hideseek.federate.recorded import RecordedEncodings, RecordedUpdates
from hideseek.federate.recordings import joined_encodings, joined_updates, recordings
from hideseek.hide import InstaHide, RecipeEncoder
from hideseek.hide.encoders.laplace import Laplace
from hideseek.hide.files.release_files import release_digest
from hideseek.hide.updates import ShareUpdates
from hideseek.records.result import Outcome, Truth
from hideseek.report.gate import GateState
from hideseek.report.result_files import read_result
from hideseek.score.judge import judge
from hideseek.seek import ATTACKS, run
from local_parties import LocalParties, agreement, parties, server
from trial_attacks import Look

pytest.importorskip("flwr")
from hideseek.federate.flower.strategies import FlowerAggregate

DENSE = ShareUpdates("relu-dense", batch=4, rate=0.05, mode="eval")


def recording(tmp_path: Path, scheme: ShareUpdates | RecipeEncoder, **changes: object) -> LocalParties:
    who = parties(tmp_path, 2)
    who.settings = {place: replace(each, record=True) for place, each in who.settings.items()}
    run_it = server(tmp_path, agreement(scheme, **changes), who, record=True)
    if isinstance(scheme, ShareUpdates):
        run_gradients(run_it, FlowerAggregate("fedavg"))
    else:
        run_encodings(run_it)
    return who


def test_updates_are_kept_as_they_were_sent_and_give_the_images_away(tmp_path: Path) -> None:
    who = recording(tmp_path, DENSE)
    (found,) = recordings(who.settings[0].folder)
    release, secret = joined_updates(found.folders, found.secrets)
    sent = [message.tensors["update"] for party, message in who.answered if party == 0 and message.kind == UPDATE]
    assert len(release.updates) == len(sent) == 2
    for kept, update in zip(release.updates, sent, strict=True):
        assert all(torch.equal(kept[name], tensor) for name, tensor in update.items())
    assert len(release.models) == 2
    first, second = (model.state for model in release.models)
    assert any(not torch.equal(first[name], second[name]) for name in first)
    scores = judge(run(ATTACKS["first-layer"], release, seeded(1)), secret, seeded(2), ("recovered",)).scores
    assert float(scores[0].values.nanmean()) > 0.9
    assert len(secret.reveal(release, ["labels", "statistics"]).labels or ()) == 2


def test_a_recording_is_a_scheme_that_audits_take(tmp_path: Path) -> None:
    who = recording(tmp_path, DENSE)
    (found,) = recordings(who.settings[1].folder)
    scheme, private = RecordedUpdates.of(found)
    scheme.write(private, None, seeded(1), tmp_path / "copy", tmp_path / "truth")
    release, secret = scheme.read(tmp_path / "copy", tmp_path / "truth", None)
    assert len(release.updates) == secret.items == 2
    assert scheme.fingerprint() != RecordedUpdates.of(recordings(who.settings[0].folder)[0])[0].fingerprint()
    again, _ = scheme.hide(private.take(slice(0, 8)), None, seeded(1))
    assert len(again.updates) == 2


def test_encodings_of_several_rounds_are_joined(tmp_path: Path) -> None:
    who = recording(tmp_path, InstaHide(k=4), again=True, rounds=2)
    (found,) = recordings(who.settings[0].folder)
    scheme, private = RecordedEncodings.of(found)
    release, secret = joined_encodings(found.folders, found.secrets)
    assert release.rounds == 2
    assert len(release.encoded) == 2 * len(private)
    rows = secret.signs() * release.encoded.pixels()
    mixed = torch.einsum("rk,rk...->r...", secret.weights, private.pixels()[secret.sources])
    torch.testing.assert_close(rows, mixed, rtol=1e-4, atol=1e-4)
    scheme.write(private, None, seeded(1), tmp_path / "copy", tmp_path / "truth")
    assert len(scheme.read(tmp_path / "copy", tmp_path / "truth", None)[0].encoded) == len(release.encoded)


def test_a_server_has_what_parties_sent_and_no_truth(tmp_path: Path) -> None:
    recording(tmp_path, DENSE)
    found = recordings(tmp_path / "out")
    assert [len(each.folders) for each in found] == [2, 2]
    assert not any(each.judged for each in found)
    assert all(each.of_updates for each in found)


def test_a_server_has_the_encodings_of_every_party_of_all_rounds_by_itself(tmp_path: Path) -> None:
    who = recording(tmp_path, InstaHide(k=4), again=True, rounds=2)
    found = recordings(tmp_path / "out")
    assert [each.name for each in found] == ["party-0", "party-1"]
    assert not any(each.judged or each.of_updates for each in found)
    for place, each in enumerate(found):
        (own,) = recordings(who.settings[place].folder)
        assert {release_digest(folder) for folder in each.folders} == {release_digest(folder) for folder in own.folders}
        assert len(each.folders) == 2


def test_encodings_of_a_round_that_was_not_closed_are_a_partys_each(tmp_path: Path) -> None:
    recording(tmp_path, InstaHide(k=4))
    (tmp_path / "out" / "pool" / "00000" / "closed.json").unlink()
    found = recordings(tmp_path / "out")
    assert [len(each.folders) for each in found] == [1, 1]


def test_nothing_recorded(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nothing was recorded"):
        recordings(tmp_path)
    with pytest.raises(BadInput, match="is no folder"):
        recordings(tmp_path / "nowhere")


def test_every_party_that_recorded_is_audited_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording(tmp_path, DENSE, rounds=1)
    audited: dict[Path, Question] = {}

    def keep(asked: Audit[Any], load: Callable[[], Question]) -> None:
        audited[asked.output.out] = load()
        asked.output.out.mkdir()
        (asked.output.out / "result.json").write_text("{}")

    monkeypatch.setattr("hideseek.cli.audit.perform", keep)
    command = ["audit", "--recorded", str(tmp_path / "parties"), "--budget", "4m", "--out", str(tmp_path / "audits")]
    assert main(command) == 0
    assert list(audited) == [tmp_path / "audits" / "0", tmp_path / "audits" / "1"]
    first, second = audited.values()
    assert images_digest(first.private) != images_digest(second.private)
    assert (first.budget, second.budget) == (120, 120)
    audited.clear()
    assert main([*command, "--resume"]) == 0
    assert not audited
    monkeypatch.setattr("hideseek.cli.audit_recorded.read_result", lambda out: out.name)
    judged: list[object] = []

    def passing(results: object, fail_on: str) -> GateState:
        judged.append(results)
        return GateState((), (), ())

    monkeypatch.setattr("hideseek.cli.gate.gate", passing)
    assert main([*command, "--resume", "--fail-on", "leaks"]) == 0
    assert judged == [["0", "1"]]  # one gate for all parties
    assert main([*command[:-1], str(tmp_path / "one"), "--parties", "1"]) == 0
    assert [(path, question.budget) for path, question in audited.items()] == [(tmp_path / "one", 240)]


def test_what_a_server_recorded_is_attacked_and_not_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording(tmp_path, DENSE, rounds=1)
    asked = ["audit", "--recorded", str(tmp_path / "out"), "--attacks", "first-layer", "--out", str(tmp_path / "found")]
    assert main(asked) == 0
    assert "Nothing was judged" in capsys.readouterr().out
    assert list((tmp_path / "found").rglob("evidence.json"))


@pytest.mark.usefixtures("without_lpips")
def test_encodings_that_a_server_has_are_audited_like_any_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ATTACKS, "look", Look())
    recording(tmp_path, Laplace(), again=True, rounds=2)
    asked = ["audit", "--recorded", str(tmp_path / "out"), "--attacks", "look", "--budget", "10h"]
    assert main([*asked, "--out", str(tmp_path / "audits")]) == 0
    for name in ("party-0", "party-1"):
        result = read_result(tmp_path / "audits" / name)
        (scheme,) = result.schemes
        assert (result.truth, scheme.mechanism, scheme.rounds) == (Truth.NONE, "laplace", 2)
        assert (scheme.name, result.private.images) == (name, scheme.items // 2)
        assert [attack.outcome for attack in scheme.attacks] == [Outcome.UNJUDGED]
        assert (tmp_path / "audits" / name / "report.html").is_file()


def test_a_round_that_is_asked_for_again_is_recorded_again(tmp_path: Path) -> None:
    who = parties(tmp_path, 2)
    settings = replace(who.settings[0], record=True, seed=None)
    run_it = server(tmp_path, agreement(DENSE), who)
    asked = run_it.message(UPDATE, {"round": 1}, run_it.initial_state())
    answers = [gated_answer(asked, settings) for _ in range(2)]
    assert [answer.error for answer in answers] == ["", ""]
    (found,) = recordings(settings.folder)
    release, _ = joined_updates(found.folders, found.secrets)
    assert len(release.updates) == 2


def test_what_has_no_ground_truth_is_left_out_and_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    who = recording(tmp_path, DENSE)
    assert [len(each.folders) for each in recordings(tmp_path / "parties")] == [2, 2]
    first, second = (sorted(each.folder.rglob("*.secret")) for each in who.settings.values())
    first[1].unlink()
    with caplog.at_level("WARNING", "hideseek"):
        found = recordings(tmp_path / "parties")
    assert [len(each.folders) for each in found] == [1, 2]
    assert all(each.judged for each in found)
    assert f"1 release is left out, without the ground truth beside it: {first[1].stem}." in caplog.text
    assert len(joined_updates(found[0].folders, found[0].secrets)[0].updates) == 1
    for secret in second:
        secret.unlink()
    caplog.clear()
    with caplog.at_level("WARNING", "hideseek"):
        assert [each.name for each in recordings(tmp_path / "parties")] == [found[0].name]
    assert f"{found[1].name} is left out" in caplog.text


def test_what_cannot_be_audited_is_said_before_anything_is_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    recording(tmp_path, DENSE, rounds=1)
    monkeypatch.setattr("hideseek.cli.seek.seek_several", lambda *_: pytest.fail("an attack was run"))
    asked = ["audit", "--recorded", str(tmp_path / "out"), "--attacks", "first-layer", "--out", str(tmp_path / "found")]
    for number in ("0", "-1"):
        assert main([*asked, "--parties", number]) == 1
        assert f"--parties must be 1 or more, not {number}" in capsys.readouterr().err
    for option in (["--budget", "10m"], ["--keep"], ["--show-private"], ["--fail-on", "leaks"], ["--sarif", "a"]):
        assert main([*asked, *option]) == 1
        assert f"leave {option[0]} out" in capsys.readouterr().err
    assert main([*asked, "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert "first-layer" in printed
    assert printed.count("\n") == 3
    assert not (tmp_path / "found").exists()


def test_what_the_gate_kept_was_not_sent(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    who = parties(tmp_path, 2)
    (tmp_path / "policy.toml").write_text('protocols = ["gradients"]\nschemes = ["none"]\nrounds = 1\n')
    settings = replace(who.settings[0], record=True, seed=None, policy=tmp_path / "policy.toml")
    run_it = server(tmp_path, agreement(DENSE, buffers=False), who)
    asked = run_it.message(UPDATE, {"round": 1}, run_it.initial_state())
    strict = (tmp_path / "policy.toml").read_text() + 'statistics = ["num-examples"]\n'
    assert gated_answer(asked, settings).error
    (tmp_path / "policy.toml").write_text(strict)
    assert not gated_answer(asked, settings).error
    (found,) = recordings(settings.folder)
    assert len(found.folders) == 1
    assert "did not let it leave" in caplog.text
