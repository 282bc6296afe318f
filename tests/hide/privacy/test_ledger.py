"""The ledger: what it counts, what it refuses, and what it says of a ledger that is not as it was written."""

import os
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hideseek.errors import BadInput
from hideseek.hide.privacy import ledger_store
from hideseek.hide.privacy.gaussian import gaussian_epsilon
from hideseek.hide.privacy.ledger import Ledger
from hideseek.hide.privacy.ledger_budget import Budget
from hideseek.hide.privacy.ledger_entries import Leaving
from hideseek.hide.privacy.ledger_errors import LedgerError, OverBudget
from hideseek.hide.privacy.ledger_summary import summary
from hideseek.records import Spent

GAUSSIAN = Leaving("hide", {"mechanism": "gaussian"}, Spent("gaussian", 0.1))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


def images(ledger: Ledger, *numbers: int) -> list[bytes]:
    return [ledger.key.image(np.full((1, 8, 8), number, np.uint8)) for number in numbers]


def written(path: Path) -> Ledger:
    ledger = Ledger.begin(path, Budget(epsilon=3.0))
    for _ in range(3):
        ledger.finish(ledger.add(GAUSSIAN, images(ledger, 1, 2)))
    return ledger


def test_every_image_is_counted(path: Path) -> None:
    ledger = Ledger.begin(path, Budget())
    ledger.add(GAUSSIAN, images(ledger, 1, 2, 3))
    ledger.add(Leaving("hide", {}, Spent(), rounds=4), images(ledger, 3, 4))
    found = summary(ledger.read())
    assert found.times == {1: 2, 4: 1, 5: 1}
    assert found.mu == np.inf
    of_two = summary(ledger.read(), images(ledger, 1, 2, 9), delta=1e-6)
    assert (of_two.images, of_two.known, of_two.times) == (3, 2, {0: 1, 1: 2})
    assert of_two.mu**2 == pytest.approx(0.1)
    assert of_two.epsilon == pytest.approx(gaussian_epsilon(0.1**0.5, 1e-6))


def test_the_same_pixels_are_the_same_image(path: Path) -> None:
    key = Ledger.begin(path, Budget()).key
    grey = np.random.default_rng(0).integers(0, 256, (1, 8, 9), np.uint8)
    known = key.image(grey)
    assert key.image(np.repeat(grey, 3, 0)) == known, "grey in three channels"
    assert key.image((grey / 255).astype(np.float32)) == known, "divided by 255"
    assert key.image(np.asfortranarray(grey)) == known
    assert key.image(grey.transpose(0, 2, 1)) != known
    changed = grey.copy()
    changed[0, 0, 0] ^= 1
    assert key.image(changed) != known
    assert key.image((grey / 255 + 1e-4).astype(np.float32)) != known


def test_nobody_without_the_key_can_test_an_image(path: Path, tmp_path: Path) -> None:
    one, two = Ledger.begin(path, Budget()), Ledger.begin(tmp_path / "other.db", Budget())
    assert images(one, 1) != images(two, 1)
    for file in (path, path.with_name("ledger.db.key"), path.with_name("ledger.db.head")):
        assert file.stat().st_mode & 0o777 == 0o600
    assert "secret" not in repr(one)
    assert one.key.secret not in path.read_bytes()


def test_a_release_over_the_budget_is_refused_and_says_what_is_left(path: Path) -> None:
    ledger = written(path)
    before = ledger.read()
    leaving = Leaving("hide", {}, Spent("gaussian", 0.3))
    with pytest.raises(OverBudget, match=r"2 of 3 images would be over the budget of ε = 3 at δ = 1e-05") as refused:
        ledger.add(leaving, images(ledger, 1, 2, 3))
    (left,) = re.findall(r"least that is left is μ = ([0-9.]+), and this release takes μ = 0.548;", str(refused.value))
    assert gaussian_epsilon((0.3 + float(left) ** 2) ** 0.5, 1e-5) == pytest.approx(3.0, rel=2e-3)
    assert ledger.read() == before
    ledger.add(leaving, images(ledger, 3))


def test_without_a_proof_nothing_is_within_an_epsilon(path: Path) -> None:
    ledger = Ledger.begin(path, Budget(epsilon=100.0))
    with pytest.raises(OverBudget, match="this release has no proof"):
        ledger.check(Leaving("hide", {}, Spent()), images(ledger, 1))
    assert not ledger.read().entries
    Ledger.begin(path, Budget(releases=2))
    ledger.add(Leaving("hide", {}, Spent()), images(ledger, 1))
    with pytest.raises(OverBudget, match=r"1 image would be .*left is 1 of 2 releases, and this one is 2"):
        ledger.add(Leaving("hide", {}, Spent(), rounds=2), images(ledger, 1))


