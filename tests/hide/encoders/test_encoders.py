"""Every scheme against its equations, one row at a time in NumPy, and against its distribution."""

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

import toys
from hideseek.chance import secure, seeded
from hideseek.errors import BadInput
from hideseek.hide import (
    ENCODERS,
    Augmented,
    Geometry,
    InstaHide,
    Laplace,
    Mixup,
    PairInstaHide,
    SingularizedMixup,
)
from hideseek.records import MixingEncoder, Samples

ERROR = 1e-6
NOISY = ("laplace", "singularized-mixup", "gaussian-mixup")
NOISELESS = {name: scheme for name, scheme in ENCODERS.items() if name not in NOISY}
ALL = {**ENCODERS, "augmented": Augmented(ENCODERS["instahide-cross"]), "augmented laplace": Augmented(Laplace())}


@pytest.mark.parametrize("stored", [True, False], ids=["bytes", "floats"])
@pytest.mark.parametrize("name", NOISELESS)
def test_rows_are_what_the_equation_says(name: str, stored: bool) -> None:
    private, public = toys.images(23, stored=stored), toys.images(11, stored=not stored, seed=1)
    release, secret = NOISELESS[name].hide(private, public, seeded(1))
    rows, labels = toys.mixture(secret, public)
    np.testing.assert_allclose(release.encoded.images.numpy(), rows, atol=2e-6)
    np.testing.assert_allclose(release.encoded.labels.numpy(), labels, atol=1e-6)


@pytest.mark.parametrize("name", ALL)
def test_every_image_is_encoded_once_in_a_fresh_order(name: str) -> None:
    private, public = toys.images(40), toys.images(15, seed=1)
    orders = []
    for _ in range(2):
        release, secret = ALL[name].hide(private, public, secure())
        assert len(release.encoded) == 40
        assert sorted(secret.sources[:, 0].tolist()) == list(range(40))
        orders.append(secret.sources[:, 0].tolist())
    assert orders[0] != list(range(40))
    assert orders[0] != orders[1]


@pytest.mark.parametrize("name", ALL)
def test_sources_differ_and_each_image_is_used_equally_often(name: str) -> None:
    private, public = toys.images(17), toys.images(9, seed=1)
    _, secret = ALL[name].hide(private, public, seeded(2))
    for sources in (secret.sources, secret.public_sources):
        assert (sources.sort(dim=1).values.diff(dim=1) != 0).all()
    uses = torch.bincount(secret.sources.flatten(), minlength=17)
    assert (uses == secret.sources.shape[1]).all()


@pytest.mark.parametrize("name", ALL)
def test_a_call_uses_fresh_keys_and_a_seed_repeats_them(name: str) -> None:
    private, public = toys.images(12), toys.images(9, seed=1)
    first, again, other = (ALL[name].hide(private, public, chance)[0] for chance in (seeded(3), seeded(3), seeded(4)))
    assert torch.equal(first.encoded.images, again.encoded.images)
    assert not torch.equal(first.encoded.images, other.encoded.images)
    assert first.seed == 3
    assert first.reproducible
    assert not ALL[name].hide(private, public, secure())[0].reproducible


@pytest.mark.parametrize("name", ["instahide-inside", "instahide-cross", "instahide-pair", "intra-instahide-6"])
def test_masks_are_fair_and_independent(name: str) -> None:
    private, public = toys.images(60, height=16, width=16), toys.images(30, height=16, width=16, seed=1)
    signs = ALL[name].hide(private, public, seeded(5))[1].signs().double()
    count = signs.numel()
    neighbours = [signs[1:] * signs[:-1], signs[:, 1:] * signs[:, :-1], signs[..., 1:] * signs[..., :-1]]
    for product in (signs, *neighbours):
        assert stats.binomtest(int((product > 0).sum()), product.numel()).pvalue > ERROR
    assert count == 60 * 3 * 256


def tensors(record: Any) -> Iterator[torch.Tensor]:
    """All tensors that can be reached from a record."""
    if isinstance(record, torch.Tensor):
        yield record
    elif dataclasses.is_dataclass(record):
        for field in dataclasses.fields(record):
            yield from tensors(getattr(record, field.name))


@pytest.mark.parametrize("name", ALL)
def test_a_release_shares_neither_memory_nor_content_with_the_secret(name: str) -> None:
    private, public = toys.images(20, classes=20), toys.images(9, seed=1)
    release, secret = ALL[name].hide(private, public, secure())
    shared = [tensor for tensor in tensors(release) if not any(tensor is own for own in tensors(public))]
    assert shared
    hidden = [tensor for tensor in tensors(secret) if tensor.numel()]
    assert len(hidden) >= 6
    defaults = list(tensors(Samples(torch.zeros(1, 1, 1, 1), torch.zeros(1, 1))))
    for tensor in shared:
        if any(torch.equal(tensor, default) for default in defaults):
            continue  # scale 1 and shift 0 are in every record
        for other in hidden:
            assert tensor.untyped_storage().data_ptr() != other.untyped_storage().data_ptr()
            assert tensor.shape != other.shape or not torch.equal(tensor, other)
    rows = {row.numpy().tobytes() for row in release.encoded.images}
    assert not rows & {row.numpy().tobytes() for row in private.pixels()}
    assert release.public is (public if secret.public_sources.shape[1] else None)


