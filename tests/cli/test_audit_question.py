"""The question that an audit's options ask: which images make up the gallery."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from hideseek.audit import Question
from hideseek.cli.audit_options import Accuracies, Attacking, Audit, Images, Output, Several
from hideseek.cli.audit_question import question_of
from hideseek.errors import BadInput
from hideseek.hide import Geometry, Mixup
from hideseek.hide.updates import ShareUpdates
from hideseek.records.result import NoAccuracyKind
from hideseek.records.update_release import UpdateRelease


def asked(
    images: Images, test: str | None = None, geometry: Geometry | None = None, seed: int | None = None
) -> Question:
    accuracies = Accuracies(learn=False, test=test)
    output, attacking = Output(Path("unused")), Attacking(seed=seed)
    options = Audit(Several(), images, output, attacking, accuracies, geometry or Geometry())
    return question_of(options, {"mixup": Mixup()})


def among(question: Question) -> torch.Tensor:
    """How many of the others are private images."""
    assert question.others is not None
    assert len(question.others) == len(question.private)
    private, others = (each.pixels().flatten(1) for each in (question.private, question.others))
    return (torch.cdist(others.double(), private.double()) < 1e-3).any(1).sum()


def test_the_rest_of_a_sampled_set_is_in_the_gallery() -> None:
    question = asked(Images("faces", own="photos", sample=60))
    assert question.addresses["others"] == "60 of faces (not sampled)"
    assert among(question) == 0


def test_a_sample_is_the_same_every_time_and_another_for_every_seed() -> None:
    """An audit that goes on, and one to compare with, need the same images; a study may want others."""
    samples = [
        asked(Images("faces", own="photos", sample=20), seed=seed).private.images for seed in (None, None, 1, 1, 2)
    ]
    assert samples[0].equal(samples[1])
    assert samples[2].equal(samples[3])
    assert not samples[0].equal(samples[2])
    assert not samples[2].equal(samples[4])


def test_variants_run_where_they_are_named() -> None:
    options = Audit(
        Several(), Images("faces", own="photos", sample=8), Output(Path("unused")),
        Attacking(attacks="gradient-matching-tuned,rog"), Accuracies(learn=False), Geometry(),
    )  # fmt: skip
    assert set(question_of(options, {"updates": ShareUpdates("lenet")}, UpdateRelease).attacks) == {
        "gradient-matching-tuned",
        "rog",
    }
    with pytest.raises(BadInput, match="another kind of release"):
        question_of(options, {"mixup": Mixup()})


def picture(path: Path, seed: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (12, 12), dtype=np.uint8)
    Image.fromarray(pixels).save(path)


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (("anna.png", "berta.png"), NoAccuracyKind.NO_LABELS),
        (("smith/anna.png", "smith/berta.png"), NoAccuracyKind.ONE_CLASS),
        (("smith/anna.png", "jones/berta.png", "clara.png"), NoAccuracyKind.UNREADABLE_LABELS),
    ],
)
def test_images_without_usable_labels_are_audited_and_the_report_names_nobody(
    tmp_path: Path, names: tuple[str, ...], kind: NoAccuracyKind
) -> None:
    for seed, name in enumerate(names):
        picture(tmp_path / "images" / name, seed)
    question = asked(Images(f"folder:{tmp_path}/images", own="photos"))
    assert len(question.private) == len(names)
    assert question.why_no_accuracy is not None
    assert question.why_no_accuracy.kind is kind
    text = question.why_no_accuracy.text
    assert not any(name in text for name in ("anna", "clara", "smith", "jones", str(tmp_path)))


def test_a_class_that_cannot_be_read_is_not_left_out_of_an_audit(tmp_path: Path) -> None:
    for seed, name in enumerate(("a/0.png", "b/1.png")):
        picture(tmp_path / name, seed)
    (tmp_path / "sick").mkdir()
    (tmp_path / "sick" / "0.dcm").write_text("")
    with pytest.raises(BadInput, match="the subfolder 'sick' holds no JPEG"):
        asked(Images(f"folder:{tmp_path}", own="photos"))


def saved(folder: Path, name: str, count: int) -> str:
    generator = np.random.default_rng(count)
    images = generator.integers(0, 256, (count, 8, 8), dtype=np.uint8)
    np.savez(folder / f"{name}.npz", images=images, labels=np.arange(count) % 3)
    return f"npz:{folder}/{name}.npz"


def test_mirrored_images_fill_up_upside_down_where_the_scheme_flips(tmp_path: Path) -> None:
    address = saved(tmp_path, "train", 20)
    few = asked(Images(address, own="photos", sample=15))
    assert few.addresses["others"] == "5 of npz:train.npz (not sampled), 10 of mirrored private images"
    assert among(few) == 0
    for geometry, axis in ((Geometry(), 3), (Geometry(flip=True), 2)):
        whole = asked(Images(address, own="photos"), geometry=geometry)
        assert whole.addresses["others"] == "20 of mirrored private images"
        assert whole.others is not None
        torch.testing.assert_close(whole.others.pixels(), whole.private.pixels().flip(axis))


def test_test_images_come_before_mirrored_ones(tmp_path: Path) -> None:
    train, test = saved(tmp_path, "train", 12), saved(tmp_path, "test", 30)
    question = asked(Images(train, own="photos"), test)
    assert question.addresses["others"] == "12 of npz:test.npz"
    assert among(question) == 0
    named = asked(Images("faces", own="photos", sample=100))
    assert named.addresses["others"] == "60 of faces (not sampled), 40 of faces?split=test"
