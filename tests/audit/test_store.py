"""An audit's folder."""

import json
import stat
import tempfile
from pathlib import Path

import pytest

from hideseek.audit.store import Part, PartKind, opened, path_name
from hideseek.errors import BadInput
from hideseek.records.result import Proof

X = Part(PartKind.RESULT, "mixup", "x")
TRAINING = Part(PartKind.TRAINING)
ASKED = {"schemes": {"mixup": {"k": 2}}, "rounds": 3}


def test_a_part_is_done_once(tmp_path: Path) -> None:
    made: list[int] = []

    def make() -> tuple[Proof, ...]:
        made.append(1)
        return (Proof("noise", passed=True),)

    with opened(tmp_path / "a", ASKED, resume=False) as store:
        assert not store.has(X)
        first = store.part(X, tuple[Proof, ...], make)
        assert store.has(X)
    with opened(tmp_path / "a", ASKED, resume=True) as store:
        assert store.part(X, tuple[Proof, ...], make) == first
    assert made == [1]
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700


def test_what_is_at_work_is_removed_at_the_end_unless_kept(tmp_path: Path) -> None:
    for keep in (True, False):
        with opened(tmp_path / str(keep), ASKED, resume=False) as store:
            store.part(TRAINING, float, lambda: 1.5)
            store.finish(keep=keep)
        assert (tmp_path / str(keep) / "work").exists() == keep


def test_folders_that_may_not_be_taken(tmp_path: Path) -> None:
    with opened(tmp_path / "begun", ASKED, resume=False):
        pass
    for folder, words in (("begun", "was begun in .*: resume it"), ("other", "exists already")):
        (tmp_path / "other").mkdir(exist_ok=True)
        (tmp_path / "other" / "thesis.txt").write_text("mine")
        with pytest.raises(BadInput, match=words), opened(tmp_path / folder, ASKED, resume=False):
            pass
    assert (tmp_path / "other" / "thesis.txt").read_text() == "mine"
    with pytest.raises(BadInput, match="no audit to resume"), opened(tmp_path / "new", ASKED, resume=True):
        pass
    with (
        pytest.raises(BadInput, match="begun with other rounds: resume it with the same"),
        opened(tmp_path / "begun", {**ASKED, "rounds": 4}, resume=True),
    ):
        pass


def test_two_audits_cannot_share_a_folder(tmp_path: Path) -> None:
    with (
        opened(tmp_path / "a", ASKED, resume=False),
        pytest.raises(BadInput, match="another audit is writing"),
        opened(tmp_path / "a", ASKED, resume=True),
    ):
        pass
    with opened(tmp_path / "a", ASKED, resume=True):
        pass
    assert list(tmp_path.rglob(".*")) == []


def test_what_a_killed_audit_left_is_cleared(tmp_path: Path) -> None:
    left = f".x.png.{'0a' * 16}.partial"
    (tmp_path / "a").mkdir()
    for name in (".lock", f".audit.json.{'0a' * 16}.partial"):  # killed before anything was kept
        (tmp_path / "a" / name).write_text("")
    with opened(tmp_path / "a", ASKED, resume=False) as store:
        store.pictures.mkdir()
        (store.pictures / left).write_text("a private image")
    with opened(tmp_path / "a", ASKED, resume=True) as store:
        assert not list(store.pictures.iterdir())
    assert [path.name for path in (tmp_path / "a").iterdir() if path.is_file()] == ["audit.json"]


def test_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "real").mkdir(0o755)
    (tmp_path / "a").symlink_to(tmp_path / "real")
    (tmp_path / ".b.lock").symlink_to(tmp_path / "mine")
    for resume in (False, True):
        with pytest.raises(BadInput, match="is a link"), opened(tmp_path / "a", ASKED, resume=resume):
            pass
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o755
    with opened(tmp_path / "b", ASKED, resume=False):
        pass
    assert (tmp_path / "mine").read_text() == "mine"


def test_damage_is_noticed(tmp_path: Path) -> None:
    with opened(tmp_path / "a", ASKED, resume=False) as store:
        store.part(TRAINING, float, lambda: 1.5)
        (tmp_path / "a" / "work" / "training.json").write_text("{")
        with pytest.raises(BadInput, match=r"training\.json is damaged: remove it"):
            store.part(TRAINING, float, lambda: 1.5)
    for text in ("[1", "[]", json.dumps("no")):
        (tmp_path / "a" / "audit.json").write_text(text)
        with pytest.raises(BadInput, match=r"damaged|begun with other"), opened(tmp_path / "a", ASKED, resume=True):
            pass


def test_names_become_paths_and_parts_of_different_kinds_do_not_meet() -> None:
    assert path_name("singularized-mixup:tau=1e-4") == "singularized-mixup-tau-1e-4"
    with tempfile.TemporaryDirectory() as place, opened(Path(place) / "a", ASKED, resume=False) as store:
        parts = [Part(kind, scheme, attack) for kind in PartKind for scheme in ("", "accuracy") for attack in ("", "b")]
        assert len({store.path(part) for part in parts if part.scheme or not part.attack}) == 3 * len(PartKind)


@pytest.mark.parametrize("name", ["..", "../..", ".", "", "/", "-x", ".hidden", "\0", "a" * 200])
def test_names_that_lead_elsewhere_are_refused(name: str) -> None:
    with pytest.raises(BadInput, match="cannot be called"):
        path_name(name)


def test_nothing_outside_is_removed(tmp_path: Path) -> None:
    """A link in the place of a scheme's folder leads to somebody's thesis, which stays."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    with opened(tmp_path / "a", ASKED, resume=False) as store:
        folder = store.scheme_folder("mixup")
        folder.parent.mkdir(parents=True)
        folder.symlink_to(tmp_path / "mine")
        with pytest.raises(BadInput, match="is a link to another place"):
            store.clear("mixup")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "mine"
