from dataclasses import replace

import pytest
import torch
from torch.nn.functional import cosine_similarity

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.errors import BadInput
from hideseek.hide import Coarse, InstaHide, Mixup
from hideseek.records import Reason, Reconstruction, Refused
from hideseek.seek import run
from hideseek.seek.rows.smooth_signs import FEWEST, SmoothSigns
from toys import images


@pytest.mark.parametrize("scheme", [InstaHide(k=4), Coarse(InstaHide(k=4), "drawn", "int8")])
def test_images_that_are_hidden_once_lose_their_mask(scheme: InstaHide) -> None:
    """Whatever labels say, and however coarse rows are."""
    private = normalise(load("faces").take(slice(0, 100)), "channel")
    release, secret = scheme.hide(private, None, seeded(3))
    release = replace(release, encoded=replace(release.encoded, labels=torch.empty(100, 0), classes=()))
    (claim,) = run(SmoothSigns(rows=50), release, seeded(0)).claims
    assert isinstance(claim, Reconstruction)
    torch.testing.assert_close(claim.images.abs(), release.encoded.pixels(slice(50)).abs())
    mixed = (secret.weights[:50, :, None] * private.pixels().flatten(1)[secret.sources[:50]]).sum(1)
    assert float(cosine_similarity(claim.images.flatten(1), mixed).abs().median()) > 0.6  # of independent signs: 0.03


@pytest.mark.parametrize(
    ("scheme", "shape", "count", "reason"),
    [
        (Mixup(), (1, 8, 8), 40, Reason.NOT_MASKED),
        (InstaHide(), (30, 1, 1), 40, Reason.NO_NEIGHBOURS),
        (InstaHide(), (3, 40, 40), 40, Reason.TOO_MANY_PIXELS),
        (InstaHide(), (1, 8, 8), FEWEST - 1, Reason.TOO_FEW_ROWS),
    ],
)
def test_it_refuses(scheme: Mixup | InstaHide, shape: tuple[int, int, int], count: int, reason: Reason) -> None:
    release, _ = scheme.hide(images(count, *shape, stored=False), None, seeded(0))
    with pytest.raises(Refused) as caught:
        run(SmoothSigns(), release, seeded(0))
    assert caught.value.refusal.reason is reason


def test_no_rows_cannot_be_attacked() -> None:
    with pytest.raises(BadInput, match="rows must be 1 or more"):
        SmoothSigns(rows=0)
