import numpy as np
import torch

from hideseek.chance import seeded
from hideseek.hide import InstaHide
from hideseek.seek.signals.masked_beam import follow, roughness, start
from hideseek.seek.signals.masked_pursuit import MaskedPursuit
from hideseek.seek.signals.public_sets import Found
from hideseek.seek.signals.soft_signs import soft_signs
from releases import photos


def test_signs_of_a_masked_row_are_those_of_what_is_known_and_smoothed() -> None:
    private, public = photos("channel")
    known, rest = 0.7 * public.pixels(slice(0, 20)), 0.3 * private.pixels(slice(0, 20))
    mixture = known + rest
    signs, _ = soft_signs(mixture.abs(), known)
    plain = (known.sign() == mixture.sign()).float().mean()
    assert (signs.sign() == mixture.sign()).float().mean() > plain > 0.8
    assert signs.abs().max() <= 1


def test_without_steps_signs_are_the_hyperbolic_tangent_of_the_equation() -> None:
    generator = np.random.default_rng(0)
    row, known = np.abs(generator.normal(size=(1, 1, 4, 4))), 0.3 * generator.normal(size=(1, 1, 4, 4))
    left = (row**2).mean() - (known**2).mean()
    signs, rest = soft_signs(torch.from_numpy(row), torch.from_numpy(known), steps=0)
    np.testing.assert_allclose(signs.numpy(), np.tanh(row * known / left), rtol=1e-6)
    assert not rest.any()


def test_weights_are_fitted_to_squares() -> None:
    private, public = photos("channel")
    release, secret = InstaHide(k=3, k_private=1).hide(private, public, seeded(1))
    rows = release.encoded.pixels().abs()
    found = MaskedPursuit(rows, public, 4, seeded(2)).fit(rows, secret.public_sources, torch.empty(len(rows), 0))
    truth = secret.weights[:, 1:]
    assert (found.weights - truth).abs().median() < 0.6 * (truth - truth.mean()).abs().median()


def test_a_beam_finds_more_than_squares_alone_and_no_set_twice() -> None:
    private, public = photos("channel")
    release, secret = InstaHide(k=4, k_private=2).hide(private, public, seeded(1))
    rows = release.encoded.pixels().abs()
    pursuit = MaskedPursuit(rows, public, 4, seeded(2))
    alone = pursuit.first(rows, 2)[1]
    beams = follow(pursuit, rows, start(pursuit, rows, 6), 6)

    def hits(places: torch.Tensor) -> float:
        return float((places[:, :, None] == secret.public_sources[:, None]).any(2).float().mean())

    assert hits(beams.places[:, 0]) > hits(alone) > 0.4
    assert all(len({tuple(sorted(each)) for each in row.tolist()}) == len(row) for row in beams.places)
    assert (beams.scores.diff(dim=1) <= 0).all()


def test_right_images_leave_a_smoother_rest() -> None:
    private, public = photos("channel")
    release, secret = InstaHide(k=4, k_private=2).hide(private, public, seeded(1))
    rows = release.encoded.pixels().abs()
    right = Found(secret.public_sources, secret.weights[:, 2:])
    wrong = Found((secret.public_sources + 7) % len(public), secret.weights[:, 2:])
    assert (roughness(rows, right.sum(public)) < roughness(rows, wrong.sum(public))).float().mean() > 0.85
