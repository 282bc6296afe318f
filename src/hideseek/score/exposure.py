"""Record risk: how far an attack's answer points to each private image, so that an owner can leave the worst out.

The measure is one for all claims: of the other images in a gallery, private or not, the share that fits the answer
worse than the image itself does. It is 1 where the image has the first place, and ½ by chance. For a claim of
membership that is the rank of the image's score. Where images were reconstructed, the correlation of the best guess
with the image stands beside it, and tells images of one share apart. Where patients are known, each counts once, by the
image of his that is exposed most.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.records import Claim, Evidence, Reconstruction
from hideseek.records.result import Exposed
from hideseek.records.secret import Secret
from hideseek.score.claims import CLAIMS

MOST = 10  # images, or patients, that are told


def most_exposed(evidence: Evidence, secret: Secret, count: int = MOST) -> tuple[Exposed, ...]:
    """Give the private images that an attack's claims point to most clearly, the clearest first, above chance alone.

    Of several claims the one that points more clearly to an image counts. Images of one share and one correlation stand
    by their places.
    """
    shares = torch.full((len(secret.private),), -math.inf, dtype=torch.float64)
    alike = shares.clone()
    for claim in evidence.claims:
        exposure = CLAIMS[claim.name].exposure
        if exposure is not None:
            shares = torch.maximum(shares, exposure(claim, secret).nan_to_num(-math.inf))
            alike = torch.maximum(alike, _correlations(claim, secret))
    shares, alike = (shares * 1e6).round() / 1e6, (alike * 1e3).round() / 1e3
    order = sorted(range(len(shares)), key=lambda image: (-float(shares[image]), -float(alike[image])))
    of = None if secret.private.patients is None else secret.private.records.tolist()
    found: dict[int, Exposed] = {}
    for image in order:
        if not shares[image] > 0.5 or len(found) == count:
            break
        patient = None if of is None else of[image]
        correlation = float(alike[image]) if math.isfinite(alike[image]) else None
        exposed = Exposed(image, float(shares[image]), correlation, patient)
        found.setdefault(image if patient is None else patient, exposed)
    return tuple(found.values())


def _correlations(claim: Claim, secret: Secret) -> Float[Tensor, " private"]:
    """Give the correlation of the best guess about each image; −∞ where there is none, or only one that was picked."""
    found = torch.full((len(secret.private),), -math.inf, dtype=torch.float64)
    metric = CLAIMS[claim.name].metrics.get("correlation")
    if metric is None or (isinstance(claim, Reconstruction) and claim.picked):
        return found
    images, scores = metric.groups(claim, secret).long(), metric.score(claim, secret).double().nan_to_num(-math.inf)
    return found.scatter_reduce(0, images[images >= 0], scores[images >= 0], "amax")
