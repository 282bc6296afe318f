"""The patient as unit: in every place that divides a set, and in what is counted."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from dicom_files import header, scan, write
from hideseek.audit import learning_from
from hideseek.chance import seeded
from hideseek.data import load, split_by_class, split_dirichlet, split_evenly
from hideseek.data.non_members import non_members
from hideseek.data.source_images import each_source, source_stamp
from hideseek.data.split import check_apart, divided, held_out
from hideseek.errors import BadInput
from hideseek.federate.party import Part
from hideseek.hide.privacy.ledger import Ledger
from hideseek.hide.privacy.ledger_budget import Budget
from hideseek.hide.privacy.ledger_entries import Leaving
from hideseek.hide.privacy.ledger_errors import OverBudget
from hideseek.hide.privacy.ledger_summary import summary
from hideseek.records import Samples, Spent
from hideseek.records.gallery import joined, mirrored


def of_patients(count: int = 40, patients: int = 12, classes: int = 3) -> Samples:
    """Images whose one pixel is their number, of patients with one to many images, some in several classes."""
    chance = np.random.default_rng(0)
    whose = torch.from_numpy(np.concatenate([np.arange(patients), chance.integers(0, patients, count - patients)]))
    ids = (whose + (torch.arange(count) % 7 == 0)) % classes
    images = torch.arange(count, dtype=torch.float32).reshape(count, 1, 1, 1)
    numbers = torch.from_numpy(chance.permutation(1 << 40 >> 20)[:patients])[whose] << 20
    return Samples(images, torch.eye(classes)[ids], patients=numbers)


def whole(parts: list[Samples], samples: Samples) -> None:
    """Check that every image is in one part, and every patient too."""
    assert samples.patients is not None
    numbers = [int(number) for part in parts for number in part.images.flatten()]
    assert sorted(numbers) == list(range(len(samples)))
    of = [set(part.patients.tolist()) for part in parts if part.patients is not None]
    assert len(of) == len(parts)
    assert sum(map(len, of)) == len(samples.patients.unique())
    for part in parts:  # numbers travel with their images
        assert part.patients is not None
        assert torch.equal(part.patients, samples.patients[part.images.flatten().long()])


@pytest.mark.parametrize("seed", range(5))
def test_no_patient_is_split(seed: int) -> None:
    samples = of_patients()
    whole(split_evenly(samples, 5, seeded(seed)), samples)
    whole(split_dirichlet(samples, 3, 0.7, seeded(seed)), samples)
    whole(split_by_class(samples, 3), samples)
    whole([Part(number, 4).take(samples) for number in range(4)], samples)
    whole(list(held_out(samples, 5, seeded(seed))), samples)
    drawn, rest = divided(samples, 17, seeded(seed))
    whole([samples.take(drawn), samples.take(rest)], samples)
    assert 8 <= len(drawn) <= 17
    learning, _ = learning_from(samples, seeded(seed))
    assert learning is not None
    whole([learning.train, learning.test], samples)
    assert set(learning.train.labels.argmax(1).tolist()) == {0, 1, 2}


def test_even_parts_have_as_many_patients() -> None:
    parts = split_evenly(of_patients(), 5, seeded(0))
    assert sorted(len(part.patients.unique()) for part in parts if part.patients is not None) == [2, 2, 2, 3, 3]
    with pytest.raises(BadInput, match="12 patients cannot be dealt to 13 parties; take 1 to 12"):
        split_evenly(of_patients(), 13, seeded(0))


def test_without_patients_images_are_divided_one_by_one() -> None:
    plain = replace(of_patients(), patients=None)
    drawn, rest = divided(plain, 17, seeded(3))
    order = seeded(3).permutation(40)
    assert torch.equal(drawn, order[:17].sort().values)
    assert torch.equal(rest, order[17:])


def test_a_patient_in_training_and_test_is_refused() -> None:
    samples = of_patients()
    train, test = held_out(samples, 5, seeded(0))
    check_apart(train, test)
    check_apart(replace(train, patients=None), samples)
    with pytest.raises(BadInput, match=r"\d patients have images among those to learn from and those to test on"):
        check_apart(train, samples)


def test_a_gallery_has_nobody_twice() -> None:
    samples = of_patients()
    private, offered = samples.take(slice(0, 12)), samples.take(slice(12, None))  # the same patients
    others, counts = non_members(private, {"the rest": offered})
    assert list(counts) == []  # one pixel has no mirror image, either
    stranger = replace(offered, patients=None)
    others, counts = non_members(private, {"strangers": stranger})
    assert counts == {"strangers": 12}
    both = joined(private, others)
    assert both.patients is not None
    assert len(both.patients.unique()) == 24
    turned = joined(private, mirrored(private))
    assert turned.patients is not None
    assert len(turned.patients.unique()) == 24


def archive(folder: Path) -> str:
    """Three patients with three images, two and one."""
    for number, patient in enumerate(["one", "one", "one", "two", "two", "three"]):
        write(folder / f"{number}.dcm", header(scan(number), patient))
    return f"dicom:{folder}"


def records(ledger: Ledger, address: str) -> list[bytes]:
    return each_source(address, ledger.key.image, ledger.key.patient)


def test_a_ledger_knows_patients(tmp_path: Path) -> None:
    ledger = Ledger.begin(tmp_path / "ledger.db", Budget(mu=1.0, releases=2))
    found = records(ledger, archive(tmp_path / "a"))
    assert sorted(Counter(found).values()) == [1, 2, 3]
    write(tmp_path / "b" / "new.dcm", header(scan(77), "one"))  # another image of the same patient
    write(tmp_path / "b" / "x.dcm", header(scan(78), "four"))
    later = records(ledger, f"dicom:{tmp_path / 'b'}")
    assert len(set(found) & set(later)) == 1

    def leaving(mu2: float, name: str) -> Leaving:
        return Leaving("hide", {"mechanism": "gaussian-mixup"}, Spent("gaussian", mu2), 1, name, "out")

    with pytest.raises(OverBudget, match="1 of 3 images would be over"):  # three images: a group, μ = 3 · 0.4
        ledger.check(leaving(0.16, "a"), found)
    ledger.add(leaving(0.04, "a"), found)
    spent = summary(ledger.read(), found)
    assert spent.mu == pytest.approx(0.6)
    ledger.add(leaving(0.04, "b"), later)
    assert summary(ledger.read(), found).mu == pytest.approx(np.sqrt(0.6**2 + 0.2**2))


def test_a_patient_is_the_same_in_a_table_and_in_a_header(tmp_path: Path) -> None:
    ledger = Ledger.begin(tmp_path / "ledger.db", Budget(releases=2))
    address = archive(tmp_path / "a")
    before, stamp = records(ledger, address), source_stamp(address)
    rows = [f"{number}.dcm,{'ab'[number % 2]},{patient}" for number, patient in enumerate(["one", "", "two"] * 2)]
    (tmp_path / "a" / "labels.csv").write_text("\n".join(["file,label,patient", *rows]))
    after = records(ledger, address)
    assert source_stamp(address) != stamp
    assert after[0] == before[0] == after[1]  # where the table is silent, the header speaks
    assert after[2] == before[3]  # the table goes first
    assert load(address).records.tolist() == [0, 0, 1, 0, 1, 1]
