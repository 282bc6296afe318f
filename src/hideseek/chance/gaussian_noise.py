"""Gaussian noise for what is to be proved private: drawn with more care than normals are."""

from jaxtyping import Float
from torch import Tensor

from hideseek.chance.randomness import Randomness


def gaussian_noise(stream: Randomness, *shape: int) -> Float[Tensor, "..."]:
    """Give standard normal noise as the secure mode of Opacus does: one draw is thrown away, then (g₁ + … + g₄) / 2.

    Noise in floating point has gaps, and which sums it can reach betrays what it was added to: Jin et al.
    (arXiv:2112.05307) tell the images of DP-SGD apart by that. Holohan and Braghin (arXiv:2107.10138, §5.1) add 2n
    draws, here n = 2, so that an attacker has to search through 2n − 1 of them at once.

    Limit: this makes the gaps harder to find and does not close them, and it does not protect the addition itself
    (Haney et al., arXiv:2207.13793; Opacus issue 616).
    """
    stream.normals(1)
    total = stream.normals(*shape)
    for _ in range(3):
        total += stream.normals(*shape)
    return total / 2
