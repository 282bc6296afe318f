"""Pictures of what an attack found, written to files: original, what was shared, what was recovered."""

from collections.abc import Sequence
from pathlib import Path

from jaxtyping import Float
from torch import Tensor

from hideseek.files import new_file
from hideseek.records import Evidence, Reconstruction, Release
from hideseek.records.result import Exhibit, Panel
from hideseek.records.secret import Secret
from hideseek.report.contact_sheet import visible
from hideseek.score.claim_rules import Shown
from hideseek.score.claims import CLAIMS


def exhibits(evidence: Evidence, release: Release, secret: Secret, folder: Path, name: str) -> tuple[Exhibit, ...]:
    """Write the pictures of an attack's claims, readable by their owner alone, and say what they are."""
    reconstructions_first = sorted(evidence.claims, key=lambda claim: not isinstance(claim, Reconstruction))
    shown = [each for claim in reconstructions_first for each in CLAIMS[claim.name].examples(claim, release, secret)]
    return drawn(shown, folder, name)


def drawn(shown: Sequence[Shown], folder: Path, name: str) -> tuple[Exhibit, ...]:
    """Write pictures, in files that begin with a name, and say what they are."""
    return tuple(
        Exhibit(
            each.kind,
            each.subject,
            each.number,
            each.metric,
            each.value,
            each.unit,
            tuple(
                Panel(label, _written(picture, folder, f"{name}-{place}-{column}.png"), private)
                for column, (label, picture, private) in enumerate(each.panels)
            ),
        )
        for place, each in enumerate(shown)
    )


def _written(picture: Float[Tensor, "c h w"], folder: Path, name: str) -> str:
    """Write a picture, readable by its owner alone, and give its name."""
    with new_file(folder / name, mode=0o600) as file:
        visible(picture).save(file, "PNG")
    return name
