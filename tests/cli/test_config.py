"""`hideseek audit --config FILE`: what a file holds, what is typed beside it, and what is refused."""

import re
from pathlib import Path
from typing import Any

import pytest

from hideseek.cli import main
from hideseek.cli.arguments import parse
from hideseek.cli.audit_model import AuditModel
from hideseek.cli.audit_options import Audit, Several
from hideseek.cli.audit_recorded import AuditRecorded
from hideseek.cli.config import ConfigFile, configured
from hideseek.cli.release_options import AuditRelease
from hideseek.cli.update_options import AuditUpdates
from hideseek.errors import BadInput
from hideseek.hide import ENCODERS, InstaHide, Mixup

EXAMPLE = Path(__file__).parents[2] / "examples" / "ci" / "audit.toml"


def written(folder: Path, text: str) -> str:
    path = folder / "audit.toml"
    path.write_text(text, "utf-8")
    return str(path)


def options(kind: Any, folder: Path, text: str, *typed: str) -> list[str]:
    arguments, file = configured(["--config", written(folder, text), *typed])
    assert file is not None
    return [*file.options(arguments, kind), *arguments]


def test_a_file_is_the_command_line(tmp_path: Path) -> None:
    text = """
    [audit]
    schemes = ["mixup:k=3", "instahide-inside"]
    data = "folder:my xrays"
    rounds = 4
    attacks = ["demask", "mixup-pairs"]
    learn = false
    keep = true
    show_private = false
    shift = 0.25
    fail-on = "broken"
    """
    assert options(Audit[Several], tmp_path, text) == [
        *("--data", "folder:my xrays", "--rounds", "4", "--attacks", "demask,mixup-pairs", "--no-learn", "--keep"),
        *("--shift", "0.25", "--fail-on", "broken", "mixup:k=3,instahide-inside"),
    ]


def test_what_is_typed_wins(tmp_path: Path) -> None:
    text = '[audit]\nschemes = "mixup"\ndata = "faces"\nrounds = 4\nlearn = false\n'
    found = options(Audit[Mixup], tmp_path, text, "instahide-cross", "--rounds=9", "--learn")
    assert found == ["--data", "faces", "instahide-cross", "--rounds=9", "--learn"]
    assert options(
        AuditRecorded, tmp_path, '[audit]\nschemes = "mixup"\nout = "a"', "--out", "b", "--recorded", "c"
    ) == [
        *("--recorded", "c", "--out", "b"),
    ]


def test_every_kind_of_audit_can_be_named(tmp_path: Path) -> None:
    assert options(AuditUpdates, tmp_path, "[audit]\nupdates = true\nbatch = 8") == ["--batch", "8", "updates"]
    assert options(AuditRecorded, tmp_path, '[audit]\nrecorded = "f"\nparties = 2') == [
        *("--parties", "2", "--recorded", "f"),
    ]
    assert options(AuditRelease, tmp_path, '[audit]\nrelease = "r.npz"\nscheme = "mixup"') == [
        *("--scheme", "mixup", "--release", "r.npz"),
    ]


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        (Audit[Several], ["mixup,laplace"]),
        *((Audit[type(scheme)], [name]) for name, scheme in ENCODERS.items()),  # type: ignore[misc]
        (AuditUpdates, ["updates"]),
        (AuditRecorded, ["--recorded", "f"]),
        (AuditRelease, ["--release", "f"]),
        (AuditModel, ["model"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_file_may_hold_every_option(kind: Any, named: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["audit", *named, "--help"])
    options = set(re.findall(r"(?:^[ │]{1,4}|, )--([a-z][a-z-]*)", capsys.readouterr().out, re.MULTILINE))
    options = {name.removeprefix("no-") for name in options} - {"help", "recorded", "release"}
    assert len(options) > 7
    ConfigFile(EXAMPLE, dict.fromkeys(options, "1")).options([], kind)  # refuses what is no option


def test_a_file_reaches_the_parser(tmp_path: Path) -> None:
    text = '[audit]\nschemes = "instahide-inside"\nk = 6\ndata = "faces"\nout = "a"\nseed = 3\nflip = true\n'
    arguments, file = configured([f"--config={written(tmp_path, text)}", "--seed", "4"])
    asked = parse(Audit[InstaHide], "hideseek audit", arguments[1:], file, config=_flat())
    assert (asked.scheme.k, asked.images.data, asked.attacking.seed, asked.geometry.flip) == (6, "faces", 4, True)


def _flat() -> Any:
    import tyro

    return (tyro.conf.OmitArgPrefixes,)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[audit]\nschemes = "mixup"\nrouns = 3', "there is no key 'rouns': did you mean rounds?"),
        ('[audit]\nschemes = "mixup"\nbatch = 3', "there is no key 'batch'"),
        ('[hide]\nschemes = "mixup"', "has a table [hide], and is read by `hideseek audit` alone"),
        ('schemes = "mixup"', "schemes is in no table: write [audit] above it"),
        ("", "has no table [audit]"),
        ("[audit", "is not TOML"),
        ("[audit]\ndata = 'faces'", "nothing is named to be audited"),
        ("[audit]\nschemes = 'mixup'\nupdates = true", "schemes and updates are all named"),
        ("[audit]\nupdates = 3", "updates must be true or false"),
        ("[audit]\nschemes = 'mixup'\ndata = []", "data must be text, a number"),
        ("[audit]\nschemes = 'mixup'\ndata = 2020-01-01", "data must be text, a number"),
        ("[audit]\nschemes = 'mixup'\nrounds = 'many'\ndata = 'faces'\nout = 'a'", "--rounds must be a whole number"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_sentence_and_1(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", "--config", written(tmp_path, text)]) == 1
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


def test_a_file_that_is_not_there_or_named_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, said in (
        (["--config", str(tmp_path / "no.toml")], "there is no file"),
        (["--config"], "--config needs a file"),
        (["--config", "--keep"], "--config needs a file"),
        (["--config=a", "--config=b"], "--config is given twice"),
    ):
        assert main(["audit", *arguments]) == 1
        assert said in capsys.readouterr().err
    assert main(["hide", "--config", "a.toml"]) == 1
    assert "--config is an option of `hideseek audit` alone" in capsys.readouterr().err


def test_the_example_names_what_there_is(tmp_path: Path) -> None:
    arguments, file = configured(["--config", str(EXAMPLE)])
    assert file is not None
    found = file.options(arguments, Audit[Several])
    assert "--fail-on" in found
    assert "--out" in found
    with pytest.raises(BadInput, match="no key"):
        configured(["--config", str(EXAMPLE), "updates"])[1].options([], AuditRecorded)  # type: ignore[union-attr]
