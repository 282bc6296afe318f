"""A trained model as a release: what it holds, on disk too, and who its candidates are."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from hideseek.audit.trained_model import TrainedBy, by_heart, shared
from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.learn import accuracy, predict
from hideseek.records.model_secret import ModelSecret
from model_members import by_heart as ridge
from model_members import model_release, noise_images


def test_labels_belong_to_candidates() -> None:
    release, secret = model_release(12, True)
    assert release.candidates is not None
    assert release.labels is not None
    known = {image.numpy().tobytes(): label for each in (noise_images(12, 1), noise_images(12, 2))
             for image, label in zip(each.images, each.labels, strict=True)}  # fmt: skip
    for image, label in zip(release.candidates.images, release.labels, strict=True):
        assert torch.equal(known[image.numpy().tobytes()], label)
    assert secret.holds(torch.tensor([0])).tolist() == [list(range(12))]
    assert float(secret.shares(torch.tensor([0])).sum()) == pytest.approx(1)
    mirrored = ModelSecret(noise_images(12, 1))
    assert len(mirrored.candidate_labels) == 24


def test_others_without_labels_are_refused() -> None:
    private, others = noise_images(6, 1), noise_images(6, 2)
    with pytest.raises(BadInput, match="need labels"):
        ModelSecret(private, others=others).withheld("labels")


def test_it_is_written_and_read(tmp_path: Path) -> None:
    private = noise_images(10, 1)
    way = TrainedBy("ridge", ridge)
    way.write(private, None, seeded(0), tmp_path / "model", tmp_path / "secret")
    release, secret = way.read(tmp_path / "model", tmp_path / "secret", None)
    assert torch.equal(secret.private.images, private.images)
    assert (release.images, release.classes, release.contents().item, release.seed) == (10, 5, "model", 0)
    asked = release.model.network()(private.pixels())
    assert torch.equal(asked, shared(ridge(private, seeded(0))).network()(private.pixels()))
    way.write(private.take(torch.arange(9)), None, seeded(0), tmp_path / "other", tmp_path / "other-secret")
    with pytest.raises(BadInput, match="secret of another model"):
        way.read(tmp_path / "model", tmp_path / "other-secret", None)
    with pytest.raises(BadInput, match="shared once"):
        way.hide(private, None, seeded(0), 2)
    assert way.planned_size(private) == replace(release.size(), channels=1, network=0, parameters=0)


def test_a_weak_case_knows_its_images_by_heart() -> None:
    private = noise_images(48, 1)
    (weak,) = TrainedBy("ridge", ridge).weak_cases(private, seeded(0))
    assert isinstance(weak, TrainedBy)
    trained = by_heart(private, seeded(1))
    assert accuracy(predict(trained, private), private.labels) == 1
