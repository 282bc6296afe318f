"""The attack on Gaussian images: its equations, what it refuses, and how far it comes."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide import InstaHide, Mixup, PairInstaHide
from hideseek.records import EncodedRelease, MixingEncoder, Reason, Reconstruction, Samples
from hideseek.records.mixing_secret import MixingSecret
from hideseek.seek import refusal, run
from hideseek.seek.rows.chen import Chen
from hideseek.seek.signals.folded import folded_correlation, neighbour_correlation, squared_overlaps, unit_rows
from hideseek.seek.systems.magnitudes import solved
from hideseek.seek.systems.pair_graph import factorise
from releases import photos


def gaussian(
    scheme: MixingEncoder, count: int = 30, rounds: int = 8, seed: int = 0
) -> tuple[EncodedRelease, MixingSecret]:
    images = seeded(seed + 100).normals(count, 3, 24, 24)
    return scheme.hide(Samples(images, torch.eye(5)[torch.arange(count) % 5]), None, seeded(seed), rounds)


@pytest.mark.parametrize("rho", [0.2, 0.5, 0.9])
def test_the_correlation_of_absolute_values_is_what_the_formula_says(rho: float) -> None:
    """A million Gaussian pairs: the correlation errs by 0.001, of which five are allowed."""
    x, z = np.random.default_rng(0).standard_normal((2, 1_000_000))
    measured = np.corrcoef(np.abs(x), np.abs(rho * x + np.sqrt(1 - rho**2) * z))[0, 1]
    assert measured == pytest.approx(folded_correlation(np.array([rho]))[0], abs=0.005)


def test_overlaps_are_products_of_weights() -> None:
    """Of independent pixels, ρ² errs by about 1/√pixels; ρ is u·v for unit weights u and v."""
    release, secret = gaussian(InstaHide(k=2))
    rows = release.encoded.images.flatten(1).double().numpy()
    weights = np.zeros((len(rows), 30))
    np.put_along_axis(weights, secret.sources.numpy(), secret.weights.numpy().astype(np.float64), 1)
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    wanted = (weights @ weights.T) ** 2
    np.fill_diagonal(wanted, 0)
    off = squared_overlaps(unit_rows(rows)) - wanted
    assert np.sqrt(np.square(off).mean()) < 1.5 / np.sqrt(rows.shape[1])


def test_overlaps_without_errors_are_factorised() -> None:
    """B from B Bᵀ, up to the order of its columns."""
    generator = np.random.default_rng(1)
    truth = np.zeros((160, 20))
    for row in truth:
        share = generator.uniform(0.3, 0.7)
        row[generator.choice(20, 2, replace=False)] = share, 1 - share
    overlaps = truth @ truth.T
    np.fill_diagonal(overlaps, 0)
    found = factorise(overlaps, 20)
    assert found.shape == truth.shape
    order = (truth.T @ found).argmax(1)
    assert sorted(order) == list(range(20))
    np.testing.assert_allclose(found[:, order], truth, atol=0.02)


def test_magnitudes_give_the_images_up_to_the_sign_of_a_pixel() -> None:
    """Weights that are known to 3 %: they are fitted again."""
    generator = np.random.default_rng(2)
    matrix = np.zeros((160, 20))
    for row in matrix:
        row[generator.choice(20, 2, replace=False)] = generator.uniform(0.4, 0.8, 2)
    images = generator.standard_normal((20, 400))
    found, _ = solved(matrix * generator.uniform(0.97, 1.03, matrix.shape), np.abs(matrix @ images))
    signed = found * np.sign((found * images).sum(0))
    assert np.mean([np.corrcoef(*pair)[0, 1] for pair in zip(signed, images, strict=True)]) > 0.95


@pytest.mark.parametrize("scheme", [PairInstaHide(0.5), InstaHide(k=2), InstaHide(k=2, largest=1.0)])
def test_all_gaussian_images_come_back(scheme: MixingEncoder) -> None:
    release, secret = gaussian(scheme)
    evidence = run(Chen(), release, seeded(0))
    claim = evidence.claims[0]
    assert isinstance(claim, Reconstruction)
    assert evidence.remarks["images found"] == 30
    truth, found = (each.flatten(1).abs().numpy() for each in (secret.private.images, claim.images))
    alike = np.corrcoef(truth, found)[:30, 30:]
    assert (alike.max(1) > 0.9).mean() > 0.9
    assert len(set(alike.argmax(1))) >= 28


def test_photographs_are_refused_and_it_says_why() -> None:
    private, _ = photos("channel")
    release, _ = InstaHide(k=2).hide(private, None, seeded(1), 4)
    refused = refusal(Chen(), release)
    assert refused is not None
    assert refused.reason is Reason.NOT_GAUSSIAN
    assert "neighbouring pixels correlate by 0." in str(refused)
    evidence = run(Chen(anyway=True, rows=200), release, seeded(1))
    assert float(evidence.remarks["neighbours correlate by"]) > 0.3


@pytest.mark.parametrize(
    ("scheme", "rounds", "reason"),
    [
        (InstaHide(k=4), 8, Reason.NOT_IN_PAIRS),
        (InstaHide(k=2), 2, Reason.TOO_FEW_ROUNDS),
        (InstaHide(k=3, k_private=2), 8, Reason.UNKNOWN_PUBLIC_IMAGES),
        (Mixup(k=2), 8, Reason.NOT_MASKED),
    ],
)
def test_what_it_cannot_attack_is_refused(scheme: MixingEncoder, rounds: int, reason: Reason) -> None:
    images = Samples(seeded(1).normals(12, 3, 16, 16), torch.empty(12, 0))
    release, _ = scheme.hide(images, images, seeded(0), rounds)
    refused = refusal(Chen(), release)
    assert refused is not None
    assert refused.reason is reason


def test_too_few_pixels_are_refused() -> None:
    release, _ = InstaHide(k=2).hide(Samples(seeded(1).normals(12, 3, 8, 8), torch.empty(12, 0)), None, seeded(0), 8)
    refused = refusal(Chen(), release)
    assert refused is not None
    assert refused.reason is Reason.TOO_FEW_PIXELS


def test_rows_of_zeros_are_refused() -> None:
    release, _ = gaussian(InstaHide(k=2), count=10)
    blank = replace(release, encoded=replace(release.encoded, images=torch.zeros_like(release.encoded.images)))
    with pytest.raises(BadInput, match="all rows are the same"):
        run(Chen(), blank, seeded(0))


def test_no_rows_are_refused() -> None:
    with pytest.raises(BadInput, match="1 or more"):
        Chen(rows=0)


def test_neighbours_that_are_alike_are_seen() -> None:
    smooth = np.cumsum(np.random.default_rng(0).standard_normal((5, 3 * 16 * 16)), 1)
    assert neighbour_correlation(unit_rows(smooth), (3, 16, 16)) > 0.5
    assert neighbour_correlation(np.ones((5, 768)), (3, 16, 16)) == 1.0
