"""The question that an audit's options ask: which images make up the gallery."""

from pathlib import Path

import numpy as np
import torch

from hideseek.audit import Question
from hideseek.cli.audit_options import Accuracies, Audit, Images, Output, Several
from hideseek.cli.audit_question import question_of
from hideseek.hide import Geometry, Mixup


def asked(images: Images, test: str | None = None, geometry: Geometry | None = None) -> Question:
    accuracies = Accuracies(learn=False, test=test)
    output = Output(Path("unused"))
    options = Audit(Several(), images, output, accuracies=accuracies, geometry=geometry or Geometry())
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
