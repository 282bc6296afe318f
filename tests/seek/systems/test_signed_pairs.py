import numpy as np
import pytest

from hideseek.chance import seeded
from hideseek.seek.systems.exact_sets import exact_set
from hideseek.seek.systems.pair_votes import BIN
from hideseek.seek.systems.robust_weights import robust_weights
from hideseek.seek.systems.signed_pairs import SURE, byte_steps, exact_pair, signed_pairs, support
from hideseek.seek.systems.split_votes import split_votes
from masked_rows import SCALE, mixed, smooth


def test_the_exact_weight_of_two_images_is_found_and_wrong_images_have_none() -> None:
    row, weights, public, _ = mixed(2)
    pairs = signed_pairs(row, byte_steps(weights[:2], SCALE), float(SCALE.max()))
    table = np.zeros(int(1 / BIN) + 2, np.uint8)
    one, two = (pairs.of(image) for image in public)
    found = exact_pair(pairs, one, two, float(weights[2:].sum()), table)
    assert found.weight == pytest.approx(weights[2], abs=1e-7)
    assert found.support > 10 * SURE
    assert not table.any()
    generator = np.random.default_rng(1)
    for _ in range(20):
        wrong = pairs.of((generator.integers(0, 256, row.size) * 0.016 - 2).astype(np.float32))
        assert exact_pair(pairs, one, wrong, float(weights[2:].sum()), table).support < SURE


def test_support_counts_what_a_few_lines_count() -> None:
    row, weights, public, _ = mixed(2, 3)
    pairs = signed_pairs(row, byte_steps(weights[:2], SCALE), float(SCALE.max()))
    differences = np.stack([pairs.of(image) for image in public])
    wanted = weights[2:] @ differences
    counts = np.zeros(2, int)
    for value in (pairs.one - pairs.two, pairs.two - pairs.one, pairs.one + pairs.two, -pairs.one - pairs.two):
        exact = np.abs(value[:, None] - pairs.steps[pairs.channel] - wanted[:, None]) < pairs.near
        counts += ((np.abs(differences) > 3.5 * pairs.byte)[:, :, None] & exact).sum((1, 2))
    assert support(pairs, differences, weights[2:]) == counts.min() > SURE


def test_weights_of_four_images_are_nearly_right_then_exact_from_guesses_that_are_near() -> None:
    row, weights, public, _ = mixed(4, 5)
    pairs = signed_pairs(row, byte_steps(weights[:2], SCALE), float(SCALE.max()))
    differences = np.stack([pairs.of(image) for image in public])
    mass = float(weights[2:].sum())
    guess = weights[2:] + np.array([0.03, -0.03, 0.02, -0.02])
    nearly = robust_weights(pairs, differences, guess, mass)
    assert np.abs(nearly.weights - weights[2:]).max() < 0.005
    assert nearly.weights.sum() == pytest.approx(mass)
    np.testing.assert_allclose(nearly.values - nearly.weights @ differences, nearly.errors)
    found, sure = exact_set(pairs, differences, nearly, mass, seeded(0))
    np.testing.assert_allclose(found, weights[2:], atol=1e-6)
    assert sure >= SURE
    others = np.random.default_rng(6).integers(0, 256, public.shape).astype(np.float32) * 0.016
    wrong = np.stack([pairs.of(image) for image in others])
    fit = robust_weights(pairs, wrong, guess, mass)
    assert fit.scale > 2 * nearly.scale
    assert exact_set(pairs, wrong, fit, mass, seeded(0))[1] < SURE


def test_a_step_of_robust_weights_is_weighted_least_squares() -> None:
    row, weights, public, _ = mixed(3, 7)
    pairs = signed_pairs(row, byte_steps(weights[:2], SCALE), float(SCALE.max()))
    differences = np.stack([pairs.of(image) for image in public])
    guess, mass = np.full(3, weights[2:].sum() / 3), float(weights[2:].sum())
    signed = np.stack([s * pairs.one + t * pairs.two for s in (-1, 1) for t in (-1, 1)]) - guess @ differences
    errors = np.take_along_axis(signed, np.abs(signed).argmin(0)[None], 0)[0]
    trust = 1 / (1 + (errors / np.median(np.abs(errors))) ** 2)
    reduced = differences[:2] - differences[2]
    step = np.linalg.lstsq((reduced * np.sqrt(trust)).T, errors * np.sqrt(trust), rcond=None)[0]
    once = robust_weights(pairs, differences, guess, mass, (1.0,))
    np.testing.assert_allclose(once.weights[:2], guess[:2] + step, rtol=1e-5)


def test_a_sum_of_two_weights_is_split() -> None:
    generator = np.random.default_rng(2)
    images = smooth(generator, 2)
    mixture = 0.3712345 * images[0] + 0.1298765 * images[1]
    differences = np.diff(mixture, axis=2).ravel() + generator.normal(0, 2e-6, 3 * 32 * 31)
    assert min(abs(weight - 0.1298765) for weight in split_votes(differences, 0.501111)) < 1e-6