def test_copies_in_one_release_count_as_a_group(path: Path) -> None:
    ledger = Ledger.begin(path, Budget(mu=0.5))
    with pytest.raises(OverBudget):
        ledger.add(GAUSSIAN, images(ledger, 1, 1, 2))
    ledger.add(GAUSSIAN, images(ledger, 1, 2))
    Ledger.begin(path, Budget())
    ledger.add(GAUSSIAN, images(ledger, 1, 1, 2))
    assert summary(ledger.read(), images(ledger, 1)).mu ** 2 == pytest.approx(0.5)


def test_the_same_bytes_again_are_the_same_entry(path: Path) -> None:
    ledger = Ledger.begin(path, Budget(releases=1))
    leaving = Leaving("update", {}, Spent(), release="ab")
    assert ledger.add(leaving, images(ledger, 1)) == ledger.add(leaving, images(ledger, 1))
    with pytest.raises(OverBudget):
        ledger.add(leaving, images(ledger, 1, 2))


def test_what_was_not_finished_counts(path: Path) -> None:
    ledger = Ledger.begin(path, Budget(releases=1))
    number = ledger.add(GAUSSIAN, images(ledger, 1))
    assert not ledger.read().entries[0].finished
    with pytest.raises(OverBudget):
        ledger.add(GAUSSIAN, images(ledger, 1))
    ledger.finish(number, "digest")
    ledger.finish(number)
    (entry,) = Ledger.open(path).read().entries
    assert entry.finished
    assert entry.leaving.release == "digest"


def test_a_later_budget_replaces_an_earlier_one(path: Path) -> None:
    ledger = written(path)
    Ledger.begin(path, Budget(releases=7))
    assert ledger.read().budget == Budget(releases=7)
    assert len(ledger.read().entries) == 3


