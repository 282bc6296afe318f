"""Parts of checks: whether evidence, which may come from a stranger, can be about a release."""

import torch
from torch import Tensor

from hideseek.errors import BadInput
from hideseek.records import Claim
from hideseek.records.mixing_secret import MixingSecret
from hideseek.records.samples import describe_shape
from hideseek.records.secret import Secret

ADVICE = "the evidence is of another release, or damaged"


def check_finite(claim: Claim) -> None:
    """Refuse a claim with what is not a number."""
    if not claim.finite():
        raise BadInput(f"the numbers of a claim of the kind {claim.name} are not all finite: the attack has failed.")


def check_within(numbers: Tensor, count: int, what: str) -> None:
    """Refuse a claim about items, images or public images that are not there."""
    outside = numbers[(numbers < 0) | (numbers >= count)]
    if outside.numel():
        raise BadInput(f"the evidence speaks of {what} {int(outside[0])}, and there are {count:,}: {ADVICE}.")


def check_shape(images: Tensor, secret: Secret) -> None:
    """Refuse images of another size than the private ones."""
    wanted = secret.private.shape
    if images.shape[1:] != torch.Size(wanted):
        given = (images.shape[1], images.shape[2], images.shape[3])
        raise BadInput(
            f"the evidence has images of {describe_shape(given)}, and the private ones are"
            f" {describe_shape(wanted)}: {ADVICE}."
        )


def of_mixing(secret: Secret) -> MixingSecret:
    """Give the ground truth of rows that were mixed; refuse that of any other kind of release."""
    if not isinstance(secret, MixingSecret):
        raise BadInput(f"the evidence speaks of mixed rows, and this release has none: {ADVICE}.")
    return secret
