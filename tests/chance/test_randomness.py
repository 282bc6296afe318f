"""Streams of random numbers.

Every statistical test here has a fixed seed and would fail for one seed in a million if all is right.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from scipy import stats

from hideseek.chance import Randomness, secure, seeded

ERROR = 1e-6


# AES-256 of the zero block, which is what counter mode starts with: NIST's AESAVS, KeySbox and VarKey vectors.
@pytest.mark.parametrize(
    ("key", "block"),
    [
        ("c47b0294dbbbee0fec4757f22ffeee3587ca4730c3d33b691df38bab076bc558", "46f2fb342d6f0ab477476fc501242c5f"),
        ("8000000000000000000000000000000000000000000000000000000000000000", "e35a6dcb19b201a01ebcfa8aa22b5759"),
        ("ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff", "4bf85f1b5d54adbc307b0a048389adcb"),
    ],
)
def test_stream_begins_with_known_answers(key: str, block: str) -> None:
    assert Randomness(bytes.fromhex(key)).bytes(16).hex() == block


def test_cipher_gives_known_answer_in_counter_mode() -> None:
    # NIST SP 800-38A, F.5.5
    key = bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
    counter = bytes.fromhex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
    plain = bytes.fromhex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51")
    cipher = Cipher(algorithms.AES256(key), modes.CTR(counter)).encryptor().update(plain)
    assert cipher.hex() == "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5"


def test_stream_is_the_cipher_of_a_counter() -> None:
    key = bytes(range(32))
    counters = b"".join(i.to_bytes(16, "big") for i in range(40_000))  # longer than one piece of zeros
    expected = Cipher(algorithms.AES256(key), modes.ECB()).encryptor().update(counters)  # noqa: S305 (a reference)
    buffer = np.empty(len(counters), np.uint8)
    Randomness(key).fill(buffer)
    assert buffer.tobytes() == expected


def test_secure_streams_differ_and_are_not_reproducible() -> None:
    one, other = secure(), secure()
    assert one.bytes(32) != other.bytes(32)
    assert not one.reproducible
    assert not one.spawn(1)[0].reproducible


def test_seeded_streams_repeat_and_are_marked() -> None:
    assert seeded(7).bytes(64) == seeded(7).bytes(64)
    assert seeded(7).reproducible
    assert seeded(7).spawn(2)[1].seed == 7


@pytest.mark.parametrize("seed", [0, 1, 12345, -1])
def test_seeds_two_to_the_32_apart_do_not_collide(seed: int) -> None:
    assert seeded(seed).bytes(32) != seeded(seed + 2**32).bytes(32)
    torch_draws = []  # torch's own generator, for contrast: this is why it is not used
    for same in (abs(seed), abs(seed) + 2**32):
        torch_draws.append(torch.rand(4, generator=torch.Generator().manual_seed(same)))
    assert torch.equal(*torch_draws)


def test_spawned_streams_differ_from_each_other_and_from_their_parent() -> None:
    parent = seeded(1)
    streams = [parent, *parent.spawn(3)]
    assert len({stream.bytes(32) for stream in streams}) == 4


def test_the_key_is_not_shown() -> None:
    assert Randomness(b"k" * 32).key not in repr(Randomness(b"k" * 32)).encode()
    assert "kkkk" not in repr(Randomness(b"k" * 32))


def test_sign_bits_are_fair_and_independent_of_their_neighbours() -> None:
    signs = seeded(2).signs(1000, 1000).numpy().ravel()
    assert set(np.unique(signs)) == {-1, 1}
    assert abs(signs.mean()) < 4.9 / 1000  # 4.9 deviations: one in a million
    assert abs((signs[:-1] * signs[1:]).mean()) < 4.9 / 1000
    assert abs((signs[:-8] * signs[8:]).mean()) < 4.9 / 1000


def test_a_sign_costs_one_bit() -> None:
    one, other = seeded(3), seeded(3)
    one.signs(8000)
    other.bytes(1000)
    assert one.bytes(16) == other.bytes(16)


def test_packed_bits_have_every_byte_value() -> None:
    packed = seeded(4).bits(1000, 8000).numpy()
    assert packed.shape == (1000, 1000)
    assert stats.chisquare(np.bincount(packed.ravel(), minlength=256)).pvalue > ERROR


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 10, 1000])
def test_integers_are_uniform(bound: int) -> None:
    drawn = seeded(bound).integers(bound, 100_000).numpy()
    counts = np.bincount(drawn, minlength=bound)
    assert len(counts) == bound
    assert bound == 1 or stats.chisquare(counts).pvalue > ERROR


def test_integers_are_unbiased_where_words_do_not_divide() -> None:
    bound = 3 * 2**61  # a plain remainder would give the lower third 3/8 of all draws, and not 1/3
    drawn = seeded(5).integers(bound, 100_000).numpy()
    assert stats.binomtest(int((drawn < 2**61).sum()), 100_000, 1 / 3).pvalue > ERROR


@pytest.mark.parametrize("bound", [0, -1, 2**63 + 1])
def test_integers_refuse_a_bound_out_of_range(bound: int) -> None:
    with pytest.raises(ValueError, match="bound"):
        seeded(0).integers(bound, 1)


@pytest.mark.parametrize(
    ("draw", "law"),
    [
        (lambda chance: chance.uniforms(500, 1000), stats.uniform()),
        (lambda chance: chance.normals(500, 1000), stats.norm()),
        (lambda chance: chance.laplace(500, 1000), stats.laplace()),
        (lambda chance: chance.gammas(0.5, 500, 400), stats.gamma(0.5)),
        (lambda chance: chance.gammas(3.0, 500, 400), stats.gamma(3.0)),
    ],
    ids=["uniform", "normal", "laplace", "gamma ½", "gamma 3"],
)
def test_continuous_laws(draw: Callable[[Randomness], torch.Tensor], law: "stats.rv_continuous") -> None:
    values = draw(seeded(8)).double().numpy().ravel()
    assert stats.kstest(values, law.cdf).pvalue > ERROR
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 4.9 / math.sqrt(len(values) - 1)


@pytest.mark.parametrize("dimensions", [2, 3, 50])
def test_points_are_spread_evenly_over_the_sphere(dimensions: int) -> None:
    points = seeded(9).sphere(100_000, dimensions)
    assert torch.allclose(points.norm(dim=1), torch.ones(100_000), atol=1e-5)
    half = (dimensions - 1) / 2  # (1 + coordinate) / 2 has a beta law
    for coordinate in points[:, :3].double().numpy().T:
        assert stats.kstest((1 + coordinate) / 2, stats.beta(half, half).cdf).pvalue > ERROR
    assert abs(float((points[:, 0] * points[:, 1]).mean())) < 4.9 / dimensions / math.sqrt(100_000) * 1.5


def test_nothing_may_be_asked_for() -> None:
    chance = seeded(10)
    assert chance.normals(0).shape == (0,)
    assert chance.permutation(0).shape == (0,)
    assert chance.bits(0, 8).shape == (0, 1)
