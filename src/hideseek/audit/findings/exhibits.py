"""Pictures of what an attack found: original, what was shared, what was recovered; best, median and worst.

What was shared without a mask of signs shows private images to the eye, and counts as private in a report.
"""

from dataclasses import dataclass, replace
from functools import singledispatch
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.files import new_file
from hideseek.records import Claim, EncodedRelease, Evidence, Masks, PublicImagesFound, Reconstruction
from hideseek.records.mixing_secret import MixingSecret
from hideseek.records.result import Exhibit, Panel
from hideseek.report.contact_sheet import visible
from hideseek.score.gallery import gallery
from hideseek.score.keys import wrong_signs
from hideseek.score.public_images import places

EACH = 3  # of the best, the median and the worst
EXAMPLES = 4
Picture = Float[Tensor, "c h w"]


@dataclass(frozen=True)
class _Shown:
    """An exhibit whose pictures are not files yet: label, picture, whether it is private."""

    kind: str
    caption: str
    panels: tuple[tuple[str, Picture, bool], ...]


def exhibits(
    evidence: Evidence, release: EncodedRelease, secret: MixingSecret, folder: Path, name: str
) -> tuple[Exhibit, ...]:
    """Write the pictures of an attack's claims, readable by their owner alone, and say what they are."""
    pictures_first = sorted(evidence.claims, key=lambda claim: not isinstance(claim, Reconstruction))
    shown = [each for claim in pictures_first for each in _shown(claim, release, secret)]
    return tuple(
        Exhibit(
            each.kind,  # type: ignore[arg-type] # one of four words
            each.caption,
            tuple(
                Panel(label, _written(picture, folder, f"{name}-{number}-{place}.png"), private)
                for place, (label, picture, private) in enumerate(each.panels)
            ),
        )
        for number, each in enumerate(shown)
    )


def _written(picture: Picture, folder: Path, name: str) -> str:
    with new_file(folder / name, mode=0o600) as file:
        visible(picture).save(file, "PNG")
    return name


@singledispatch
def _shown(claim: Claim, release: EncodedRelease, secret: MixingSecret) -> list[_Shown]:
    return []


@_shown.register
def _(claim: Reconstruction, release: EncodedRelease, secret: MixingSecret) -> list[_Shown]:
    if not len(claim.images):
        return []
    shown = []
    for kind, chosen in gallery(claim, secret, EACH).items():
        for each in chosen:
            row = int(claim.about[each.number]) if claim.of == "rows" else _usual_row(secret, each.image)
            panels = (
                ("original", each.truth, True),
                ("shared", release.encoded.pixels(slice(row, row + 1))[0], secret.mask is None),
                ("recovered", each.guess, True),
            )
            shown.append(_Shown(kind, f"image {each.image}: correlation {each.likeness:.2f}", panels))
    return shown


@_shown.register
def _(claim: Masks, release: EncodedRelease, secret: MixingSecret) -> list[_Shown]:
    if secret.mask is None or not len(claim.rows):
        return []
    wrong = wrong_signs(claim, secret)
    order = wrong.argsort()
    chosen = {"best": order[0], "median": order[len(order) // 2], "worst": order[-1]}
    shown = []
    for kind, number in chosen.items():
        row = int(claim.rows[number])
        encoded = release.encoded.pixels(slice(row, row + 1))[0]
        panels = (
            ("under the mask", encoded * _signs(secret, row), True),
            ("shared", encoded, False),
            ("signs restored", encoded * claim.signs[number], True),
        )
        shown.append(_Shown(kind, f"row {row}: {100 * float(wrong[number]):.0f} % of its signs are wrong", panels))
    return shown


@_shown.register
def _(claim: PublicImagesFound, release: EncodedRelease, secret: MixingSecret) -> list[_Shown]:
    """Show rows whose public images were found, or the first ones where none were."""
    if release.public is None or not claim.candidates.shape[1] or release.public.shape != release.encoded.shape:
        return []
    first = (places(claim, secret) == 1).any(1)
    order = torch.cat([first.nonzero()[:, 0], (~first).nonzero()[:, 0]])[:EXAMPLES]
    shown = []
    for number in order.tolist():
        row, guess = int(claim.rows[number]), int(claim.candidates[number, 0])
        truth = int(secret.public_sources[row, secret.weights[row, -secret.public_sources.shape[1] :].argmax()])
        panels = (
            ("public image in it", release.public.pixels(slice(truth, truth + 1))[0], False),
            ("shared", release.encoded.pixels(slice(row, row + 1))[0], secret.mask is None),
            ("found", release.public.pixels(slice(guess, guess + 1))[0], False),
        )
        shown.append(_Shown("example", f"row {row}: {'in it' if first[number] else 'not in it'}", panels))
    return shown


def _usual_row(secret: MixingSecret, image: int) -> int:
    """Find a row that has as much of an image as its rows usually have: the median."""
    weights = torch.where(secret.sources == image, secret.weights[:, : secret.sources.shape[1]], 0.0).amax(1)
    rows = weights.nonzero()[:, 0]
    return int(rows[weights[rows].argsort()[len(rows) // 2]]) if len(rows) else 0


def _signs(secret: MixingSecret, row: int) -> Tensor:
    assert secret.mask is not None  # noqa: S101 (the caller has looked)
    return replace(secret, sources=secret.sources[row : row + 1], mask=secret.mask[row : row + 1]).signs()[0]
