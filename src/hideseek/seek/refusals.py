"""Why an attack does not apply to a release, where several attacks have the same reason: a sentence, or nothing."""

from hideseek.errors import BadInput
from hideseek.records import EncodedRelease
from hideseek.records.samples import describe_shape

WINDOW = 7  # pixels on a side of what SSIM looks at


def without_public(release: EncodedRelease, *, cut: bool = False) -> str:
    """Refuse a scheme that mixes no public images in, and public images that cannot be those in its rows.

    With `cut`, they may be larger than rows: what was mixed in are patches of them.
    """
    count, public = release.scheme.images_per_row.public, release.public
    if not count:
        return "this attack is on schemes that mix public images in; this one mixes none."
    if public is None:
        return ""
    if count > len(public):
        return f"rows of {count} public images cannot be made of {len(public)}."
    if cut and any(given < wanted for given, wanted in zip(public.shape, release.encoded.shape, strict=True)):
        return "public images that are smaller than rows cannot be in them: name them at their size."
    if not cut and public.shape != release.encoded.shape:
        return (
            f"public images of {describe_shape(public.shape)} are not in rows of {describe_shape(release.encoded.shape)}:"
            " name them at the size that they were mixed at."
        )
    return ""


def too_small(release: EncodedRelease) -> str:
    """Refuse rows that are smaller than a window of SSIM, such as features."""
    if min(release.encoded.shape[1:]) < WINDOW:
        return f"SSIM compares images of {WINDOW}×{WINDOW} pixels or more; these rows are smaller."
    return ""


def without_pairs(release: EncodedRelease) -> str:
    """Refuse a release in which no two rows share a private image."""
    if release.scheme.images_per_row.private == 1 and release.rounds == 1:
        return "every private image is in one row alone, so no two rows share one: hide with --rounds 2 or more."
    return ""


def check_rows(rows: int | None) -> None:
    """Refuse to attack no rows."""
    if rows is not None and rows < 1:
        raise BadInput(f"rows must be 1 or more, not {rows}.")
