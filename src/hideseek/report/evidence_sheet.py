"""What an attack brings back, as a picture: what was shared, and what was found in it. It needs no secret."""

from collections.abc import Iterable
from functools import singledispatch

from jaxtyping import Float
from PIL import Image
from torch import Tensor

from hideseek.records import Claim, EncodedRelease, Evidence, Masks, PublicImagesFound, Reconstruction, Release
from hideseek.report.contact_sheet import Row, contact_sheet
from hideseek.report.sentences import duration, size

COUNT = 8
BEST = 3  # public images of a row that are shown, the likeliest
Picture = Float[Tensor, "c h w"]


def evidence_sheet(title: str, release: Release, evidence: Evidence, count: int = COUNT) -> Image.Image | None:
    """Draw the claims that are about pictures; None where there are none."""
    rows = [row for claim in evidence.claims for row in _rows(claim, release, count)]
    if not rows:
        return None
    cost = f"{duration(evidence.seconds)}, {size(evidence.memory)}."
    foot = f"{cost} The attack's own view: nothing here was compared with the ground truth."
    return contact_sheet(title, (), rows, foot)


@singledispatch
def _rows(claim: Claim, release: Release, count: int) -> list[Row]:
    """Draw one claim: nothing, unless it is about pictures."""
    return []


@_rows.register
def _(claim: Reconstruction, release: Release, count: int) -> list[Row]:
    guesses = Row("taken for private", list(claim.images[:count]))
    if claim.of not in ("items", "batches"):
        return [guesses]
    return [*_shared(release, claim.about[:count].tolist()), guesses]


@_rows.register
def _(claim: Masks, release: Release, count: int) -> list[Row]:
    shared = _shared(release, claim.rows[:count].tolist())
    restored = [
        picture * signs.to(picture) for row in shared for picture, signs in zip(row.tiles, claim.signs, strict=False)
    ]
    return [*shared, Row("signs restored", restored)] if shared else []


@_rows.register
def _(claim: PublicImagesFound, release: Release, count: int) -> list[Row]:
    if not isinstance(release, EncodedRelease) or release.public is None:
        return []
    found = [
        Row(f"public image {nth + 1}", list(release.public.pixels(claim.candidates[:count, nth])))
        for nth in range(min(BEST, claim.candidates.shape[1]))
    ]
    return [*_shared(release, claim.rows[:count].tolist()), *found]


def _shared(release: Release, items: Iterable[int]) -> list[Row]:
    """Draw what was shared; nothing where it is no picture."""
    pictures = [release.picture(max(0, item)) for item in items]
    shown = [picture for picture in pictures if picture is not None]
    return [Row("shared", shown)] if shown and len(shown) == len(pictures) else []
