"""Challenges: what is written, what is handed in, how it is scored, and what is refused."""

import io
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from skimage.metrics import structural_similarity

from hideseek.challenge import (
    PUBLISHED,
    Entry,
    as_markdown,
    chosen_attack,
    decryption,
    read_board,
    read_challenge,
    read_decryption,
    score,
    sealed_secret,
    write_board,
    write_challenge,
    write_decryption,
)
from hideseek.challenge.arrays import read_array, write_array
from hideseek.challenge.score import raw_pixels
from hideseek.chance import seeded
from hideseek.cli import main
from hideseek.data import load, normalise
from hideseek.errors import BadInput
from hideseek.hide import InstaHide, Mixup
from hideseek.records import Evidence, Reconstruction
from hideseek.records.mixing_secret import MixingSecret
from hideseek.seek import ATTACKS

ROWS, SHAPE = 48, (1, 25, 25)


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, Path, MixingSecret]:
    """A challenge of 24 faces in two rounds, and where its secret is."""
    private = normalise(load("faces").take(slice(70, 94)), "channel")
    release, secret = InstaHide(k=2).hide(private, None, seeded(1), rounds=2)
    write_challenge(tmp_path / "challenge", release, secret, tmp_path / "secret")
    return tmp_path / "challenge", tmp_path / "secret", secret


def test_files_are_the_authors(made: tuple[Path, Path, MixingSecret]) -> None:
    """NumPy reads them without pickles; rows have their channels last, labels the weights of the private images."""
    folder, kept, secret = made
    encryption = np.load(folder / "encryption.npy", allow_pickle=False)
    labels = np.load(folder / "label.npy", allow_pickle=False)
    assert (encryption.shape, encryption.dtype) == ((ROWS, 25, 25, 1), np.float32)
    assert labels.shape == (ROWS, 2)
    mixed = np.einsum("rk,rkchw->rchw", secret.weights.numpy(), secret.private.pixels()[secret.sources].numpy())
    np.testing.assert_allclose(np.abs(encryption), np.abs(mixed.transpose(0, 2, 3, 1)), atol=1e-5)
    read = read_challenge(folder)
    assert (read.release.scheme, read.release.rounds) == (InstaHide(k=2), 2)
    assert read.release.encoded.normalisation == secret.private.normalisation
    assert torch.equal(sealed_secret(kept, read).sources, secret.sources)
    assert kept.stat().st_mode & 0o077 == 0


def test_scores_are_what_the_authors_measure(made: tuple[Path, Path, MixingSecret]) -> None:
    """Against scikit-image, row by row."""
    _, _, secret = made
    guess = torch.from_numpy(np.random.default_rng(0).random((ROWS, *SHAPE), dtype=np.float32))
    private = raw_pixels(secret.private).numpy()
    ssims, squares = np.empty((ROWS, 2)), np.empty((ROWS, 2))
    for row, column in np.ndindex(ROWS, 2):
        truth, image = private[secret.sources[row, column], 0], guess[row, 0].numpy()
        ssims[row, column] = structural_similarity(truth, image, data_range=1.0)
        squares[row, column] = ((2 * truth - 2 * image) ** 2).mean()
    found = score(guess, secret)
    assert found.max_ssim == pytest.approx(ssims.max(1).mean(), abs=1e-5)
    assert found.mean_ssim == pytest.approx(ssims.mean(), abs=1e-5)
    assert found.min_l2 == pytest.approx(squares.min(1).mean(), rel=1e-5)
    assert found.mean_l2 == pytest.approx(squares.mean(), rel=1e-5)


def test_who_hands_in_the_truth_scores_one(made: tuple[Path, Path, MixingSecret]) -> None:
    _, _, secret = made
    found = score(raw_pixels(secret.private)[secret.sources[:, 1]], secret)
    assert found.max_ssim == pytest.approx(1.0, abs=1e-4)
    assert found.min_l2 == pytest.approx(0.0, abs=1e-9)
    assert found.mean_ssim < 0.9


@pytest.mark.parametrize("of", ["items", "batches", "any"])
def test_a_row_gets_one_image_in_its_range(made: tuple[Path, Path, MixingSecret], of: Any) -> None:
    """Guesses about rows go there, the sure ones first; others where their squares fit best."""
    folder, _, secret = made
    release = read_challenge(folder).release
    truth = secret.private.pixels()
    if of == "any":
        claim = Reconstruction(truth, torch.arange(24), of)
    else:
        about = torch.arange(ROWS).repeat_interleave(2)
        guesses = torch.stack([torch.zeros(ROWS, *SHAPE), truth[secret.sources[:, 0]]], 1).flatten(0, 1)
        claim = Reconstruction(guesses, about, of, torch.arange(2 * ROWS) % 2 == 1)
    images = decryption(Evidence((claim,), {}), release)
    assert 0 <= float(images.min()) <= float(images.max()) <= 1
    assert score(images, secret).max_ssim > (0.75 if of == "any" else 0.999)


