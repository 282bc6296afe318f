"""Rows and labels that are shared less exactly: what is left of them, on disk and for attacks."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import toys
from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.errors import BadInput
from hideseek.hide import ENCODERS, Augmented, Coarse, InstaHide, Laplace, Mixup, RecipeEncoder, SingularizedMixup
from hideseek.hide.files.release_files import read_release
from hideseek.hide.mixing.precision import Precision
from hideseek.hide.named import schemes
from hideseek.records import LabelKind, Reason, RowType
from hideseek.seek import ATTACKS, refusal, run
from hideseek.seek.rows.byte_decoding import ByteDecoding

PUBLIC = toys.images(11, seed=1)


@pytest.mark.parametrize("rows", ["float16", "int8"])
@pytest.mark.parametrize("name", ENCODERS)
def test_rows_are_those_of_the_scheme_rounded(name: str, rows: RowType) -> None:
    """To the nearest float16, or to a whole step above or below; the keys are the same ones."""
    private = toys.images(23)
    exact, _ = ENCODERS[name].hide(private, PUBLIC, seeded(1))
    coarse, _ = Coarse(ENCODERS[name], rows=rows).hide(private, PUBLIC, seeded(1))
    x, rounded = exact.encoded.images.numpy(), coarse.encoded.images.numpy()
    if rows == "float16":
        np.testing.assert_array_equal(rounded, x.astype(np.float16).astype(np.float32))
        return
    step = coarse.scheme.row_step
    assert step is not None
    steps = rounded / np.float32(step)
    np.testing.assert_allclose(steps, steps.round(), atol=1e-4)
    assert np.abs(steps).max() <= 127.001
    assert np.abs(rounded - x).max() < step * 1.001


def test_dither_is_unbiased() -> None:
    """1e5 draws of 0.3 steps: their mean errs by 0.0014 steps, of which seven are allowed."""
    rows = torch.full((1, 1, 100, 1000), 0.3)
    Precision(rows="int8", step=1.0).round_rows(rows, seeded(0))
    assert set(rows.unique().tolist()) == {0.0, 1.0}
    assert float(rows.mean()) == pytest.approx(0.3, abs=0.01)


def test_rounded_labels_are_tenths_and_keep_their_mass() -> None:
    labels = torch.tensor([[0.449, 0.551, 0.0], [1 / 3, 1 / 3, 1 / 3], [0.26, 0.27, 0.0], [1.0, 0.0, 0.0]])
    rounded = Precision("rounded").round_labels(labels, seeded(0))
    assert torch.allclose(rounded * 10, (rounded * 10).round(), atol=1e-5)
    assert rounded.sum(1).tolist() == pytest.approx([1.0, 1.0, 0.5, 1.0])
    assert float((rounded - labels).abs().max()) < 0.1
    assert rounded[0].tolist() == pytest.approx([0.4, 0.6, 0.0])


def test_drawn_labels_are_one_class_by_its_weight() -> None:
    """1e4 draws at 1 to 3: the share errs by 0.0043, of which five are allowed; no weight is never drawn."""
    drawn = Precision("drawn").round_labels(torch.tensor([[0.0, 0.1, 0.3]]).expand(10_000, 3), seeded(0))
    assert set(map(tuple, drawn.unique(dim=0).tolist())) == {(0.0, 1.0, 0.0), (0.0, 0.0, 1.0)}
    assert float(drawn[:, 1].mean()) == pytest.approx(0.25, abs=0.022)


@pytest.mark.parametrize("labels", ["exact", "rounded", "drawn"])
@pytest.mark.parametrize("rows", ["float32", "float16", "int8"])
def test_what_is_written_is_what_is_read(tmp_path: Path, labels: LabelKind, rows: RowType) -> None:
    private = toys.images(23)
    scheme = Coarse(Augmented(InstaHide(k=3, k_private=2)), labels, rows)
    exact, _ = scheme.hide(private, PUBLIC, seeded(1), rounds=2)
    scheme.write(private, PUBLIC, seeded(1), tmp_path / "release", tmp_path / "secret", rounds=2)
    read, _ = scheme.read(tmp_path / "release", tmp_path / "secret", None)
    assert read.scheme == exact.scheme
    assert torch.equal(read.encoded.images, exact.encoded.images)
    assert torch.equal(read.encoded.labels, exact.encoded.labels)
    stated = json.loads((tmp_path / "release" / "release.json").read_text())["scheme"]
    assert (stated["labels"], stated["rows"], stated["step"]) == (labels, rows, exact.scheme.row_step)
    assert (exact.scheme.row_step is None) == (rows != "int8")


def test_a_release_that_states_another_type_than_it_holds_is_refused(tmp_path: Path) -> None:
    Coarse(Mixup(), rows="float16").write(toys.images(20), None, seeded(1), tmp_path / "a", tmp_path / "secret")
    path = tmp_path / "a" / "release.json"
    for rows, step, words in (
        ("float32", None, "damaged"),
        ("int8", None, "states none|another type"),
        ("int9", 1.0, "not usable"),
    ):
        about = json.loads(path.read_text())
        about["scheme"].update(rows=rows, step=step)
        path.write_text(json.dumps(about))
        with pytest.raises(BadInput, match=words):
            read_release(tmp_path / "a")


@pytest.mark.parametrize("step", [0.0, -1.0, float("inf")])
def test_steps_that_cannot_be_are_refused(step: float) -> None:
    with pytest.raises(BadInput, match="positive and finite"):
        Coarse(Mixup(), rows="int8", step=step)


def test_a_scheme_is_rounded_once() -> None:
    with pytest.raises(BadInput, match="rounded once"):
        Coarse(Coarse(Mixup()))


@pytest.mark.parametrize("inner", [Laplace(), SingularizedMixup()])
def test_int8_rows_have_room_for_noise(inner: RecipeEncoder) -> None:
    release, _ = Coarse(inner, rows="int8").hide(toys.images(40), None, seeded(1))
    step = release.scheme.row_step
    assert step is not None
    assert float((release.encoded.images.abs() > 126.5 * step).float().mean()) < 1e-3


def test_byte_decoding_refuses_int8_and_takes_the_rest() -> None:
    private = normalise(load("faces").take(slice(70, 90)), "channel")
    coarse, _ = Coarse(Mixup(), rows="int8").hide(private, None, seeded(1))
    refused = refusal(ATTACKS["byte-decoding"], coarse)
    assert refused is not None
    assert refused.reason is Reason.COARSE_ROWS
    kinds: tuple[LabelKind, ...] = ("rounded", "drawn")
    for labels in kinds:
        release, _ = Coarse(Mixup(largest=0.65), labels).hide(private, None, seeded(1))
        assert run(ByteDecoding(rows=3), release, seeded(2)).remarks["weights unknown"] == 0


def test_drawn_labels_are_not_read_as_weights() -> None:
    release, _ = Coarse(Mixup(k=3, k_private=2), "drawn").hide(toys.images(20), PUBLIC, seeded(1))
    assert release.mixed_labels.shape == (20, 0)
    assert release.encoded.labels.sum(1).tolist() == [1.0] * 20


def test_a_name_says_how_exactly_rows_and_labels_are_shared() -> None:
    (scheme,) = schemes("instahide-inside:k=3:labels=drawn:rows=int8").values()
    assert scheme == Coarse(InstaHide(k=3), "drawn", "int8")
    with pytest.raises(BadInput, match="labels = 'blurred'"):
        schemes("mixup:labels=blurred")


def test_known_says_what_rounding_leaves() -> None:
    def said(scheme: RecipeEncoder) -> str:
        return " ".join(each.statement for each in scheme.known(1, labelled=True, of_bytes=True))

    assert "Drawn labels" in said(Coarse(Mixup(), "drawn"))
    assert "all images" in said(Coarse(Mixup(), "drawn"))
    assert "68 %" in said(Coarse(InstaHide(k=2), rows="float16"))
    assert "bytes" not in said(Coarse(Mixup(), rows="int8"))
    assert "labels show the classes" not in said(Coarse(Mixup(), "drawn"))
    assert "labels show the classes" in said(Coarse(Mixup(), "rounded", "int8"))
