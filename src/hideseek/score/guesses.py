"""Pictures of what an attack claims where there is no truth: each guess beside the rows that it was made from."""

from jaxtyping import Float, Int
from torch import Tensor

from hideseek.records import EncodedRelease, Masks, PublicImagesFound, Reconstruction, Release
from hideseek.score.claim_rules import Shown

IMAGES, ROWS, OF_ROWS = 9, 5, 3  # guesses of a claim, rows beside one, and claims about single rows, that are shown
Panel = tuple[str, Float[Tensor, "c h w"], bool]


def guessed_images(claim: Reconstruction, release: Release) -> list[Shown]:
    """Show guesses, those first that the attack is sure of, then those that most rows were put together to."""
    count = len(claim.images)
    sizes = [0] * count if claim.groups is None else (claim.groups >= 0).sum(1).tolist()
    sure = [False] * count if claim.sure is None else claim.sure.tolist()
    shown = []
    for guess in sorted(range(count), key=lambda each: (not sure[each], -sizes[each]))[:IMAGES]:
        label = "recovered, and confirmed by the attack" if sure[guess] else "guess, not confirmed"
        panel = (label, claim.images[guess], True)
        if claim.groups is not None:
            group = claim.groups[guess][claim.groups[guess] >= 0]
            panels = (*_rows(release, group), panel)
            shown.append(Shown("example", "guess", guess, "put together from", float(len(group)), "rows", panels))
        elif claim.of in ("items", "batches"):
            row = int(claim.about[guess])
            shown.append(Shown("example", "row", row, "", 0.0, "", (*_shared(release, row), panel)))
        else:
            shown.append(Shown("example", "guess", guess, "", 0.0, "", (panel,)))
    return shown


def guessed_masks(claim: Masks, release: Release) -> list[Shown]:
    """Show a few rows, and what they would be without the mask."""
    rows = [(row, _shared(release, row)) for row in claim.rows[:OF_ROWS].tolist()]
    return [
        Shown("example", "row", row, "", 0.0, "", (panel, ("signs restored, not confirmed", panel[1] * signs, True)))
        for (row, panels), signs in zip(rows, claim.signs, strict=False)
        for panel in panels
    ]


def guessed_public(claim: PublicImagesFound, release: Release) -> list[Shown]:
    """Show a few rows, and the public images that are said to be in them, the likeliest first."""
    if not isinstance(release, EncodedRelease) or release.public is None:
        return []
    shown = []
    for row, candidates in zip(claim.rows[:OF_ROWS].tolist(), claim.candidates, strict=False):
        found = [("public image, not confirmed", each, False) for each in release.public.pixels(candidates[:OF_ROWS])]
        shown.append(Shown("example", "row", row, "", 0.0, "", (*_shared(release, row), *found)))
    return shown


def _rows(release: Release, rows: Int[Tensor, " rows"]) -> list[Panel]:
    return [(f"row {row}", *panel[1:]) for row in rows[:ROWS].tolist() for panel in _shared(release, row)]


def _shared(release: Release, item: int) -> list[Panel]:
    """Give what was shared; nothing where it is no picture."""
    picture = release.picture(item)
    return [] if picture is None else [("shared", picture, release.shows_private)]
