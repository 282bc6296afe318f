"""Random numbers: secure streams for keys, seeded ones for studies; permutations and normals drawn from them."""

from hideseek.chance.randomness import Randomness, secure, seeded

__all__ = ["Randomness", "secure", "seeded"]
