"""Why an attack does not apply to a release, where several attacks have the same reason."""

import math

from torch import Tensor

from hideseek.errors import BadInput
from hideseek.records import EncodedRelease, Reason, Refusal, Refused
from hideseek.records.samples import describe_shape

WINDOW = 7  # pixels on a side of what SSIM looks at


def without_public(release: EncodedRelease, *, cut: bool = False) -> Refusal | None:
    """Refuse a scheme that mixes in no public images, and public images that cannot be those in its rows.

    With `cut`, they may be larger than rows: what was mixed in are patches of them.
    """
    count, public = release.scheme.images_per_row.public, release.public
    if not count:
        return Refusal(Reason.NO_PUBLIC_IMAGES)
    if public is None:
        return None
    if count > len(public):
        return Refusal(Reason.TOO_FEW_PUBLIC_IMAGES, {"given": len(public), "wanted": count})
    given, wanted = public.shape, release.encoded.shape
    if given == wanted:
        return None
    if given[0] != wanted[0] or given[1] < wanted[1] or given[2] < wanted[2]:
        facts: dict[str, int | str] = {"given": describe_shape(given), "wanted": describe_shape(wanted)}
        return Refusal(Reason.PUBLIC_IMAGES_OF_OTHER_SIZE, facts)
    return None if cut else Refusal(Reason.LARGER_PUBLIC_IMAGES, {"given": describe_shape(given)})


def too_small(release: EncodedRelease) -> Refusal | None:
    """Refuse rows that are smaller than a window of SSIM, such as features."""
    return Refusal(Reason.TOO_SMALL_IMAGES, {"wanted": WINDOW}) if min(release.encoded.shape[1:]) < WINDOW else None


def without_pairs(release: EncodedRelease) -> Refusal | None:
    """Refuse a release in which no two rows share a private image."""
    alone = release.scheme.images_per_row.private == 1 and release.rounds == 1
    return Refusal(Reason.NO_COMMON_IMAGES) if alone else None


def without_phases(release: EncodedRelease) -> Refusal | None:
    """Refuse what has no signs to be retrieved from mixtures: no mask, moved images, features, one private image."""
    if not release.scheme.masked:
        return Refusal(Reason.NOT_MASKED)
    if release.scheme.moves:
        return Refusal(Reason.NOT_LINEAR)
    if max(release.encoded.shape[1:]) == 1:
        return Refusal(Reason.NO_NEIGHBOURS)
    return Refusal(Reason.ONE_PRIVATE_IMAGE) if release.scheme.images_per_row.private < 2 else None


def unsuited_candidates(release: EncodedRelease) -> Refusal | None:
    """Refuse candidates that cannot be in rows, or are all equal; none are asked for where there are none."""
    candidates = release.candidates
    if candidates is None:
        return None
    given, wanted = candidates.shape, release.encoded.shape
    if given != wanted:
        facts: dict[str, int | str] = {"given": describe_shape(given), "wanted": describe_shape(wanted)}
        return Refusal(Reason.CANDIDATES_OF_OTHER_SHAPE, facts)
    equal = len(candidates) < 2 or bool((candidates.images == candidates.images[:1]).all())
    return Refusal(Reason.EQUAL_CANDIDATES) if equal else None


def check_spread(centred: Tensor) -> None:
    """Refuse rows, less their mean, that have no inner products: all are zero, or none is a number."""
    if not 0 < float(centred.square().mean()) < math.inf:
        raise Refused(Refusal(Reason.UNUSABLE_VALUES))


def check_rows(rows: int | None) -> None:
    """Refuse to attack no rows."""
    if rows is not None and rows < 1:
        raise BadInput(f"rows must be 1 or more, not {rows}.")