def test_cross_mixing_keeps_only_private_labels() -> None:
    release, secret = ENCODERS["instahide-cross"].hide(toys.images(500), toys.images(50, seed=1), seeded(6))
    assert secret.sources.shape[1] == 2
    assert secret.public_sources.shape[1] == 2
    mass = release.encoded.labels.sum(1)
    assert torch.allclose(mass, secret.weights[:, :2].sum(1), atol=1e-6)
    assert (mass < 1).all()
    assert (mass >= 0.3 - 1e-6).all()
    assert (secret.weights.max(1).values <= 0.65 + 1e-6).all()


def test_pair_weights_are_fixed() -> None:
    _, secret = PairInstaHide(alpha=0.3).hide(toys.images(10), None, seeded(0))
    assert torch.allclose(secret.weights, torch.tensor([0.7, 0.3]))
    assert (secret.sources[:, 0] != secret.sources[:, 1]).all()


def test_laplace_noise_has_the_size_of_the_image_it_stands_for() -> None:
    private = toys.images(300, height=16, width=16)
    release, secret = Laplace(alpha=0.4).hide(private, None, seeded(7))
    rows, _ = toys.mixture(secret, None)
    noise = release.encoded.images.double().numpy() - rows
    scale = 0.4 * np.abs(private.pixels().double().numpy()).mean()  # E‖e‖₁ = E‖α x‖₁, a pixel at a time
    assert isinstance(release.scheme, Laplace)
    assert release.scheme.scale == pytest.approx(scale, rel=1e-6)
    assert stats.kstest(noise.ravel(), stats.laplace(scale=scale).cdf).pvalue > ERROR
    hard = private.labels[secret.sources[:, 0]]
    assert torch.equal(release.encoded.labels, hard)


def test_laplace_takes_its_scale_from_the_scheme_where_it_is_given() -> None:
    release, _ = Laplace(scale=2.5).hide(toys.images(10), None, seeded(0))
    assert release.scheme == Laplace(scale=2.5)


def test_singularized_noise_is_even_over_a_sphere_of_the_theorems_radius() -> None:
    private = toys.images(2000, channels=1, height=4, width=4, stored=False)
    release, secret = SingularizedMixup(alpha=0.65, tau=1e-2).hide(private, None, seeded(8))
    rows, labels = toys.mixture(secret, None)
    noise = (release.encoded.images.double().numpy() - rows).reshape(2000, -1) / secret.weights[:, 1:].double().numpy()
    # Theorem 4.2 in a line, with V and D by brute force; D cancels from r.
    flat = private.images.double().numpy().reshape(2000, -1)
    variance = flat.var(axis=0, ddof=1).sum()
    radius = np.sqrt(variance * (0.65**2 / (1e-2 * 0.35**2) - 1))
    assert isinstance(release.scheme, SingularizedMixup)
    assert release.scheme.radius == pytest.approx(radius, rel=1e-6)
    np.testing.assert_allclose(np.linalg.norm(noise, axis=1), radius, rtol=1e-4)
    for coordinate in noise.T[:4] / radius:
        assert stats.kstest((1 + coordinate) / 2, stats.beta(7.5, 7.5).cdf).pvalue > ERROR
    np.testing.assert_allclose(release.encoded.labels.numpy(), labels, atol=1e-6)
    assert (secret.weights.max(1).values <= 0.65 + 1e-6).all()
    assert (secret.sources[:, 0] != secret.sources[:, 1]).all()


def test_singularized_mixup_works_on_features_and_with_a_given_radius() -> None:
    features = Samples(
        torch.randn(50, 17, 1, 1, generator=torch.Generator().manual_seed(0)), torch.eye(2)[torch.arange(50) % 2]
    )
    release, secret = SingularizedMixup(radius=3.0).hide(features, None, seeded(0))
    rows, _ = toys.mixture(secret, None)
    noise = release.encoded.images.double().numpy() - rows
    lengths = np.linalg.norm(noise.reshape(50, -1), axis=1) / secret.weights[:, 1].double().numpy()
    np.testing.assert_allclose(lengths, 3.0, rtol=1e-5)


def test_a_loose_threshold_needs_no_noise() -> None:
    release, secret = SingularizedMixup(tau=100.0).hide(toys.images(10), None, seeded(0))
    assert isinstance(release.scheme, SingularizedMixup)
    assert release.scheme.radius == 0
    np.testing.assert_allclose(release.encoded.images.numpy(), toys.mixture(secret, None)[0], atol=1e-5)


