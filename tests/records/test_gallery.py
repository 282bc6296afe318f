"""Galleries: who is in them, and that their order tells nothing."""

from dataclasses import replace

import pytest
import torch

from hideseek.chance import seeded
from hideseek.data.normalise import normalise
from hideseek.hide import Augmented, Geometry, Mixup
from hideseek.records import Samples
from hideseek.records.gallery import by_content, joined, mirrored
from toy_gradient import LinearGradient
from toys import images


def rows(samples: Samples) -> set[bytes]:
    return {image.numpy().tobytes() for image in samples.pixels()}


def test_mirrored_images() -> None:
    samples = images(4)
    assert torch.equal(mirrored(samples).images, samples.images.flip(3))
    assert torch.equal(mirrored(samples, upside_down=True).images, samples.images.flip(2))
    assert mirrored(samples).labels.shape == (4, 0)


@pytest.mark.parametrize("how", ["none", "channel", "image"])
def test_joined_sets_keep_their_pixels(how: str) -> None:
    first, second = normalise(images(3), how), normalise(images(5, seed=4), how)  # type: ignore[arg-type]
    both = joined(first, second)
    torch.testing.assert_close(both.pixels(), torch.cat([first.pixels(), second.pixels()]))
    assert both.images.dtype == torch.uint8
    mixed = joined(first, replace(second, images=second.pixels(), scale=torch.ones(1, 1), shift=torch.zeros(1, 1)))
    torch.testing.assert_close(mixed.pixels(), both.pixels())


def test_the_order_depends_on_content_alone() -> None:
    samples = images(20)
    again = samples.take(seeded(0).permutation(20))
    assert torch.equal(by_content(samples).images, by_content(again).images)
    assert not torch.equal(by_content(samples).images, samples.images)


@pytest.mark.parametrize("scheme", [Mixup(k=2), LinearGradient()])
def test_a_release_is_given_a_gallery(scheme: Mixup | LinearGradient) -> None:
    private, others = images(12, stored=False), images(12, stored=False, seed=3)
    release, secret = scheme.hide(private, None, seeded(0))
    shown = secret.reveal(release, ("candidates",)).candidates
    assert shown is not None
    assert rows(shown) == rows(private) | rows(mirrored(private))
    named = replace(secret, others=others).reveal(release, release.withheld)
    assert named.candidates is not None
    assert rows(named.candidates) == rows(private) | rows(others)
    assert named.candidates.labels.shape == (24, 0)
    assert all(getattr(named, field) is not None for field in release.withheld)
    assert release.candidates is None


def test_where_a_scheme_flips_candidates_are_turned_upside_down() -> None:
    private = images(12, stored=False)
    for flip, other in ((True, private.images.flip(2)), (False, private.images.flip(3))):
        _, secret = Augmented(Mixup(k=2), Geometry(shift=0.1, flip=flip)).hide(private, None, seeded(0))
        assert secret.flips is flip
        assert torch.equal(secret.non_members.images, other)
