"""Updates that hold numbers alone: what is no number is refused before anything is computed from it."""

from hideseek.records import Reason, Refusal
from hideseek.records.update_release import UpdateRelease


def not_finite(release: UpdateRelease) -> Refusal | None:
    """Refuse updates that hold NaN or infinity, and name the first."""
    for number, update in enumerate(release.updates):
        for name, tensor in update.items():
            if not bool(tensor.isfinite().all()):
                return Refusal(Reason.NOT_FINITE, {"number": number, "name": name})
    return None