def test_an_attacker_makes_encodings_like_it_from_the_scheme_alone() -> None:
    for scheme in (SingularizedMixup(), Laplace(), Augmented(SingularizedMixup())):
        release, _ = scheme.hide(toys.images(30), None, seeded(0))
        others = toys.images(30, seed=5)
        own, truth = release.scheme.hide(replace(others, scale=9 * others.scale), None, seeded(1))
        assert own.scheme == release.scheme  # nothing is estimated anew from images that are nine times as bright
        if isinstance(scheme, SingularizedMixup) and isinstance(release.scheme, SingularizedMixup):
            noise = own.encoded.images.double().numpy() - toys.mixture(truth, None)[0]
            lengths = np.linalg.norm(noise.reshape(30, -1), axis=1) / truth.weights[:, 1].double().numpy()
            np.testing.assert_allclose(lengths, release.scheme.radius or 0, rtol=1e-4)


BAD: list[tuple[Callable[[], MixingEncoder], str]] = [
    (lambda: Mixup(k=9), "k = 9 images cannot differ when there are 8"),
    (lambda: InstaHide(k=9), "k = 9 images cannot differ when there are 8"),
    (lambda: InstaHide(k=4, largest=0.2), "c1 = 0.2 when k = 4"),
    (lambda: InstaHide(k=4, largest=float("inf")), "c1 = inf"),
    (lambda: InstaHide(k=4, k_private=2, private_share=1.2), "c2 = 1.2"),
    (lambda: InstaHide(k=4, private_share=-float("inf")), "c2 = -inf"),
    (lambda: InstaHide(k=4, k_private=2, largest=0.2500001), "hardly any weights"),
    (lambda: InstaHide(k=4, k_private=0), "at least one is private"),
    (lambda: InstaHide(k=4, k_private=5), "at least one is private"),
    (lambda: InstaHide(k=10**18), "images, of which"),
    (lambda: InstaHide(k=1), "c1 = 0.65 when k = 1"),
    (lambda: Mixup(k=1), "would share the images as they are"),
    (lambda: Mixup(k=8, k_private=1), "7 public images cannot differ when there are 5"),
    (lambda: InstaHide(law="gaussian"), "no law of coefficients"),  # type: ignore[arg-type]
    (lambda: SingularizedMixup(tau=1e-80), "does not fit 32-bit numbers"),
    (lambda: SingularizedMixup(radius=1e39), "does not fit 32-bit numbers"),
    (lambda: Laplace(scale=1e39), "does not fit 32-bit numbers"),
    (lambda: Augmented(Augmented(Mixup())), "into one geometry"),
]


@pytest.mark.parametrize(("make", "sentence"), BAD, ids=[sentence for _, sentence in BAD])
def test_impossible_settings_are_one_sentence(make: Callable[[], MixingEncoder], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        make().hide(toys.images(8), toys.images(5, seed=1), seeded(0))


def test_a_mask_alone_is_there_for_studies() -> None:
    private = toys.images(8)
    release, secret = InstaHide(k=1, largest=1.0).hide(private, None, seeded(0))  # Figure 3 of the paper starts at 1
    torch.testing.assert_close(release.encoded.images * secret.signs(), private.pixels(secret.sources[:, 0]))


def test_public_images_must_be_there_and_fit() -> None:
    with pytest.raises(BadInput, match="give it a public set"):
        ENCODERS["instahide-cross"].hide(toys.images(8), None, seeded(0))
    with pytest.raises(BadInput, match=r"8×8 with 1 channel .* 7×5 with 3 channels"):
        ENCODERS["instahide-cross"].hide(toys.images(8), toys.images(8, channels=1, height=8, width=8), seeded(0))


def test_one_image_cannot_be_hidden() -> None:
    with pytest.raises(BadInput, match="at least two images"):
        ENCODERS["laplace"].hide(toys.images(1), None, seeded(0))


@pytest.mark.parametrize(
    "make",
    [
        lambda: PairInstaHide(alpha=1.0),
        lambda: Laplace(alpha=0.0),
        lambda: Laplace(scale=-1.0),
        lambda: SingularizedMixup(alpha=0.4),
        lambda: SingularizedMixup(tau=0.0),
        lambda: SingularizedMixup(radius=-1.0),
        lambda: SingularizedMixup(radius=float("nan")),
        lambda: SingularizedMixup(radius=float("inf")),
        lambda: SingularizedMixup(tau=float("inf")),
        lambda: Laplace(scale=float("inf")),
        lambda: Geometry(crop=0.0),
    ],
)
def test_parameters_out_of_range_are_refused(make: Any) -> None:
    with pytest.raises(BadInput):
        make()


def test_equal_images_have_no_spread() -> None:
    same = Samples(torch.ones(5, 1, 2, 2), torch.eye(5))
    with pytest.raises(BadInput, match="give a radius"):
        SingularizedMixup().hide(same, None, seeded(0))
