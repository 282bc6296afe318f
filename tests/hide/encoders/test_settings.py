"""Weak cases, which a working attack must break, and stronger settings, which are advised."""

import pytest

import toys
from hideseek.chance import seeded
from hideseek.hide import ENCODERS, Augmented, Coarse, InstaHide, Laplace, Mixup, PairInstaHide, SingularizedMixup
from hideseek.hide.encoders.augmented import LITTLE
from hideseek.hide.encoders.singularized_mixup import spread
from hideseek.records import ChangeKind, Encoder, MixingEncoder

IMAGES = toys.images(40, stored=False)


def weak(scheme: Encoder) -> list[Encoder]:
    return list(scheme.weak_cases(IMAGES, seeded(0)))


def test_weak_cases_mix_two_images_under_the_mask_that_the_scheme_has() -> None:
    """Beside public images, there are two private ones in a row of the second case: rows of one round share them."""
    masked = [InstaHide(k=2, largest=0.9, private_share=0.0), PairInstaHide(alpha=0.05)]
    assert weak(InstaHide(k=4)) == weak(PairInstaHide()) == masked
    assert weak(Augmented(InstaHide())) == [*masked, *(Augmented(each, LITTLE) for each in masked)]
    first, second = weak(InstaHide(k=4, k_private=2))
    assert first == InstaHide(k=2, k_private=1, largest=0.9, private_share=0.0)
    assert second == InstaHide(k=3, k_private=2, largest=0.9, private_share=0.9)
    assert weak(Mixup(k=6)) == [Mixup(k=2)]
    assert weak(Augmented(Mixup(k=4))) == [Mixup(k=2), Augmented(Mixup(k=2), LITTLE)]
    assert weak(Mixup(k=6, k_private=3)) == [Mixup(k=2, k_private=1), Mixup(k=3, k_private=2)]


@pytest.mark.parametrize("name", ENCODERS)
def test_a_weak_case_has_a_mask_where_the_scheme_has_one(name: str) -> None:
    scheme = ENCODERS[name]
    cases = [each for each in weak(scheme) if isinstance(each, MixingEncoder)]
    assert cases
    assert {each.masked for each in cases} == {scheme.masked}
    assert {each.mixes_public for each in cases} == {scheme.mixes_public}


def test_weak_cases_have_hardly_any_noise() -> None:
    assert weak(Laplace(alpha=0.9)) == [Laplace(alpha=0.01)]
    (short,) = weak(SingularizedMixup(tau=1e-6))
    assert isinstance(short, SingularizedMixup)
    assert short.radius == pytest.approx(0.01 * spread(IMAGES, seeded(5)).distance, rel=0.1)


def test_schemes_that_share_weak_cases_share_their_name() -> None:
    by_kind: dict[str, list[Encoder]] = {}
    for name, scheme in ENCODERS.items():
        for each in (scheme, *([Augmented(scheme)] if scheme.movable else [])):
            assert by_kind.setdefault(each.weak_kind, weak(each)) == weak(each), name


def test_stronger_settings_are_of_the_scheme_itself() -> None:
    """Fewer rounds where there are several, more noise where there is some, else another scheme; movements stay."""
    scheme = Augmented(SingularizedMixup(tau=1e-2))
    (fewer, same, once), (noisier, changed, rounds) = scheme.stronger(5)
    assert (fewer.kind, fewer.before, fewer.after) == (ChangeKind.FEWER_ROUNDS, 5, 1)
    assert (same, once) == (scheme, 1)
    assert (noisier.kind, noisier.parameter, noisier.after) == (ChangeKind.MORE_NOISE, "tau", 1e-4)
    assert (changed, rounds) == (Augmented(SingularizedMixup(tau=1e-4)), 5)
    ((_, longer, _),) = SingularizedMixup(radius=2.0).stronger(1)
    assert longer == SingularizedMixup(radius=20.0)
    ((_, halved, _),) = Laplace(alpha=0.5, scale=1.0).stronger(1)
    assert halved == Laplace(alpha=0.75)


@pytest.mark.parametrize("scheme", [Mixup(), InstaHide(), PairInstaHide(), Augmented(InstaHide())])
def test_where_no_setting_hides_another_scheme_is_advised_with_its_cost(scheme: Encoder) -> None:
    (change, other, rounds), *less_exact = scheme.stronger(1)
    assert (change.kind, change.scheme, rounds) == (ChangeKind.OTHER_SCHEME, "singularized-mixup", 1)
    assert other == SingularizedMixup(tau=1e-4)
    assert "12.3 of 85.3 %" in change.cost
    if not isinstance(scheme, Augmented):  # whose rows are no sums of bytes
        assert isinstance(scheme, Mixup | InstaHide | PairInstaHide)
        ((coarser, same, _),) = less_exact
        assert (coarser.kind, coarser.before, coarser.after) == (ChangeKind.COARSER, 32, 8)
        assert same == Coarse(scheme, "drawn", "int8")


def test_what_is_shared_coarsely_is_not_advised_to_be() -> None:
    kinds = [change.kind for change, _, _ in Coarse(InstaHide(), "drawn", "int8").stronger(1)]
    assert kinds == [ChangeKind.OTHER_SCHEME]
    (_, _, _), (change, finer, _) = Coarse(InstaHide(), "rounded").stronger(1)
    assert (change.kind, finer) == (ChangeKind.COARSER, Coarse(InstaHide(), "drawn", "int8"))
