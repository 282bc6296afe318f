"""DICOM through the verbs, as a hospital's engineer runs them; and no word of a header in anything that they write."""

import json
import logging
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from safetensors.torch import load_file

from dicom_files import header, hospital, scan, write
from hideseek.cli import main
from hideseek.data.label_table import NAME
from hideseek.hide.privacy.ledger import Ledger
from hideseek.hide.privacy.ledger_budget import Budget

LEAST = 6  # characters of a value that is searched for everywhere
SHORT = 3  # of one that is searched for as a word of its own, in texts
SAID_ANYWAY = {"MONOCHROME2", "12", "16", "11", "1", "0"}  # what says how pixels are stored, and no more
TEXTS = (".json", ".jsonl", ".html", ".csv", ".txt", ".md", ".sarif")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Give an archive, and the words of its headers."""
    folder = tmp_path_factory.mktemp("archive") / "scans"
    return folder, hospital(folder)


def forms(word: str) -> set[bytes]:
    """Give a word as it may be written: in several encodings, in pieces, escaped, reversed or in hexadecimal."""
    parts = {word, *re.split(r"[\^;,\\ ]+", word), *re.split(r" *[\^;,\\] *", word)}
    every = {form for part in parts if len(part) >= LEAST for form in (part, part.lower(), part.upper())}
    plain = {form.encode(code) for form in every for code in ("utf-8", "utf-16-le", "utf-32-le")}
    coded = {form.encode().hex().encode() for form in every}
    escaped = {json.dumps(form)[1:-1].encode() for form in every}
    return plain | coded | escaped


def search(folders: list[Path], said: str, words: list[str]) -> list[str]:
    """Name the words that are found: long ones anywhere in any byte, short ones as words in texts.

    Values of one or two characters, such as sexes and counts, are in every file by chance, and are not searched for.
    """
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()] + [
        folder for folder in folders if folder.is_file()
    ]
    contents = [(str(file), file.read_bytes()) for file in files] + [("what was said", said.encode())]
    assert len(contents) > 1
    assert sum(len(content) for _, content in contents) > 1000
    found = []
    for word in set(words) - SAID_ANYWAY:
        for where, content in contents:
            text = where.endswith(TEXTS) or where == "what was said"
            alone = re.compile(rf"(?<![\w.]){re.escape(word)}(?![\w.])".encode())
            if any(form in content for form in forms(word)) or (
                text and SHORT <= len(word) < LEAST and alone.search(content)
            ):
                found.append(f"{word!r} in {where}")
    return found


def test_the_search_finds_what_is_there(archive: tuple[Path, list[str]], tmp_path: Path) -> None:
    _, words = archive
    assert len(words) > 100
    assert len([word for word in words if len(word) >= LEAST]) > 0.9 * len(words)
    (tmp_path / "x.bin").write_bytes(b"\0" * 2000 + "zwirbelmeier".encode("utf-16-le"))
    (tmp_path / "y.json").write_text('{"name": "Notiz \\u00df\\u00e4\\u00f6", "of": "MRN-900003"}')
    found = search([tmp_path], "", words)
    assert any("Zwirbelmeier" in each and "x.bin" in each for each in found)
    assert "'MRN-900003' in " in "".join(found)
    assert "'hustet seit Dienstag; Notiz ßäö'" in "".join(found)


def test_nothing_of_a_header_is_in_what_is_hidden_learnt_or_counted(
    archive: tuple[Path, list[str]], tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    folder, words = archive
    caplog.set_level(logging.DEBUG)
    ledger = tmp_path / "ledger.db"
    Ledger.begin(ledger, Budget(releases=5))
    hidden, secret, model = tmp_path / "hidden", tmp_path / "truth.safetensors", tmp_path / "model"
    data = ["--data", f"dicom:{folder}", "--ledger", str(ledger)]
    assert main(["hide", "mixup", *data, "--out", str(hidden), "--keep-secret", str(secret)]) == 0
    said = capfd.readouterr()
    assert "2 classes: sick (12 images), well (12 images)" in said.out
    assert "24 images are hidden" in said.out
    assert main(["learn", "--release", str(hidden), "--epochs", "1", "--model", "lenet", "--out", str(model)]) == 0
    assert main(["ledger", "show", str(ledger), "--data", f"dicom:{folder}"]) == 0
    told = "".join([said.out, said.err, *capfd.readouterr(), caplog.text])
    assert search([hidden, model, tmp_path / "ledger.db", tmp_path / "ledger.db.head", secret], told, words) == []
    kept = load_file(secret)
    assert sorted(np.bincount(kept["private_patients"].numpy()).tolist()) == [2] * 12  # the owner's own file, numbered
    assert not any("patient" in name for shard in hidden.glob("*.safetensors") for name in load_file(shard))
    assert "patient" not in (hidden / "release.json").read_text()


def test_a_model_is_asked_about_dicom_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(12):
        write(tmp_path / "scans" / "ab"[number % 2] / f"{number}.dcm", header(scan(number), f"person {number}"))
    scans, model, flat = tmp_path / "scans", tmp_path / "model", tmp_path / "flat"
    assert main(["learn", "--data", f"dicom:{scans}", "--epochs", "1", "--model", "lenet", "--out", str(model)]) == 0
    write(flat / "two.dcm", header(np.stack([scan(0), scan(1)]), "person 0"))
    one, other = scans / "a" / "0.dcm", scans / "b" / "1.dcm"
    capsys.readouterr()
    assert main(["predict", str(model), str(one), str(other), str(flat / "two.dcm")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.rpartition("  ")[0].split("  ")[0].strip() for line in lines] == [
        str(one),
        str(other),
        *(f"{flat / 'two.dcm'}, frame {frame}" for frame in (1, 2)),
    ]
    assert lines[0].split()[-3:] == lines[2].split()[-3:]  # the same pixels, the same answer
    assert main(["predict", str(model), f"dicom:{flat}"]) == 0
    table = capsys.readouterr().out
    assert table.splitlines()[0] == "image,class,confidence"
    assert len(table.splitlines()) == 3
    assert main(["predict", str(model), f"dicom:{scans}"]) == 0
    assert "of 12 images are classified correctly" in capsys.readouterr().out
    Image.new("L", (16, 16)).save(tmp_path / "x.png")
    assert main(["predict", str(model), str(one), str(tmp_path / "x.png")]) == 1
    assert "one kind at a time" in capsys.readouterr().err


def test_nothing_of_a_header_is_in_an_audit(
    archive: tuple[Path, list[str]],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    short_training: None,
    without_lpips: None,
) -> None:
    folder, words = archive
    caplog.set_level(logging.DEBUG)
    out = tmp_path / "audit"
    attacks = ["--attacks", "likelihood-ratio", "--rounds", "3", "--budget", "30s", "--show-private"]
    assert main(["audit", "mixup", "--data", f"dicom:{folder}", *attacks, "--out", str(out)]) == 0
    told = "".join([*capfd.readouterr(), caplog.text])
    assert search([out], told, words) == []
    result = json.loads((out / "result.json").read_text())
    assert result["private"]["patients"] == 12
    page = (out / "report.html").read_text()
    assert "they are of 12 patients, and a patient is one record for membership and record risk" in page
    (scheme,) = result["schemes"]
    (attack,) = scheme["attacks"]
    (figure,) = (each for each in attack["figures"] if each["metric"] == "membership-auc")
    assert figure["found"]["images"] == 12  # one a patient
    exposed = [each["patient"] for each in attack["exposed"]]
    assert len(set(exposed)) == len(exposed)


def test_mistakes_tell_no_tag(
    archive: tuple[Path, list[str]], tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    folder, words = archive
    caplog.set_level(logging.DEBUG)
    other = tmp_path / "scans"
    hospital(other, 4)
    cut = sorted(other.rglob("*.dcm"))[0]
    cut.write_bytes(cut.read_bytes()[:-100])
    arguments = ["--data", f"dicom:{other}", "--out", str(tmp_path / "out"), "--debug"]
    assert main(["hide", "mixup", *arguments]) == 1
    said = capfd.readouterr()
    assert f"{cut.relative_to(other)} is not a whole DICOM file" in said.err
    write(cut, header(scan(0, 20), "MRN-900000", PatientName="Zwirbelmeier^Kunigunde-000"))
    assert main(["hide", "mixup", *arguments]) == 1
    sizes = capfd.readouterr()
    assert "give one size for all images, such as 16" in sizes.err
    test = ["--test", f"dicom:{folder}"]
    assert main(["learn", "--data", f"dicom:{other}", *test, "--size", "16", "--out", str(tmp_path / "model")]) == 1
    again = capfd.readouterr()
    assert "4 patients have images among those to learn from and those to test on" in again.err
    told = "".join([*said, *sizes, *again, caplog.text])
    assert search([other / "sick"], told + "x" * 1000, words)  # the archive itself is full of it
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "nothing").write_text("x" * 1001)
    assert search([tmp_path / "empty"], told, words) == []


def test_an_archive_sorted_by_patient_has_no_classes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(24):
        write(tmp_path / "scans" / f"Meier-{number // 2}" / f"{number}.dcm", header(scan(number), f"M{number // 2}"))
    data = ["--data", f"dicom:{tmp_path / 'scans'}"]
    assert main(["hide", "mixup", *data, "--out", str(tmp_path / "out")]) == 0
    assert "There are no classes" in capsys.readouterr().out
    assert "Meier" not in (tmp_path / "out" / "release.json").read_text()
    rows = [f"Meier-{n // 2}/{n}.dcm,{'ab'[n // 2 % 2]},x" for n in range(24)]
    (tmp_path / "scans" / NAME).write_text("\n".join(["file,finding,side", *rows]))
    more = ["--label-column", "finding", "--out", str(tmp_path / "labelled")]
    assert main(["hide", "mixup", *data, *more]) == 0
    assert "2 classes: a (12 images), b (12 images)" in capsys.readouterr().out
    assert main(["hide", "mixup", *data, *more[:-1], str(tmp_path / "other"), "--least", "7"]) == 1
    assert "2 classes have fewer than 7 patients (a (6 patients), b (6 patients))" in capsys.readouterr().err
