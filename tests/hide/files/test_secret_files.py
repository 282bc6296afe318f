"""The ground truth of a release on disk: who may read it, and what becomes of it."""

import stat
from pathlib import Path

import pytest

import toys
from hideseek.chance import secure
from hideseek.errors import BadInput
from hideseek.hide import ENCODERS
from hideseek.hide.files.release_files import release_digest, write_release
from hideseek.hide.files.secret_files import read_secret


def test_the_secret_is_for_its_owner_and_never_inside_the_release(tmp_path: Path) -> None:
    mixup = ENCODERS["mixup"]
    write_release(mixup, toys.named(), None, secure(), tmp_path / "out", tmp_path / "secret")
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600
    for inside in (
        tmp_path / "new" / "secret",
        tmp_path / "new" / "deep" / "secret",
        tmp_path / "other" / ".." / "new" / "s",
        tmp_path / ".new.partial" / "secret",
    ):
        with pytest.raises(BadInput, match="would be shared"):
            write_release(mixup, toys.named(), None, secure(), tmp_path / "new", inside)
    with pytest.raises(BadInput, match="exists already"):
        write_release(mixup, toys.named(), None, secure(), tmp_path / "new", tmp_path / "secret")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "secret"]


def test_what_a_killed_run_left_of_a_secret_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".secret.12345.partial").write_text("private images")
    write_release(ENCODERS["mixup"], toys.named(), None, secure(), tmp_path / "out", tmp_path / "secret")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "secret"]


def test_no_secret_is_kept_of_a_release_that_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "no")

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(BadInput, match="may not be written"):
        write_release(ENCODERS["mixup"], toys.named(), None, secure(), tmp_path / "out", tmp_path / "secret")
    assert list(tmp_path.iterdir()) == []


def test_a_secret_of_another_release_is_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_release(ENCODERS["mixup"], toys.named(), None, secure(), tmp_path / name, tmp_path / f"{name}.secret")
    with pytest.raises(BadInput, match="belongs to another release"):
        read_secret(tmp_path / "one.secret", release_digest(tmp_path / "two"))
    (tmp_path / "one.secret").write_bytes(b"nothing")
    with pytest.raises(BadInput, match="not a secret"):
        read_secret(tmp_path / "one.secret", release_digest(tmp_path / "one"))
