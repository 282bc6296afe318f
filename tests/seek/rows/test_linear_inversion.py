from dataclasses import replace

import numpy as np
import pytest
import torch

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.errors import BadInput
from hideseek.hide import Augmented, InstaHide, Laplace, Mixup, SingularizedMixup
from hideseek.records import EncodedRelease, MixingEncoder, Reason, Reconstruction, Refused, Samples
from hideseek.seek.rows.linear_inversion import LinearInversion, pixel_range
from hideseek.seek.run import run
from hideseek.seek.systems import linear_system
from hideseek.seek.systems.image_prior import prior_of
from hideseek.similarity import correlation, snr
from linear_systems import covariance_of, dense, released
from toys import images


def guessed(attack: LinearInversion, release: EncodedRelease) -> torch.Tensor:
    (claim,) = run(attack, release, seeded(0)).claims
    assert isinstance(claim, Reconstruction)
    assert claim.of == "images"
    assert claim.about.tolist() == list(range(len(release.encoded) // release.rounds))
    return claim.images


@pytest.mark.parametrize("k", [2, 3])
def test_plain_mixup_of_several_rounds_is_undone(k: int) -> None:
    private = images(40)
    guess = guessed(LinearInversion(), released(Mixup(k=k), private, rounds=5))
    assert float((guess - private.pixels()).abs().max()) < 1e-3


def test_one_round_is_undone_but_for_what_rounding_has_lost() -> None:
    """Weights of at most 0.65 keep the rings of 60 images far enough from singular."""
    private = images(60)
    guess = guessed(LinearInversion(), released(Mixup(k=2, largest=0.65), private))
    assert float((guess - private.pixels()).abs().max()) < 1e-3


def test_a_singular_ring_gives_the_shortest_answer() -> None:
    """Two rows of equal weights tell the sum of two images and nothing of their difference."""
    private = images(2)
    half = torch.full((2, 2), 0.5)
    rows = Samples(private.pixels().mean(0, keepdim=True).expand(2, -1, -1, -1).contiguous(), private.labels)
    release = EncodedRelease(rows, Mixup(), weights=half, sources=torch.tensor([[0, 1], [1, 0]]))
    assert torch.allclose(guessed(LinearInversion(), release), rows.images, atol=1e-4)


def test_adam_comes_near() -> None:
    private = normalise(load("faces"), "channel").take(slice(0, 20))
    release = released(Mixup(), private, rounds=5)
    quality = snr(private.pixels(), guessed(LinearInversion(method="adam"), release))
    assert float(quality.min()) > 15
    short = snr(private.pixels(), guessed(LinearInversion(method="adam", steps=3), release))
    assert bool((short < quality).all())


def test_adam_finds_the_least_of_its_objective() -> None:
    """Without total variation the paper's objective has a closed form: (W'W + p) X = W'Y."""
    private = images(12, stored=False)
    release = released(Mixup(), private, rounds=4)
    matrix = dense(release)
    rows = release.encoded.pixels().flatten(1).double().numpy()
    expected = np.linalg.solve(matrix.T @ matrix + 0.5 * np.eye(12), matrix.T @ rows)
    attack = LinearInversion("adam", steps=600, rate=0.02, total_variation=0.0, penalty=0.5)
    np.testing.assert_allclose(guessed(attack, release).flatten(1).numpy(), expected, atol=2e-3)


@pytest.mark.parametrize("rounds", [1, 3])
def test_exact_is_numpy_s_least_squares(rounds: int) -> None:
    private = images(30)
    release = released(SingularizedMixup(radius=5.0), private, rounds=rounds)
    rows = release.encoded.pixels().flatten(1).double().numpy()
    expected = np.linalg.lstsq(dense(release), rows)[0]
    guess = guessed(LinearInversion(), release).flatten(1).numpy()
    np.testing.assert_allclose(guess, expected, atol=1e-3 * np.abs(expected).max())


def test_blocks_of_pixels_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    release = released(Mixup(), images(20), rounds=3)
    whole = guessed(LinearInversion(), release)
    monkeypatch.setattr(linear_system, "BLOCK", 1)
    monkeypatch.setattr(linear_system, "CHUNK", 7)
    assert torch.equal(guessed(LinearInversion(), release), whole)


def test_singularized_mixup_with_little_noise_is_undone() -> None:
    private = images(40)
    guess = guessed(LinearInversion(), released(SingularizedMixup(radius=1e-3), private, rounds=2))
    assert float(snr(private.pixels(), guess).min()) > 40


@pytest.mark.parametrize("attack", [LinearInversion(), LinearInversion("adam"), LinearInversion(prior="public")])
def test_huge_noise_leaves_chance(attack: LinearInversion) -> None:
    """A correlation of 105 pixels deviates by 0.1 from none, so the mean of 200 independent ones by 0.007: within six.

    Answers from neighbouring rows are not independent, so the bound is wider than four.
    """
    private, own = images(200, stored=False), images(300, stored=False, seed=5)
    release = replace(released(SingularizedMixup(tau=1e-10), private), own=own)
    guess = guessed(attack, release)
    assert abs(float(correlation(private.pixels(), guess).mean())) < 0.042
    assert float(snr(private.pixels(), guess).mean()) < 0.1  # no better than the mean image


def test_unknown_public_images_are_noise_that_rounds_average_out() -> None:
    pictures = normalise(load("photos", size=12), "channel")
    order = seeded(3).permutation(len(pictures))
    private, public, own = (pictures.take(order[part]) for part in (slice(0, 20), slice(20, 1500), slice(1500, 2500)))
    release = released(Mixup(k=4, k_private=2), private, public, rounds=40)
    few = released(Mixup(k=4, k_private=2), private, public, rounds=4)
    truth = private.pixels()
    many_rounds, few_rounds = (float(snr(truth, guessed(LinearInversion(), r)).mean()) for r in (release, few))
    assert many_rounds > max(8.0, few_rounds + 5)
    small = replace(few, own=own)
    assert float(snr(truth, guessed(LinearInversion(prior="public"), small)).mean()) > few_rounds


SCHEMES: list[tuple[MixingEncoder, int, int]] = [
    (SingularizedMixup(radius=2.0), 1, 2),
    (SingularizedMixup(radius=2.0), 2, 2),
    (SingularizedMixup(radius=2.0), 3, 2),
    (SingularizedMixup(radius=2.0), 2, 1),  # the second image unknown
    (Laplace(scale=0.3), 1, 1),
    (Mixup(k=4, k_private=2), 2, 2),
]


@pytest.mark.parametrize(("scheme", "rounds", "known"), SCHEMES)
def test_wiener_is_the_gaussian_mean(scheme: MixingEncoder, rounds: int, known: int) -> None:
    """E[X | Y] = M + Σ_X A' (A Σ_X A' + Σ_E)⁻¹ (Y − A M − unknown means), all pixels of all images in one vector."""
    private, public = (images(count, 2, 2, 3, stored=False, seed=count) for count in (6, 9))
    own = images(50, 2, 2, 3, stored=False, seed=7)
    own = replace(own, images=own.images.cumsum(3) + 0.5)  # neighbours are alike, and the mean is not zero
    release = replace(released(scheme, private, public, rounds), own=own)
    assert release.sources is not None
    release = replace(release, sources=release.sources[:, :known])
    assert release.weights is not None
    prior, pixels = prior_of(own), 12
    covariance = covariance_of(prior)
    matrix, weights = dense(release), release.weights.double().numpy()
    noise = np.zeros((pixels, pixels))
    factors = np.sqrt((weights[:, known:] ** 2).sum(1)) if known < weights.shape[1] else np.ones(len(weights))
    if known < weights.shape[1]:
        noise += covariance
    if isinstance(scheme, SingularizedMixup):
        factors, noise = weights[:, 1], noise + np.eye(pixels) * 2.0**2 / pixels
    if isinstance(scheme, Laplace):
        noise = np.eye(pixels) * 2 * 0.3**2
    total = np.kron(matrix @ matrix.T, covariance) + np.kron(np.diag(factors**2), noise)
    rows = release.encoded.pixels().flatten(1).double().numpy() - np.outer(weights.sum(1), prior.mean)
    gain = np.kron(matrix.T, covariance) @ np.linalg.inv(total)
    expected = prior.mean + (gain @ rows.ravel()).reshape(6, pixels)
    guess = guessed(LinearInversion(prior="public"), release).flatten(1).numpy()
    np.testing.assert_allclose(guess, expected, atol=1e-4)


def test_wiener_undoes_what_has_no_noise() -> None:
    private, own = images(40, stored=False), images(60, stored=False, seed=1)
    release = replace(released(Mixup(k=3), private, rounds=2), own=own)
    assert float((guessed(LinearInversion(prior="public"), release) - private.pixels()).abs().max()) < 1e-3


@pytest.mark.parametrize("tau", [1.0, 1e-2, 1e-4])
def test_wiener_beats_least_squares_and_the_mean(tau: float) -> None:
    """On faces, seed 1; the attacker's own are other faces."""
    faces = normalise(load("faces"), "channel")
    order = seeded(2).permutation(len(faces))
    private, own = faces.take(order[:60]), faces.take(order[60:])
    release = replace(released(SingularizedMixup(tau=tau), private), own=own)
    truth = private.pixels()
    best, plain = (guessed(LinearInversion(prior=prior), release) for prior in ("public", "none"))
    baseline = snr(truth, own.pixels().mean(0, keepdim=True).expand_as(truth))
    assert float(snr(truth, best).mean()) > float(snr(truth, plain).mean())
    assert float(snr(truth, best).mean()) > float(baseline.mean()) + (1 if tau > 1e-3 else -0.2)


def test_answers_stay_in_the_range_of_pixels() -> None:
    faces = normalise(load("faces"), "channel").take(slice(0, 30))
    limits = pixel_range(faces)
    assert limits is not None
    low, high = (float(limit) for limit in limits)
    raw = load("faces").take(slice(0, 30)).pixels()
    scaled = (raw - faces.normalisation.mean[0]) / faces.normalisation.std[0]
    assert low <= float(scaled.min()) < float(scaled.max()) <= high
    assert low * faces.normalisation.std[0] + faces.normalisation.mean[0] == pytest.approx(0, abs=1e-6)
    for method in ("adam", "exact"):
        guess = guessed(LinearInversion(method), released(SingularizedMixup(tau=1e-4), faces))
        assert low == pytest.approx(float(guess.min()))
        assert high == pytest.approx(float(guess.max()))
    assert pixel_range(normalise(load("faces"), "image")) is None


def test_what_cannot_be_solved_is_refused() -> None:
    private = images(10)
    release, masked = released(Mixup(), private), released(InstaHide(), private)
    assert release.sources is not None
    plain, optimum = LinearInversion(), LinearInversion(prior="public")
    for attack, attacked, reason in (
        (plain, Mixup().hide(private, None, seeded(0))[0], Reason.MISSING_FIELDS),
        (plain, masked, Reason.MASKED),
        (plain, released(Augmented(Mixup()), private), Reason.NOT_LINEAR),
        (plain, replace(release, sources=release.sources[:5]), Reason.INCOMPLETE_SOURCES),
        (optimum, release, Reason.NO_OWN_IMAGES),
        (optimum, replace(release, own=private.take(slice(0, 1))), Reason.TOO_FEW_OWN_IMAGES),
        (optimum, replace(release, own=normalise(images(10, height=8), "image")), Reason.UNSUITED_OWN_IMAGES),
    ):
        with pytest.raises(Refused) as error:
            run(attack, attacked, seeded(0))
        assert error.value.refusal.reason is reason
    with pytest.raises(BadInput, match="among 10 images"):
        run(plain, replace(release, sources=release.sources + 1), seeded(0))
    with pytest.raises(BadInput, match="penalties in place of a prior"):
        LinearInversion("adam", "public")
    with pytest.raises(BadInput, match="one step or more"):
        LinearInversion(steps=0)


def test_weights_are_read_from_labels_where_these_show_them() -> None:
    """Where all classes differ the answer is that of known weights; where none do, expected weights still tell much."""
    faces = normalise(load("faces", size=12), "channel")
    private, own = faces.take(slice(0, 40)), faces.take(slice(40, None))
    attack, given = LinearInversion(prior="public", weights="labels"), LinearInversion(prior="public")
    assert attack.needs == ("sources",)
    truth, scores = private.pixels(), {}
    for classes in (40, 1):
        labelled = replace(private, labels=torch.eye(classes)[torch.arange(40) % classes], classes=())
        known = replace(released(SingularizedMixup(radius=3.0), labelled, rounds=3), own=own)
        evidence = run(attack, replace(known, weights=None), seeded(0))
        (claim,) = evidence.claims
        assert isinstance(claim, Reconstruction)
        best = guessed(given, known)
        scores[classes] = float(snr(truth, claim.images).mean()), float(snr(truth, best).mean())
        assert evidence.remarks["share of weights that labels show"] == (1.0 if classes == 40 else 0.0)
        if classes == 40:
            assert torch.allclose(claim.images, best, atol=1e-4)
    mean = float(snr(truth, own.pixels().mean(0, keepdim=True).expand_as(truth)).mean())
    assert mean + 1 < scores[1][0] < scores[1][1]
