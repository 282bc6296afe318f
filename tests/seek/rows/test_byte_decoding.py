"""What the attack reads, refuses and says; how well it decodes is in the tests of effects and systems."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.errors import BadInput
from hideseek.hide import Augmented, InstaHide, Laplace, Mixup
from hideseek.records import EncodedRelease, MixingEncoder, Reason, Reconstruction, Samples
from hideseek.records.mixing_secret import MixingSecret
from hideseek.score.judge import judge
from hideseek.seek import run
from hideseek.seek.rows.byte_decoding import ByteDecoding, constants
from hideseek.seek.systems.label_weights import LabelWeights, rounded_to
from releases import photos


def hide(scheme: MixingEncoder, count: int = 12, kind: str = "channel") -> tuple[EncodedRelease, MixingSecret]:
    private, public = photos(kind)
    return scheme.hide(private.take(slice(0, count)), public if scheme.mixes_public else None, seeded(1))


def recovered(release: EncodedRelease, secret: MixingSecret, rows: int = 8) -> tuple[float, Reconstruction]:
    evidence = run(ByteDecoding(rows=rows), release, seeded(0))
    (claim,) = evidence.claims
    assert isinstance(claim, Reconstruction)
    scores = judge(evidence, secret, seeded(0), ["recovered"]).scores
    return float(scores[0].values.nanmean()), claim


@pytest.mark.parametrize("kind", ["channel", "none"])
@pytest.mark.parametrize("scheme", [Mixup(k=2), InstaHide(k=3), InstaHide(k=1, largest=1.0)])
def test_images_come_back_and_the_attacker_knows(scheme: MixingEncoder, kind: str) -> None:
    release, secret = hide(scheme, kind=kind)
    share, claim = recovered(release, secret, rows=12)
    assert claim.sure is not None
    raw = kind == "none" and scheme.images_per_row.private == 3
    assert share > (0.75 if raw else 0.95)  # raw pixels are small beside their rounding: they have more solutions
    assert claim.sure.float().mean() > (0.5 if raw else 0.8)
    judged = judge(run(ByteDecoding(rows=8), release, seeded(0)), secret, seeded(0), ["recovered-of-sure"])
    assert float(judged.scores[0].values.nanmean()) == 1


def test_constants_are_those_of_the_pixels() -> None:
    for kind in ("channel", "none"):
        private, _ = photos(kind)
        scale, shift = constants(replace(private, images=private.pixels()))
        assert np.array_equal(scale, np.broadcast_to(private.scale[0].numpy(), 3))
        assert np.array_equal(shift, np.broadcast_to(private.shift[0].numpy(), 3))


def test_grey_faces_of_two_classes() -> None:
    """Half of the rows mix two images of one class: their weights come from the row."""
    private = normalise(load("faces").take(torch.arange(0, 160, 10)), "channel")
    release, secret = InstaHide(k=2).hide(private, None, seeded(0))
    share, _ = recovered(release, secret, rows=16)
    assert share > 0.8
    remarks = run(ByteDecoding(), release, seeded(0)).remarks
    assert remarks["weights from rows"] + remarks["weights from labels"] == 16
    assert remarks["weights from rows"] > 2


def test_coarser_rows_and_labels_leave_less() -> None:
    release, secret = hide(InstaHide(k=2), 24)
    encoded = release.encoded
    for changed in (
        replace(encoded, labels=(100 * encoded.labels).round() / 100),
        replace(encoded, labels=torch.empty(len(encoded), 0), classes=()),
    ):
        share, _ = recovered(replace(release, encoded=changed), secret, rows=10)
        assert share > 0.8  # the row itself has the weights
    halves = replace(encoded, images=encoded.images.half().float())
    share, _ = recovered(replace(release, encoded=halves), secret, rows=10)
    assert 0.3 < share <= 1


def test_rows_whose_weights_are_unknown_are_guessed_by_the_mixture() -> None:
    private, _ = photos("channel")
    one_class = replace(private.take(slice(0, 6)), labels=torch.ones(6, 1), classes=())
    release, secret = Mixup(k=3).hide(one_class, None, seeded(0))
    evidence = run(ByteDecoding(), release, seeded(0))
    (claim,) = evidence.claims
    assert isinstance(claim, Reconstruction)
    assert evidence.remarks["weights unknown"] == 6
    assert claim.sure is not None
    assert not claim.sure.any()
    assert torch.equal(claim.images[0], release.encoded.pixels(slice(0, 1))[0])
    assert len(claim.images) == 18 == len(secret.sources.flatten())


@pytest.mark.parametrize(
    ("scheme", "kind", "reason"),
    [
        (InstaHide(k=4), "channel", Reason.TOO_MANY_SOLUTIONS),
        (InstaHide(k=3, k_private=2), "channel", Reason.UNKNOWN_PUBLIC_IMAGES),
        (Mixup(k=2), "image", Reason.CONSTANTS_UNKNOWN),
        (Augmented(Mixup(k=2)), "channel", Reason.NOT_EXACT),
        (Laplace(scale=0.1), "channel", Reason.NOT_EXACT),
    ],
)
def test_what_it_does_not_apply_to(scheme: MixingEncoder, kind: str, reason: Reason) -> None:
    refusal = ByteDecoding().refuses(hide(scheme, kind=kind)[0])
    assert refusal is not None
    assert refusal.reason is reason
    assert str(refusal).count(".") == 1 or reason is Reason.TOO_MANY_SOLUTIONS


def test_rows_of_bytes_and_features_are_refused() -> None:
    release, _ = hide(Mixup(k=2))
    coarse = replace(release, encoded=replace(release.encoded, images=torch.zeros(12, 3, 32, 32, dtype=torch.uint8)))
    refusal = ByteDecoding().refuses(coarse)
    assert refusal is not None
    assert refusal.reason is Reason.COARSE_ROWS
    features = Samples(torch.zeros(12, 30, 1, 1), release.encoded.labels)
    small = ByteDecoding().refuses(replace(release, encoded=features))
    assert small is not None
    assert small.reason is Reason.TOO_SMALL_IMAGES


@pytest.mark.parametrize("labels", [[[0.9, 0.9]], [[-0.1, 1.0]], [[float("nan"), 0.5]]])
def test_labels_that_are_no_mixtures_are_one_sentence(labels: list[list[float]]) -> None:
    ones = np.ones(3, np.float32)
    with pytest.raises(BadInput, match="mixtures of classes"):
        LabelWeights(2, np.array(labels, np.float32), ones, ones, masked=False)


def test_labels_that_were_rounded_are_told_from_exact_ones() -> None:
    assert rounded_to(np.array([[0.5, 0.5], [1.0, 0.0]], np.float32)) == 0.05
    assert rounded_to(np.array([[0.371, 0.629]], np.float32)) == 0.0005
    assert rounded_to(np.array([[0.0, 1.0]], np.float32)) == 0.0


def test_no_rows_are_refused() -> None:
    with pytest.raises(BadInput, match="1 or more"):
        ByteDecoding(rows=0)
