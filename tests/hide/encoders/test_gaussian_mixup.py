"""Rows of the scheme with a proof against its equation, and what it refuses."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

import toys
from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide import Augmented, Coarse, GaussianMixup, SingularizedMixup
from hideseek.hide.encoders.guarantee import image_mus
from hideseek.hide.files.release_files import read_release, write_release
from hideseek.hide.mixing.clipping import image_factors
from hideseek.hide.mixing.secret_sets import allocated_sets, poisson_sets
from hideseek.hide.privacy import allocation, sampled
from hideseek.hide.privacy.gaussian import gaussian_mu
from hideseek.learn.closed_form import class_means
from hideseek.records import EncodedRelease, Samples
from hideseek.records.mixing_secret import MixingSecret

ERROR = 1e-6
IMAGES = toys.images(60, stored=False)


def rest(
    scheme: GaussianMixup, private: Samples, rounds: int = 1, seed: int = 0
) -> tuple[EncodedRelease, MixingSecret, np.ndarray, np.ndarray]:
    """Hide, and take what the equation says from the rows and labels, an image at a time: the noise is left."""
    release, secret = scheme.hide(private, None, seeded(seed), rounds)
    filled = release.scheme
    assert isinstance(filled, GaussianMixup)
    assert filled.clip is not None
    pixels, labels = (each.double().numpy() for each in (private.pixels().flatten(1), private.labels))
    rows, shown = (each.double().numpy() for each in (release.encoded.images.flatten(1), release.encoded.labels))
    for r, c in np.ndindex(*secret.sources.shape):
        if secret.weights[r, c] > 0:
            x, y = pixels[secret.sources[r, c]], labels[secret.sources[r, c]]
            rows[r] -= x * min(1.0, filled.clip / np.linalg.norm(x)) / filled.m
            shown[r] -= y / filled.m
    return release, secret, rows, shown


@pytest.mark.parametrize("proof", ["known-mix", "poisson", "allocation"])
def test_rows_and_labels_are_the_equation_under_gaussian_noise(proof: str) -> None:
    """Clipped at a length that half of the images exceed, divided by m whatever was drawn."""
    scheme = GaussianMixup(m=3, clip=10.2, sigma=0.5, balance=3.0, proof=proof, delta=1e-3)  # type: ignore[arg-type]
    if proof != "known-mix":
        pytest.importorskip("dp_accounting")
        scheme = replace(scheme, sigma=8.0)
    assert 0.2 < float((IMAGES.images.flatten(1).norm(dim=1) > 10.2).float().mean()) < 0.8
    release, _, rows, labels = rest(scheme, IMAGES)
    assert isinstance(release.scheme, GaussianMixup)
    sigma = scheme.sigma or 0.0
    assert release.scheme.label_sigma == pytest.approx(3 * sigma / 10.2)
    assert stats.kstest(rows.ravel(), stats.norm(scale=sigma).cdf).pvalue > ERROR
    assert stats.kstest(labels.ravel(), stats.norm(scale=3 * sigma / 10.2).cdf).pvalue > ERROR


def test_clipped_images_are_not_longer_than_the_clip() -> None:
    lengths = (image_factors(IMAGES, 9.0)[:, None] * IMAGES.images.flatten(1)).double().norm(dim=1)
    assert float(lengths.max()) <= 9.0
    assert float(lengths.max()) > 9.0 * (1 - 1e-5)
    assert torch.isfinite(image_factors(Samples(torch.zeros(2, 1, 1, 1), torch.empty(2, 0)), 1.0)).all()


@pytest.mark.parametrize("rounds", [1, 3])
def test_noise_follows_from_epsilon_delta_and_rounds(rounds: int) -> None:
    """μ_i = ‖W_i‖ √(Cx²/σx² + Cy²/σy²) over the columns of the mix, as they were drawn."""
    scheme = GaussianMixup(m=4, epsilon=3.0, balance=2.0)
    release, secret = scheme.hide(IMAGES, None, seeded(0), rounds)
    filled = release.scheme
    assert isinstance(filled, GaussianMixup)
    assert (filled.epsilon, filled.accounted, filled.among) == (3.0, rounds, 60)
    assert filled.clip == pytest.approx(math.sqrt(105))
    clip, sigma, label_sigma = (value or 0.0 for value in (filled.clip, filled.sigma, filled.label_sigma))
    table = np.zeros((60 * rounds, 60))
    np.put_along_axis(table, secret.sources.numpy(), 1 / 4, 1)
    mus = np.linalg.norm(table, axis=0) * math.hypot(clip / sigma, 1 / label_sigma)
    np.testing.assert_allclose(mus, gaussian_mu(3.0, 1e-5), rtol=1e-6)
    ratio = sigma / clip / label_sigma
    assert ratio == pytest.approx(math.sqrt((1 + 1 / 4) / (1 + 4)))


def test_epsilon_follows_from_noise_that_is_given() -> None:
    release, _ = GaussianMixup(m=4, clip=2.0, sigma=3.0).hide(IMAGES, None, seeded(0))
    assert isinstance(release.scheme, GaussianMixup)
    mu = math.sqrt(4) / 4 * math.hypot(2 / 3, 1 / 1.5)
    assert gaussian_mu(release.scheme.epsilon, 1e-5) == pytest.approx(mu, rel=1e-6)
    again, _ = release.scheme.hide(toys.images(60, stored=False, seed=3), None, seeded(1))
    assert again.scheme == release.scheme


def test_images_without_labels_are_hidden_too() -> None:
    bare = Samples(IMAGES.images, torch.empty(60, 0))
    release, secret = GaussianMixup(epsilon=3.0).hide(bare, None, seeded(0))
    assert release.encoded.labels.shape == (60, 0)
    names = [each.name for each in release.scheme.effective(release, secret, seeded(1))]
    assert names == ["noise", "epsilon", "mu"]


def test_poisson_sets_hold_every_image_independently() -> None:
    sources, inside = poisson_sets(2000, 6, seeded(1))
    sizes = inside.sum(1).numpy().astype(int)
    observed = np.bincount(sizes.clip(0, 12), minlength=13)
    expected = 2000 * np.append(stats.binom.pmf(np.arange(12), 2000, 0.003), stats.binom.sf(11, 2000, 0.003))
    assert stats.chisquare(observed[1:], expected[1:] * observed[1:].sum() / expected[1:].sum()).pvalue > ERROR
    kept = [row[there.bool()].tolist() for row, there in zip(sources, inside, strict=True)]
    assert all(len(set(row)) == len(row) for row in kept)
    uses = np.bincount(np.concatenate([np.array(row, int) for row in kept]), minlength=2000)
    assert stats.chisquare(uses.reshape(5, 400).sum(1)).pvalue > ERROR
    assert abs(uses.var() / 6 - 1) < 0.2  # binomial, not fixed


def test_allocated_sets_hold_every_image_equally_often() -> None:
    sources, inside = allocated_sets(300, 4, seeded(2))
    uses = np.bincount(sources[inside.bool()].numpy(), minlength=300)
    assert (uses == 4).all()
    rows = [set(row[there.bool()].tolist()) for row, there in zip(sources, inside, strict=True)]
    assert sum(map(len, rows)) == 1200
    assert len(set(map(len, rows))) > 3


def test_rounds_of_secret_sets_are_joined() -> None:
    pytest.importorskip("dp_accounting")
    scheme = GaussianMixup(m=2, proof="poisson", sigma=20.0, clip=1.0, delta=1e-3)
    release, secret, rows, _ = rest(scheme, IMAGES, rounds=3)
    assert len(release.encoded) == len(secret.sources) == 180
    assert rows.std() == pytest.approx(20.0, rel=0.03)


def test_it_measures_what_its_rows_come_to() -> None:
    release, secret = GaussianMixup(epsilon=3.0, clip=10.2).hide(IMAGES, None, seeded(0))
    scheme = release.scheme
    assert isinstance(scheme, GaussianMixup)
    found = {each.name: each for each in scheme.effective(release, secret, seeded(1))}
    assert found["noise"].effective == pytest.approx(found["noise"].stated, rel=0.03)
    assert found["epsilon"].effective == pytest.approx(3.0, rel=0.2)
    assert found["mu"].effective <= found["mu"].stated == pytest.approx(gaussian_mu(3.0, 1e-5))
    mus = image_mus(IMAGES, secret, 4, (10.2, 1.0), (scheme.sigma or 1, scheme.label_sigma or 1))
    length = min(10.2, float(IMAGES.images[7].norm()))
    assert float(mus[7]) == pytest.approx(
        0.5 * math.hypot(length / (scheme.sigma or 1), 1 / (scheme.label_sigma or 1)), rel=1e-5
    )
    half = replace(release, encoded=replace(release.encoded, images=release.encoded.images / 2))
    assert next(each for each in scheme.effective(half, secret, seeded(1)) if each.name == "epsilon").effective > 4


def test_the_release_states_what_is_proved(tmp_path: Path) -> None:
    write_release(GaussianMixup(epsilon=3.0), toys.named(), None, seeded(0), tmp_path / "out", rounds=2)
    about = json.loads((tmp_path / "out" / "release.json").read_text())
    values = {each["quantity"].partition(",")[0]: each["value"] for each in about["proved"]}
    assert values["ε at δ = 1e-05"] == pytest.approx(6.707)  # the second: of an image that is replaced
    assert about["proved"][0]["value"] == 3.0
    assert values["μ of every image"] == pytest.approx(0.7192)
    assert values["the TPR of any test for membership"] == pytest.approx(0.05401)
    assert "channel statistics" in about["proved"][0]["limits"]
    assert "extractor" in about["proved"][0]["limits"]
    assert about["scheme"]["accounted"] == 2
    assert read_release(tmp_path / "out").encoded.labels.min() < 0  # noise is no damage here
    release = tmp_path / "out" / "release.json"
    release.write_text(json.dumps({**about, "proved": [{"theorem": "mine"}]}))
    with pytest.raises(BadInput, match="does not describe"):
        read_release(tmp_path / "out")


def test_class_means_are_learnt_from_noisy_rows() -> None:
    private = toys.patterns(3000, side=4)
    release, _ = GaussianMixup(epsilon=8.0).hide(private, None, seeded(0))
    trained = class_means([release])
    asked = toys.patterns(300, side=4, seed=5)
    with torch.no_grad():
        found = trained.network(asked.images).argmax(1)
    assert float((found == asked.labels.argmax(1)).float().mean()) > 0.6  # by chance 0.33


def test_queries_hold_no_training_image() -> None:
    """What is asked is the query alone under noise: the mean of many of its encodings is the query, over m."""
    scheme = GaussianMixup(m=4, clip=100.0, sigma=0.2)
    encode = scheme.queries(IMAGES, None, seeded(0))
    asked = toys.images(3, stored=False, seed=8)
    mean = torch.stack([encode(asked).images for _ in range(50)]).mean(0)
    torch.testing.assert_close(mean, asked.images / 4, atol=0.16, rtol=0)


def hidden(**settings: Any) -> Callable[[], object]:
    return lambda: GaussianMixup(**settings).hide(IMAGES, None, seeded(0))


BAD: list[tuple[Callable[[], object], str]] = [
    (hidden(epsilon=0.0), "epsilon must be positive"),
    (hidden(epsilon=math.inf), "epsilon must be positive"),
    (hidden(delta=0.0), "delta must be between"),
    (hidden(delta=1.0), "delta must be between"),
    (hidden(delta=1 / 60), "smaller than 1 / images"),
    (hidden(epsilon=1e-300, delta=1e-300), "does not fit 32-bit numbers|noise"),
    (hidden(m=0), "one image or more"),
    (hidden(m=61), "m = 61 images cannot differ"),
    (hidden(clip=0.0), "clip must be positive"),
    (hidden(balance=math.inf), "balance must be positive"),
    (hidden(sigma=1e39), "does not fit 32-bit numbers"),
    (hidden(balance=0.0), "balance must be positive"),  # labels would be without noise
    (hidden(sigma=1e-6, proof="poisson", clip=10.0), "beyond what the proof poisson"),
    (lambda: GaussianMixup(accounted=2).hide(IMAGES, None, seeded(0), 3), "made for 2 rounds"),
    (lambda: GaussianMixup().hide(IMAGES.take(slice(0, 1)), None, seeded(0)), "at least two images"),
    (lambda: Augmented(GaussianMixup()), "may be longer than the proof"),
    (lambda: Coarse(GaussianMixup(), "drawn"), "shared as they are"),
    (lambda: SingularizedMixup(alpha=0.5), "alpha must be"),
    (lambda: SingularizedMixup(alpha=1.0), "alpha must be"),
    (lambda: SingularizedMixup(tau=0.0), "tau must be"),
    (lambda: SingularizedMixup(tau=-1.0), "tau must be"),
    (lambda: SingularizedMixup(alpha=0.65, tau=3.5), "tau must be"),
]


@pytest.mark.parametrize(("make", "sentence"), BAD, ids=range(len(BAD)))
def test_what_cannot_be_is_one_sentence(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        make()


def test_equal_images_are_hidden_as_others_are() -> None:
    same = Samples(torch.ones(20, 1, 2, 2), torch.eye(2)[torch.arange(20) % 2])
    release, _ = GaussianMixup(epsilon=3.0).hide(same, None, seeded(0))
    assert release.encoded.images.isfinite().all()


@pytest.mark.parametrize(
    ("proof", "given", "sentence"),
    [
        ("poisson", ("sources",), "nobody knows which images"),
        ("allocation", ("weights",), "nobody knows which images"),
        ("known-mix", ("sources", "weights"), "sources alone"),
    ],
)
def test_a_mix_that_leaks_is_not_counted_on(proof: str, given: Any, sentence: str, tmp_path: Path) -> None:
    scheme = GaussianMixup(proof=proof)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match=sentence):
        write_release(Coarse(scheme), IMAGES, None, seeded(0), tmp_path / "out", give_away=given)
    assert not (tmp_path / "out").exists()


def test_a_known_mix_may_be_given_away(tmp_path: Path) -> None:
    write_release(GaussianMixup(), IMAGES, None, seeded(0), tmp_path / "out", give_away=("sources",))
    assert read_release(tmp_path / "out").sources is not None


@pytest.mark.parametrize(("module", "name"), [(sampled, "dp_accounting.pld"), (allocation, "PLD_accounting")])
def test_what_is_not_installed_is_named(module: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, name, None)
    with pytest.raises(BadInput, match=r"hideseek\[dp\]"):
        module._library()


def test_who_is_outside_the_proof_is_said() -> None:
    (said,) = GaussianMixup(proof="poisson").known(1, labelled=True, of_bytes=True)
    assert "informed" in said.statement
    ((change, scheme, rounds),) = GaussianMixup(epsilon=8.0).stronger(5)
    assert (change.parameter, change.after, rounds) == ("epsilon", 2.0, 5)
    assert scheme == GaussianMixup(epsilon=2.0)
