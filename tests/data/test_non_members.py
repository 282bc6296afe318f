"""Images for a gallery that are not private: which, how many, and none twice."""

from dataclasses import replace

import torch

from hideseek.data.non_members import MIRRORED, non_members
from hideseek.records import Samples
from toys import images

ONE = torch.ones(1, 1)


def test_what_is_offered_comes_first() -> None:
    private, first, second = images(10), images(6, seed=3), images(20, seed=4)
    found, counts = non_members(private, {"first": first, "second": second})
    assert counts == {"first": 6, "second": 4}
    assert torch.equal(found.images, torch.cat([first.images, second.images[:4]]))
    assert len(non_members(private, {"second": second})[0]) == 10


def test_mirrored_images_fill_up() -> None:
    private, few = images(10), images(3, seed=3)
    found, counts = non_members(private, {"few": few})
    assert counts == {"few": 3, MIRRORED: 7}
    assert torch.equal(found.images[3:], private.images[:7].flip(3))
    turned, counts = non_members(private, {}, upside_down=True)
    assert counts == {MIRRORED: 10}
    assert torch.equal(turned.images, private.images.flip(2))


def test_a_private_image_is_left_out_and_none_comes_twice() -> None:
    private, other = (replace(each, scale=ONE, shift=0 * ONE) for each in (images(10), images(4, seed=3)))
    some = torch.cat([other.images[:2], private.images[3:5], other.images])
    offered = replace(other, images=some, labels=torch.ones(8, 1))
    found, counts = non_members(private, {"some": offered})
    assert counts == {"some": 4, MIRRORED: 6}
    assert torch.equal(found.images[:4], other.images)


def test_images_that_are_their_own_mirror_images_have_no_non_members() -> None:
    features = Samples(torch.rand(5, 8, 1, 1), torch.empty(5, 0))
    found, counts = non_members(features, {})
    assert (len(found), counts) == (0, {})
