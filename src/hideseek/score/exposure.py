"""Record risk: how far an attack's answer points to each private image, so that an owner can leave the worst out.

The measure is one for all claims: of the other images in a gallery, private or not, the share that fits the answer
worse than the image itself does. It is 1 where the image has the first place, and ½ by chance. Where patients are
known, each counts once, by the image of his that is exposed most.
"""

import math

import torch

from hideseek.records import Evidence
from hideseek.records.result import Exposed
from hideseek.records.secret import Secret
from hideseek.score.claims import CLAIMS

MOST = 10  # images, or patients, that are told


def most_exposed(evidence: Evidence, secret: Secret, count: int = MOST) -> tuple[Exposed, ...]:
    """Give the private images that an attack's claims point to most clearly, the clearest first, above chance alone.

    Of several claims the one that points more clearly to an image counts. Images of one share stand by their places.
    """
    shares = torch.full((len(secret.private),), -math.inf, dtype=torch.float64)
    for claim in evidence.claims:
        exposure = CLAIMS[claim.name].exposure
        if exposure is not None:
            shares = torch.maximum(shares, exposure(claim, secret).nan_to_num(-math.inf))
    of = None if secret.private.patients is None else secret.private.records.tolist()
    found: dict[int, Exposed] = {}
    for image in shares.argsort(descending=True, stable=True).tolist():
        if not shares[image] > 0.5 or len(found) == count:
            break
        patient = None if of is None else of[image]
        found.setdefault(image if patient is None else patient, Exposed(image, round(float(shares[image]), 6), patient))
    return tuple(found.values())
