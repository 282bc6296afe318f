"""The only source of random numbers: `secure` for keys, `seeded` for studies that others can repeat.

Both stretch 256 bits by AES-256 in counter mode. The generators of torch and NumPy are not made for secrets: torch's
keeps 32 bits of its seed on the CPU, and the masks of InstaHide's own challenge were recovered from its generator.
Torch's generator draws only what is no secret, initial weights and dropout, from a seed that comes from here.
"""

import hashlib
import math
import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from jaxtyping import Float, Int, Int8, UInt8
from numpy.typing import NDArray
from torch import Tensor

_ZEROS = bytes(1 << 18)  # what the cipher encrypts, piece by piece


@dataclass(frozen=True)
class Randomness:
    """A stream of random numbers under one key.

    Drawing moves the stream on: the same draws in the same order give the same numbers. `seed` is set where the key was
    derived from it.
    """

    key: bytes = field(repr=False)
    seed: int | None = None
    _stream: CipherContext = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_stream", Cipher(algorithms.AES256(self.key), modes.CTR(bytes(16))).encryptor())

    @property
    def reproducible(self) -> bool:
        """Tell whether anyone can draw the same numbers again."""
        return self.seed is not None

    def fill(self, array: NDArray[Any]) -> None:
        """Overwrite a contiguous array with random bits."""
        view = array.reshape(-1).view(np.uint8).data
        for start in range(0, len(view), len(_ZEROS)):
            piece = view[start : start + len(_ZEROS)]
            self._stream.update_into(_ZEROS[: len(piece)], piece)

    def bytes(self, count: int) -> bytes:
        """Give `count` random bytes."""
        return self._stream.update(bytes(count))

    def spawn(self, count: int) -> "list[Randomness]":
        """Give independent streams under fresh keys, for parts that run in parallel."""
        return [Randomness(self.bytes(32), self.seed) for _ in range(count)]

    def _words(self, count: int) -> NDArray[np.uint64]:
        words = np.empty(count, np.uint64)
        self.fill(words)
        return words

    def _words32(self, count: int) -> NDArray[np.uint32]:
        words = np.empty(count, np.uint32)
        self.fill(words)
        return words

    def bits(self, rows: int, each: int) -> UInt8[Tensor, "rows bytes"]:
        """Give `each` random bits for every row, packed eight to a byte, little end first."""
        packed = np.empty((rows, (each + 7) // 8), np.uint8)
        self.fill(packed)
        return torch.from_numpy(packed)

    def signs(self, *shape: int) -> Int8[Tensor, "..."]:
        """Give −1 and +1 with probability ½ each, one random bit apiece."""
        bits = np.unpackbits(self.bits(1, math.prod(shape)).numpy(), count=math.prod(shape), bitorder="little")
        return torch.from_numpy(1 - 2 * bits.astype(np.int8)).reshape(shape)

    def uniforms(self, *shape: int) -> Float[Tensor, "..."]:
        """Give float64 numbers of [0, 1), 53 bits each."""
        return torch.from_numpy((self._words(math.prod(shape)) >> np.uint64(11)) * 2.0**-53).reshape(shape)

    def integers(self, bound: int, *shape: int) -> Int[Tensor, "..."]:
        """Give integers of 0 … bound − 1, each exactly as likely as the others.

        Words in the last, incomplete run of `bound` values are drawn again.
        """
        if not 0 < bound <= 2**63:
            raise ValueError(f"an integer bound must be between 1 and 2^63, not {bound}.")
        words = self._words(math.prod(shape))
        last = np.uint64(2**64 - 1 - 2**64 % bound)
        while len(outside := np.flatnonzero(words > last)):
            words[outside] = self._words(len(outside))
        return torch.from_numpy((words % np.uint64(bound)).astype(np.int64)).reshape(shape)

    def permutation(self, count: int, out: NDArray[np.int64] | None = None) -> Int[Tensor, " count"]:
        """Give the numbers 0 … count − 1 in an order that is exactly uniform, in `out` if given."""
        from hideseek.chance.permutations import permutation

        return torch.from_numpy(permutation(count, self._words32, out))

    def derangement(self, count: int, out: NDArray[np.int64] | None = None) -> Int[Tensor, " count"]:
        """Give a uniform permutation that leaves nothing in its place: about one in e permutations is such."""
        from hideseek.chance.permutations import has_fixed

        if count < 2:
            raise ValueError(f"{count} items cannot all change places.")
        while True:
            order = self.permutation(count, out)
            if not has_fixed(order.numpy()):
                return order

    def normals(self, *shape: int) -> Float[Tensor, "..."]:
        """Give float32 standard normals."""
        from hideseek.chance.normals import normals

        return torch.from_numpy(normals(math.prod(shape), self._words32)).reshape(shape)

    def laplace(self, *shape: int) -> Float[Tensor, "..."]:
        """Give float32 numbers of density exp(−|x|)/2, for which E|x| = 1: an exponential with a random sign."""
        words = self._words32(math.prod(shape))
        size = -np.log((words >> np.uint32(1)).astype(np.float32) * np.float32(2.0**-31) + np.float32(2.0**-32))
        size.view(np.uint32)[...] ^= words << np.uint32(31)  # the bit that is left becomes the sign
        return torch.from_numpy(size).reshape(shape)

    def sphere(self, rows: int, dimensions: int) -> Float[Tensor, "rows dimensions"]:
        """Give float32 points spread evenly over the unit sphere: normals divided by their length."""
        points = self.normals(rows, dimensions)
        return points.div_(points.norm(dim=1, keepdim=True))

    def gammas(self, concentration: float, *shape: int) -> Float[Tensor, "..."]:
        """Give float64 gamma variates of unit scale, by inverting the distribution function."""
        from scipy.special import gammaincinv

        return torch.from_numpy(gammaincinv(concentration, self.uniforms(*shape).numpy()))


def secure() -> Randomness:
    """Open a stream under 256 fresh bits of the operating system; no one can draw it again."""
    return Randomness(os.urandom(32))


def seeded(seed: int) -> Randomness:
    """Open the stream that belongs to a seed, any integer; all that it touches is marked reproducible."""
    return Randomness(hashlib.sha256(f"hideseek seed {seed}".encode()).digest(), seed)