def sql(*commands: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        connection = sqlite3.connect(path)
        for command in commands:
            connection.execute(command)
        connection.commit()
        connection.close()

    return change


def head(change: Callable[[Path], object]) -> Callable[[Path], object]:
    return lambda path: change(path.with_name("ledger.db.head"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (sql("UPDATE entries SET body = replace(body, '0.1', '0.0') WHERE number = 4"), "entry 4 was edited"),
        (sql("UPDATE entries SET body = 'x' WHERE number = 1"), "entry 1 was edited"),
        (sql("DELETE FROM entries WHERE number = 4"), "entry 4 was removed"),
        (sql("DELETE FROM entries WHERE number IN (4, 5)"), "entries 4 to 5 were removed"),
        (sql("DELETE FROM entries WHERE number = 7"), "the last entry was removed"),
        (sql("DELETE FROM entries WHERE number >= 4"), "the last 4 entries were removed"),
        (sql("DELETE FROM entries"), "the last 8 entries were removed"),
        (
            sql("DELETE FROM entries WHERE number = 4", "UPDATE entries SET number = number - 1 WHERE number > 4"),
            "entry 4 was edited",
        ),
        (sql("UPDATE sets SET images = substr(images, 17)"), "images of entry 2 were edited"),
        (sql("DELETE FROM sets"), "images of entry 2 were edited"),
        (head(Path.unlink), "head is missing"),
        (head(lambda path: path.write_text(f"1 {'0' * 64}\n")), "head does not belong"),
        (head(lambda path: path.write_bytes(b"\xff")), "head is missing or damaged"),
    ],
)
def test_a_ledger_that_was_edited_is_refused_and_named(path: Path, change: Callable[[Path], object], said: str) -> None:
    ledger = written(path)
    change(path)
    contents, wrong = ledger.examine()
    assert any(said in each for each in wrong), wrong
    assert len(contents.entries) <= 3
    for attempt in (
        lambda: Ledger.open(path),
        lambda: ledger.add(GAUSSIAN, images(ledger, 5)),
        lambda: Ledger.begin(path, Budget()),
    ):
        with pytest.raises(LedgerError, match="not as it was written"):
            attempt()


def test_a_head_that_a_killed_process_left_behind_is_no_harm(path: Path) -> None:
    ledger = written(path)
    behind = path.with_name("ledger.db.head").read_bytes()
    ledger.add(GAUSSIAN, images(ledger, 5))
    path.with_name("ledger.db.head").write_bytes(behind)
    assert ledger.examine()[1] == []
    ledger.add(GAUSSIAN, images(ledger, 6))


def test_the_key_of_another_ledger_is_refused(path: Path, tmp_path: Path) -> None:
    written(path)
    Ledger.begin(tmp_path / "other.db", Budget())
    (tmp_path / "other.db.key").replace(tmp_path / "ledger.db.key")
    with pytest.raises(LedgerError, match="entry 0 was edited, or belongs to another key"):
        Ledger.open(path)


def test_a_ledger_in_use_is_waited_for_and_then_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = written(path)
    monkeypatch.setattr(ledger_store, "PATIENCE", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        with pytest.raises(LedgerError, match="in use by another process: wait"):
            ledger.add(GAUSSIAN, images(ledger, 5))
        assert len(ledger.read().entries) == 3, "reading goes on"
    finally:
        other.close()
    ledger.add(GAUSSIAN, images(ledger, 5))


def test_on_a_full_disk_nothing_is_half_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, connect = written(path), sqlite3.connect

    def full(*given: object, **named: object) -> sqlite3.Connection:
        connection = connect(*given, **named)  # type: ignore[call-overload]
        connection.execute("PRAGMA max_page_count = 1")  # as many pages as there are, and no more
        assert isinstance(connection, sqlite3.Connection)
        return connection

    many = [bytes([first, second]) * 8 for first in range(60) for second in range(60)]
    with monkeypatch.context() as patched:
        patched.setattr(sqlite3, "connect", full)
        with pytest.raises(LedgerError, match="disk is full"):
            ledger.add(GAUSSIAN, many)
    assert len(ledger.read().entries) == 3
    ledger.add(GAUSSIAN, many)


def test_a_head_that_cannot_be_written_lets_nothing_leave(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = written(path)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", lambda descriptor: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(BadInput, match="full"):
            ledger.add(GAUSSIAN, images(ledger, 5))
    assert not ledger.read().entries[-1].finished


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: None, "there is no ledger at"),
        (lambda path: path.write_bytes(b""), "is empty"),
        (lambda path: path.write_bytes(b"not a database, but long enough to look like one" * 100), "is no ledger"),
        (lambda path: path.mkdir(), "is no file"),
        (os.mkfifo, "is no file"),
        (sql("CREATE TABLE t (x)"), "a file of SQLite, but no ledger"),
    ],
)
def test_what_is_no_ledger_is_refused(path: Path, make: Callable[[Path], object], said: str) -> None:
    make(path)
    with pytest.raises(LedgerError, match=said):
        Ledger.open(path)


def test_a_ledger_of_a_newer_version_is_refused(path: Path) -> None:
    ledger = written(path)
    sql("PRAGMA user_version = 2")(path)
    for attempt in (lambda: Ledger.open(path), lambda: ledger.add(GAUSSIAN, []), lambda: Ledger.begin(path, Budget())):
        with pytest.raises(LedgerError, match="newer hideseek"):
            attempt()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (Path.unlink, "is missing: bring it back"),
        (lambda key: key.chmod(0o640), "may be read or changed by others"),
        (lambda key: key.write_bytes(b"short"), "damaged"),
        (lambda key: key.rename(key.with_name("k")) and key.symlink_to(key.with_name("k")), "is no file"),
    ],
)
def test_a_key_that_is_missing_or_open_is_refused(path: Path, change: Callable[[Path], object], said: str) -> None:
    written(path)
    key = path.with_name("ledger.db.key")
    change(key)
    there = key.exists()
    with pytest.raises(LedgerError, match=said):
        Ledger.open(path)
    with pytest.raises(LedgerError, match=said):
        Ledger.begin(path, Budget())
    assert key.exists() == there, "no other key is made"


def test_a_ledger_that_is_lost_is_not_begun_anew(path: Path) -> None:
    written(path)
    path.unlink()
    with pytest.raises(LedgerError, match="bring it back from a backup"):
        Ledger.begin(path, Budget())


def test_a_ledger_whose_making_was_killed_is_made(path: Path) -> None:
    Ledger.begin(path, Budget())
    path.unlink()
    path.with_name("ledger.db.head").unlink()
    path.write_bytes(b"")  # with a key, as a process leaves it that is killed in between
    assert Ledger.begin(path, Budget(releases=2)).read().budget == Budget(releases=2)
