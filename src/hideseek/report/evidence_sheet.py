"""What an attack brings back, as a picture: what was shared, and what was found in it. It needs no secret."""

import torch
from jaxtyping import Float
from PIL import Image
from torch import Tensor

from hideseek.records import Claim, EncodedRelease, Evidence, Masks, PublicImagesFound, Reconstruction
from hideseek.report.contact_sheet import Row, contact_sheet

COUNT = 8


def evidence_sheet(title: str, release: EncodedRelease, evidence: Evidence, count: int = COUNT) -> Image.Image | None:
    """Draw the claims that are pictures: images, signs, public images; None where there are none."""
    rows = [row for claim in evidence.claims for row in _rows(claim, release, count)]
    if not rows:
        return None
    cost = f"{evidence.seconds:,.1f} s, {evidence.memory / 2**20:,.0f} MiB."
    foot = f"{cost} The attack's own view: nothing here was compared with the truth."
    return contact_sheet(title, (), rows, foot)


def _rows(claim: Claim, release: EncodedRelease, count: int) -> list[Row]:
    """Draw one claim."""
    if isinstance(claim, Reconstruction):
        shown = list(claim.images[:count])
        if claim.of != "rows":
            return [Row("taken for private", shown)]
        return [Row("row", _encoded(release, claim.about[:count])), Row("taken for private", shown)]
    if isinstance(claim, Masks):
        rows = claim.rows[:count]
        encoded = release.encoded.pixels(rows)
        return [Row("row", list(encoded)), Row("signs restored", list(encoded * claim.signs[:count].to(encoded)))]
    if isinstance(claim, PublicImagesFound) and release.public is not None:
        rows = claim.rows[:count]
        found = [
            Row(f"public image {nth + 1}", list(release.public.pixels(claim.candidates[:count, nth])))
            for nth in range(min(3, claim.candidates.shape[1]))
        ]
        return [Row("row", _encoded(release, rows)), *found]
    return []


def _encoded(release: EncodedRelease, rows: Tensor) -> list[Float[Tensor, "c h w"]]:
    return list(release.encoded.pixels(rows.clamp_min(0).to(torch.int64)))