def test_an_attack_without_images_hands_nothing_in(made: tuple[Path, Path, MixingSecret]) -> None:
    with pytest.raises(BadInput, match="claims no images"):
        decryption(Evidence((), {}), read_challenge(made[0]).release)


def test_the_strongest_attack_that_applies_is_taken(made: tuple[Path, Path, MixingSecret]) -> None:
    """link-and-solve where there is such an attack; else bytes can be decoded here."""
    name, attack = chosen_attack(read_challenge(made[0]).release)
    assert name == ("link-and-solve" if "link-and-solve" in ATTACKS else "byte-decoding")
    assert attack is ATTACKS[name]


def test_the_authors_own_files_say_nothing_of_themselves(made: tuple[Path, Path, MixingSecret]) -> None:
    folder, kept, _ = made
    (folder / "challenge.json").unlink()
    assert read_challenge(folder).release.scheme == InstaHide(k=6, k_private=2)
    told = read_challenge(folder, Mixup(k=3), images=24).release
    assert (told.scheme, told.rounds) == (Mixup(k=3), 2)
    for images in (1, ROWS + 1):
        with pytest.raises(BadInput, match="has 2 to 48 private images"):
            read_challenge(folder, None, images)
    with pytest.raises(BadInput, match="only its authors can score it"):
        sealed_secret(kept, read_challenge(folder))


def test_a_secret_that_was_changed_is_refused(made: tuple[Path, Path, MixingSecret], tmp_path: Path) -> None:
    """Another secret under the same challenge.json breaks the seal."""
    folder, kept, _ = made
    about = (folder / "challenge.json").read_text()
    changed = json.loads(about)
    changed["seal"] = "0" * 64
    (folder / "challenge.json").write_text(json.dumps(changed))
    with pytest.raises(BadInput, match="another release"):
        sealed_secret(kept, read_challenge(folder))
    content = bytearray(kept.read_bytes())
    content[-1] ^= 1  # a bit of a mask
    (folder / "challenge.json").write_text(about)
    (tmp_path / "changed").write_bytes(content)
    with pytest.raises(BadInput, match="sealed when the challenge was made"):
        sealed_secret(tmp_path / "changed", read_challenge(folder))


def saved(array: Any, **how: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, **how)
    return file.getvalue()


class Harmful:
    """What a pickle could do."""

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return pytest.fail, ("a pickle was run",)


ARRAYS: dict[str, tuple[bytes, str]] = {
    "pickled": (saved(np.array([Harmful()], object), allow_pickle=True), "Python objects"),
    "a pickle": (pickle.dumps(Harmful()), "not an array"),
    "empty": (b"", "not an array"),
    "cut short": (saved(np.zeros((4, 2, 2, 3), np.float32))[:-1], "as many numbers"),
    "longer": (saved(np.zeros((4, 2, 2, 3), np.float32)) + b"0", "as many numbers"),
    "NaN": (saved(np.full((4, 2, 2, 3), np.nan, np.float32)), "not finite"),
    "infinite": (saved(np.full((4, 2, 2, 3), np.inf)), "not finite"),
    "complex": (saved(np.zeros((4, 2, 2, 3), np.complex64)), "complex64"),
    "text": (saved(np.array(["a"])), "of the type <U1"),
    "integers": (saved(np.zeros((4, 2, 2, 3), np.int64)), "int64"),
}


@pytest.mark.parametrize("what", ARRAYS)
def test_arrays_that_are_none_are_refused(what: str, tmp_path: Path) -> None:
    content, words = ARRAYS[what]
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(BadInput, match=words) as refused:
        read_array(tmp_path / "a.npy")
    assert "\n" not in str(refused.value)


def test_arrays_of_other_orders_and_types_are_read(tmp_path: Path) -> None:
    values = np.random.default_rng(0).random((4, 2, 2, 3))
    (tmp_path / "a.npy").write_bytes(saved(np.asfortranarray(values)))
    np.testing.assert_array_equal(read_array(tmp_path / "a.npy"), values.astype(np.float32))
    (tmp_path / "b.npy").write_bytes(saved((255 * values).astype(np.uint8)))
    assert float(read_array(tmp_path / "b.npy").max()) <= 1


def test_there_is_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no file"):
        read_array(tmp_path / "none.npy")


