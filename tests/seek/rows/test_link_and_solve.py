from dataclasses import replace

import pytest
import torch

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.errors import BadInput
from hideseek.hide import Augmented, InstaHide, Mixup
from hideseek.records import EncodedRelease, Reason, Reconstruction, Refused
from hideseek.records.mixing_secret import MixingSecret
from hideseek.seek.rows.link_and_solve import LinkAndSolve
from hideseek.seek.run import run
from hideseek.similarity import correlation
from releases import photos
from toys import images


def given(scheme: InstaHide, rounds: int, count: int = 20) -> tuple[EncodedRelease, MixingSecret]:
    private, public = photos("channel")
    release, secret = scheme.hide(
        private.take(slice(0, count)), public if scheme.mixes_public else None, seeded(1), rounds
    )
    return replace(release, own=public), secret


def best(release: EncodedRelease, secret: MixingSecret, turns: int = 3) -> torch.Tensor:
    """How alike each private image is to the guess that is most like it."""
    claim = run(LinkAndSolve(turns=turns), release, seeded(0)).claims[0]
    assert isinstance(claim, Reconstruction)
    assert claim.of == "any"
    private = secret.private.pixels()
    alike = torch.stack([correlation(guess.expand_as(private), private) for guess in claim.images])
    return alike.amax(0)


def test_an_outsider_gets_images_back() -> None:
    assert float(best(*given(InstaHide(k=2), 10)).median()) > 0.9


def test_an_outsider_gets_images_back_from_rows_of_many_without_labels() -> None:
    private = normalise(load("faces").take(slice(0, 160)), "channel")
    release, secret = InstaHide(k=3).hide(private, None, seeded(1), 8)
    encoded = replace(release.encoded, labels=release.encoded.labels[:, :0], classes=())
    assert float(best(replace(release, encoded=encoded), secret, turns=2).median()) > 0.9


def test_labels_that_are_withheld_leave_less_and_it_says_so() -> None:
    release, _ = given(InstaHide(k=2), 6)
    encoded = replace(release.encoded, labels=release.encoded.labels[:, :0], classes=())
    evidence = run(LinkAndSolve(turns=1, steps=5), replace(release, encoded=encoded), seeded(0))
    assert evidence.remarks["labels"].startswith("none")
    assert evidence.remarks["images"] == 20


def test_labels_of_one_class_tell_no_weights() -> None:
    release, _ = given(InstaHide(k=2), 6)
    encoded = replace(release.encoded, labels=torch.ones(len(release.encoded), 1), classes=())
    evidence = run(LinkAndSolve(turns=1, steps=5), replace(release, encoded=encoded), seeded(0))
    assert evidence.remarks["rows with exact weights"] == 0


def test_one_image_a_row_is_the_surest() -> None:
    solution = LinkAndSolve(turns=1, steps=5).solve(given(InstaHide(k=2), 4)[0], seeded(0))
    assert solution.of_rows().shape == (80, *solution.images.shape[1:])


@pytest.mark.parametrize(
    ("scheme", "reason"),
    [
        (Mixup(), Reason.NOT_MASKED),
        (Augmented(InstaHide()), Reason.NOT_LINEAR),
        (InstaHide(k=2, k_private=1), Reason.ONE_PRIVATE_IMAGE),
    ],
)
def test_it_refuses(scheme: InstaHide, reason: Reason) -> None:
    private, public = images(12), images(30, seed=1)
    release, _ = scheme.hide(private, public if scheme.mixes_public else None, seeded(0), 3)
    with pytest.raises(Refused) as error:
        run(LinkAndSolve(), release, seeded(0))
    assert error.value.refusal.reason is reason


def test_it_refuses_one_round_and_fewer_rows_than_images() -> None:
    release, _ = given(InstaHide(k=2), 1)
    with pytest.raises(Refused, match="2 rounds or more"):
        run(LinkAndSolve(), release, seeded(0))
    few = replace(release, encoded=release.encoded.take(slice(0, 15)), rounds=10)
    with pytest.raises(Refused, match="too few rows: 15, and 20 or more"):
        run(LinkAndSolve(), few, seeded(0))


def test_it_takes_at_least_one_turn() -> None:
    with pytest.raises(BadInput, match="one turn"):
        LinkAndSolve(turns=0)
