import itertools

import numpy as np
import torch
from scipy.fft import dct
from scipy.ndimage import label
from torch.nn.functional import cosine_similarity

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide import InstaHide
from hideseek.seek.systems.basin_kernel import anneal, basin_energies
from hideseek.seek.systems.crossing_kernel import crossed, regions
from hideseek.seek.systems.masked_spectrum import masked_spectrum, precision
from hideseek.seek.systems.smooth_signs import restored


def test_energies_of_basins_are_those_of_their_pixels() -> None:
    some = np.random.default_rng(0)
    row, root = some.normal(size=12).astype(np.float32), some.normal(size=(12, 12)).astype(np.float32)
    precision, labels = root @ root.T, some.integers(0, 4, 12).astype(np.int32)
    energies = basin_energies(row, precision, labels, 4)
    for signs in itertools.product((-1, 1), repeat=4):
        turned = row * np.array(signs, np.float32)[labels]
        np.testing.assert_allclose(signs @ energies @ signs, turned @ precision @ turned, rtol=1e-3)


def test_annealing_finds_the_signs_of_least_energy() -> None:
    some = np.random.default_rng(1)
    for _ in range(5):
        root = some.normal(size=(10, 14))
        energies = (root @ root.T).astype(np.float32)
        tries = some.choice([-1, 1], (10, 10)).astype(np.float32)
        for signs in tries:
            anneal(energies, signs, 60)
        found = min(tries, key=lambda each: each @ energies @ each)
        least = min(np.array(signs) @ energies @ signs for signs in itertools.product((-1, 1), repeat=10))
        np.testing.assert_allclose(found @ energies @ found, least, rtol=1e-3)


def test_regions_are_those_of_scipy() -> None:
    differ = np.random.default_rng(2).random((3, 7, 9)) < 0.4
    found = np.empty(differ.size, np.int32)
    wanted, count = label(differ)
    assert regions(differ.ravel(), differ.shape, found) == count
    pairs = set(zip(found.tolist(), wanted.ravel().tolist(), strict=True))
    assert len(pairs) == count + 1  # one for each region, and what does not differ
    assert (-1, 0) in pairs


def test_guesses_that_are_wrong_in_different_regions_are_crossed_to_one_that_is_right() -> None:
    places = np.arange(10)
    near = 0.8 ** np.abs(places[:, None] - places)
    covariance = np.kron(near, near)
    some = np.random.default_rng(3)
    truth = (np.linalg.cholesky(covariance) @ some.normal(size=100)).astype(np.float32)
    inverse = np.linalg.inv(covariance).astype(np.float32)
    left, right, below = (np.ones((10, 10), np.float32) for _ in range(3))
    left[:, :3], right[:, 7:], below[6:, 4:6] = -1, -1, -1
    guesses = np.stack([truth * each.ravel() for each in (left, right, below)])
    found = guesses[crossed(guesses, guesses @ inverse, inverse, (1, 10, 10))]
    assert found @ inverse @ found <= truth @ inverse @ truth * (1 + 1e-4)
    assert np.allclose(np.abs(found), np.abs(truth))


def test_a_row_of_photographs_loses_its_mask() -> None:
    private = normalise(load("faces").take(slice(0, 100)), "channel")
    release, secret = InstaHide(k=4).hide(private, None, seeded(3), 5)
    magnitudes = release.encoded.pixels().abs()
    found = restored(magnitudes, seeded(0))
    torch.testing.assert_close(found.abs(), magnitudes.flatten(1))
    truth = (secret.weights[:, :, None] * private.pixels().flatten(1)[secret.sources]).sum(1)
    assert float(cosine_similarity(found, truth).abs().median()) > 0.6  # of independent signs: 0.03


def test_a_row_of_noise_keeps_its_mask() -> None:
    truth = seeded(5).normals(300, 625)
    found = restored(truth.abs().view(300, 1, 25, 25), seeded(0))
    assert float(cosine_similarity(found, truth).abs().median()) < 0.1


def test_squares_tell_the_covariance_of_what_is_masked() -> None:
    places = torch.arange(6.0)
    near = 0.6 ** (places[:, None] - places).abs()
    covariance = torch.kron(near, near)
    rows = seeded(0).normals(20_000, 36) @ torch.linalg.cholesky(covariance).T
    found = masked_spectrum(rows.abs().view(-1, 1, 6, 6))
    basis = np.kron(dct(np.eye(6), norm="ortho", axis=0), dct(np.eye(6), norm="ortho", axis=0))
    power = (basis @ covariance.numpy() * basis).sum(1)
    ratios = found.deviations.square().flatten().numpy() / power
    assert abs(np.median(ratios) - 1) < 0.03
    assert np.abs(ratios - 1).mean() < 0.1
    inverse = basis.T / found.deviations.square().flatten().numpy() @ basis
    np.testing.assert_allclose(precision(found).numpy(), inverse, atol=1e-3)
