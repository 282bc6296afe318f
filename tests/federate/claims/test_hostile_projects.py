"""Projects that are broken, huge or meant to do harm: one sentence each, and nothing of them is run."""

import os
from pathlib import Path

import pytest

from federate.claims.projects import LOCAL, flower
from hideseek.errors import BadInput
from hideseek.federate.claims import Assumptions, check_project


def test_nothing_of_a_project_is_imported_or_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "was-run"
    harm = f"open({str(mark)!r}, 'w').close()\n"
    root = flower(tmp_path / "p", client=harm + LOCAL.format(arguments=f"1.0, 1.0, {harm.strip()}, 1e-5"), server=harm)
    (root / "trial" / "__init__.py").write_text(harm)
    (root / "conftest.py").write_text(harm)
    (root / "sitecustomize.py").write_text(harm)
    monkeypatch.chdir(root)
    (one,) = check_project(root, Assumptions()).settings
    assert one.verdict == "not known"
    assert not mark.exists()


def test_a_project_without_settings_promises_nothing(tmp_path: Path) -> None:
    report = check_project(flower(tmp_path / "p"), Assumptions())
    assert report.settings == ()
    assert report.kind == "Flower project"


@pytest.mark.parametrize("text", ["[tool", "a = 1\na = 2\n", "[tool.flwr.app]\nconfig = 3\n", "\x00"])
def test_a_project_file_that_is_wrong(tmp_path: Path, text: str) -> None:
    root = flower(tmp_path / "p")
    (root / "pyproject.toml").write_text(text)
    with pytest.raises(BadInput, match=r"pyproject\.toml"):
        check_project(root, Assumptions())


@pytest.mark.parametrize("text", ["[tool.flwr]\napp = 3\n", "tool = 3\n", ""])
def test_a_folder_that_is_no_project(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(BadInput, match="no Flower project"):
        check_project(tmp_path, Assumptions())


@pytest.mark.parametrize("source", ["def f(:\n", "x = '\x00'\n", "(" * 5000, "-" * 200_000 + "1", "x" + ".a" * 200_000])
def test_python_that_cannot_be_parsed(tmp_path: Path, source: str) -> None:
    root = flower(tmp_path / "p", client=source)
    for each in check_project(root, Assumptions()).settings:  # some versions of Python parse some of these
        assert (each.place, each.verdict) == ("trial/client_app.py", "not known")


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"#" * (5 << 20), "more than 4 MiB"),
        (b"\xff\xfe", "UTF-8"),
        (b"# -*- coding: latin-1 -*-\n# caf\xe9\n", "UTF-8"),
        (b"print 'Python 2'\n", "no valid Python"),
    ],
)
def test_a_file_that_is_not_read_is_a_row_and_does_not_stop_the_others(
    tmp_path: Path, content: bytes, word: str
) -> None:
    root = flower(tmp_path / "p", client=LOCAL.format(arguments="1.0, 1.0, 0.5, 1e-5"))
    (root / "trial" / "other.py").write_bytes(content)
    known, other = check_project(root, Assumptions()).settings
    assert known.verdict == "holds"
    assert (other.place, other.verdict) == ("trial/other.py", "not known")
    assert other.reason.startswith("not read: ")
    assert word in other.reason


def test_pipes_are_not_waited_for(tmp_path: Path) -> None:
    root = flower(tmp_path / "p")
    os.mkfifo(root / "trial" / "pipe.py")
    (one,) = check_project(root, Assumptions()).settings
    assert "pipe" in one.reason


def test_links_are_not_followed_and_said(tmp_path: Path) -> None:
    root = flower(tmp_path / "p")
    outside = tmp_path / "outside.py"
    outside.write_text(LOCAL.format(arguments="1.0, 1.0, 1.0, 1e-5"))
    (root / "loop").symlink_to(root, target_is_directory=True)
    (root / "trial" / "again.py").symlink_to(root / "trial" / "again.py")
    (root / "trial" / "elsewhere.py").symlink_to(outside)
    (root / "trial" / "same.py").symlink_to(root / "trial" / "client_app.py")
    (root / "out").symlink_to(tmp_path, target_is_directory=True)
    found = {each.place: each.verdict for each in check_project(root, Assumptions()).settings}
    assert found == dict.fromkeys(("out", "trial/again.py", "trial/elsewhere.py"), "not known")
    loop = tmp_path / "circle"
    loop.symlink_to(loop)
    with pytest.raises(BadInput):
        check_project(loop, Assumptions())
    with pytest.raises(BadInput, match="is not there"):
        check_project(tmp_path / "nowhere", Assumptions())
    with pytest.raises(BadInput, match="no folder"):
        check_project(outside, Assumptions())


@pytest.mark.parametrize(
    "numbers",
    ["1e-300, 1e300, 1e-300, 1e-300", "1e308, 1e-308, 1e308, 1e-320", f"1, 1, 1, 1e{'9' * 30}", "1, 1, True, 0.5"],
)
def test_extreme_numbers_are_computed_or_not_known(tmp_path: Path, numbers: str) -> None:
    (one,) = check_project(flower(tmp_path / "p", client=LOCAL.format(arguments=numbers)), Assumptions()).settings
    assert one.verdict in ("holds", "does not hold", "not known")


@pytest.mark.parametrize(
    "wrong", [{"delta": 0.0}, {"delta": 1.0}, {"rounds": 0}, {"parameters": -1}, {"sample_rate": 2.0}]
)
def test_assumptions_that_make_no_sense(wrong: dict[str, float]) -> None:
    with pytest.raises(BadInput):
        Assumptions(**wrong)  # type: ignore[arg-type]