@pytest.mark.parametrize(
    ("file", "array", "words"),
    [
        ("encryption.npy", np.zeros((ROWS, 25, 25), np.float32), "must be rows × height"),
        ("encryption.npy", np.zeros((ROWS, 25, 25, 2), np.float32), "1 or 3"),
        ("encryption.npy", np.zeros((10, 25, 25, 1), np.float32), "must be 10 rows"),
        ("label.npy", np.zeros((ROWS - 1, 2), np.float32), "must be 48 rows"),
        ("label.npy", np.full((ROWS, 2), 0.6, np.float32), "sum to more than 1"),
        ("label.npy", np.full((ROWS, 2), -0.1, np.float32), "negative"),
        ("label.npy", np.zeros((ROWS, 3), np.float32), "states other rows or classes"),
    ],
)
def test_challenges_that_cannot_be_are_refused(
    made: tuple[Path, Path, MixingSecret], file: str, array: np.ndarray, words: str
) -> None:
    write_array(made[0] / file, array)
    with pytest.raises(BadInput, match=words):
        read_challenge(made[0])


@pytest.mark.parametrize(
    "change", [{"format": 2}, {"images": 0}, {"rounds": "2"}, {"scheme": {}}, {"normalisation": []}, {"more": 1}]
)
def test_descriptions_that_cannot_be_are_refused(made: tuple[Path, Path, MixingSecret], change: dict[str, Any]) -> None:
    path = made[0] / "challenge.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(BadInput, match="does not describe a challenge"):
        read_challenge(made[0])


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros((ROWS, 1, 25, 25), np.float32), "asks for"),
        (np.full((ROWS, 25, 25, 1), 1.5, np.float32), r"outside of \[0, 1\]"),
        (np.full((ROWS, 25, 25, 1), -0.5, np.float32), r"outside of \[0, 1\]"),
    ],
)
def test_submissions_that_cannot_be_are_refused(tmp_path: Path, array: np.ndarray, words: str) -> None:
    write_array(tmp_path / "d.npy", array)
    with pytest.raises(BadInput, match=words):
        read_decryption(tmp_path / "d.npy", ROWS, SHAPE)


def test_a_submission_comes_back(tmp_path: Path) -> None:
    images = torch.rand(ROWS, *SHAPE)
    write_decryption(tmp_path / "d.npy", images)
    assert torch.equal(read_decryption(tmp_path / "d.npy", ROWS, SHAPE), images)


def test_a_leaderboard_has_the_published_entries_and_ours_by_rank(tmp_path: Path) -> None:
    ours = Entry("a | b <script>", "ours", 0.95, 0.5, 0.01, 0.3, "1 min")
    markdown = write_board(tmp_path / "board.json", [ours])
    assert read_board(tmp_path / "board.json") == [ours]
    board = json.loads((tmp_path / "board.json").read_text())
    assert [entry["max_ssim"] for entry in board["entries"]] == [0.98, 0.95, 0.90, 0.79]
    text = markdown.read_text()
    assert text == as_markdown([PUBLISHED[2], ours, PUBLISHED[0], PUBLISHED[1]])
    assert "<script>" not in text
    assert {line.count("|") for line in text.splitlines() if line.startswith("|")} == {9}


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": 1, "source": "", "entries": [{"attack": 1}]}'])
def test_what_is_no_leaderboard_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "board.json").write_text(content)
    with pytest.raises(BadInput, match="not a leaderboard"):
        read_board(tmp_path / "board.json")


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Set, take up, score; a second entry of one name replaces the first."""
    folder, kept, out, board = (str(tmp_path / name) for name in ("challenge", "secret", "d.npy", "board.json"))
    made = ["make", "--data", "faces", "--images", "30", "--rounds", "4", "--scheme", "mixup", "--seed", "1"]
    assert main(["challenge", *made, "--out", folder, "--secret", kept]) == 0
    assert "120 rows of 30 images" in capsys.readouterr().out
    assert main(["challenge", "attack", folder, "--attack", "mixup-pairs", "--out", out]) == 0
    for _ in range(2):
        scored = ["score", out, "--challenge", folder, "--secret", kept, "--board", board, "--name", "mixup-pairs"]
        assert main(["challenge", *scored]) == 0
    (entry,) = read_board(Path(board))
    assert entry.max_ssim > 0.4
    assert "k = 2" in entry.challenge


@pytest.mark.parametrize(
    ("arguments", "words", "code"),
    [
        (["solve"], "verb of challenge", 2),
        (["make", "--data", "faces", "--out", "o", "--secret", "s"], "--public", 1),
        (["make", "--data", "faces", "--out", "o", "--secret", "s", "--scheme", "mixup,laplace"], "one scheme", 1),
        (
            ["make", "--data", "faces", "--out", "o", "--secret", "s", "--scheme", "mixup", "--images", "1"],
            "--images",
            1,
        ),
        (["attack", "nowhere", "--out", "d.npy"], "there is no file", 1),
        (["attack", "nowhere", "--out", "d.npy", "--attack", "none"], "attack", 1),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    arguments: list[str],
    words: str,
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["challenge", *arguments]) == code
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert not list(tmp_path.iterdir())
