"""Taking a challenge up: an attack by its name, and one image for every row from what it claims."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from hideseek.errors import BadInput
from hideseek.records import Attack, EncodedRelease, Evidence, Reconstruction, Samples
from hideseek.seek import ATTACKS, refusal
from hideseek.seek.signals.whitening import Whitening

STRONGEST = (
    "link-and-solve",
    "carlini",
    "unmask-public",
    "byte-decoding",
    "mixup-public",
    "mixup-pairs",
    "average-search",
)
"""The attacks that give images of rows, the strongest first, as far as there are such."""


def chosen_attack(release: EncodedRelease) -> tuple[str, Attack[Any]]:
    """Give the strongest attack that applies to a challenge, and its name."""
    for name in STRONGEST:
        if name in ATTACKS and refusal(ATTACKS[name], release) is None:
            return name, ATTACKS[name]
    raise BadInput("no attack that gives images applies to this challenge: name one, or give the public images.")


def decryption(evidence: Evidence, release: EncodedRelease) -> Float[Tensor, "rows c h w"]:
    """Give one image of [0, 1] for every row: the first guess about it that the attacker is sure of, else the first.

    Guesses that are about no row go to the rows that they are most like, by the white squares of their pixels, which
    no mask changes. A row without a guess gets the mean image.
    """
    rows = len(release.encoded)
    found = torch.zeros(rows, *release.encoded.shape)
    sure = torch.zeros(rows, dtype=torch.bool)
    there = torch.zeros(rows, dtype=torch.bool)
    claims = [claim for claim in evidence.claims if isinstance(claim, Reconstruction) and len(claim.images)]
    if not claims:
        raise BadInput("this attack claims no images, so there is nothing to submit: choose another.")
    for claim in claims:
        about = claim.about if claim.of in ("items", "batches") else None
        if about is None:
            nearest = _nearest(claim.images, release)
            found[~there], there = claim.images[nearest][~there], torch.ones_like(there)
            continue
        certain = torch.zeros(len(about), dtype=torch.bool) if claim.sure is None else claim.sure
        for place, row in enumerate(about.tolist()):
            if not there[row] or (certain[place] and not sure[row]):
                found[row], there[row], sure[row] = claim.images[place], True, certain[place]
    return raw(found, release).clamp(0, 1)


def _nearest(images: Float[Tensor, "n c h w"], release: EncodedRelease) -> Tensor:
    """Give for every row the image whose white squares are most like the row's, by cosine."""
    rows, squares = release.encoded.pixels().square(), images.square()
    white = Whitening.of(Samples(rows - rows.mean(0), release.encoded.labels))

    def standardised(values: Tensor) -> Tensor:
        return functional.normalize(white(values - values.mean(0)).flatten(1))

    nearest: Tensor = (standardised(rows) @ standardised(squares).T).argmax(1)
    return nearest


def raw(pixels: Float[Tensor, "n c h w"], release: EncodedRelease) -> Float[Tensor, "n c h w"]:
    """Undo the normalisation; where its constants are not known, stretch every image to [0, 1]."""
    constants = release.encoded.normalisation
    if constants.kind == "channel":
        mean, std = (torch.tensor(each).view(1, -1, 1, 1) for each in (constants.mean, constants.std))
        return pixels * std + mean
    flat = pixels.flatten(1)
    low, high = flat.min(1).values, flat.max(1).values
    if constants.kind == "none" and float(low.min()) >= 0 and float(high.max()) <= 1:
        return pixels
    low, span = low.view(-1, 1, 1, 1), (high - low).clamp_min(1e-12).view(-1, 1, 1, 1)
    return (pixels - low) / span
