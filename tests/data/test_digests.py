"""Digests that tell sets and images apart."""

from dataclasses import replace

from hideseek.data.digests import fingerprint, image_digests, images_digest, labels_digest
from toys import images


def test_a_digest_changes_with_a_pixel_and_with_how_it_is_scaled() -> None:
    samples = images(20)
    other = samples.images.clone()
    other[7, 0, 0, 0] ^= 1
    changed = [replace(samples, images=other), replace(samples, shift=samples.shift + 1e-3)]
    assert len({images_digest(each) for each in (samples, *changed)}) == 3
    assert images_digest(samples) == images_digest(images(20))
    swapped = replace(samples, labels=samples.labels.flip(0))
    assert images_digest(swapped) == images_digest(samples)
    assert labels_digest(swapped) != labels_digest(samples)
    assert fingerprint(swapped) != fingerprint(samples)


def test_images_are_the_same_up_to_rounding() -> None:
    """A value that is a thousandth off is another image; one that was rounded to float32 is the same."""
    samples = images(6, stored=False)
    pixels = (samples.images * 1e3).round() / 1e3
    same, other = pixels * (1 + 1e-7), pixels.clone()
    other[3, 0, 0, 0] += 2e-3
    known = list(image_digests(replace(samples, images=pixels)))
    assert list(image_digests(replace(samples, images=same))) == known
    changed = [a != b for a, b in zip(image_digests(replace(samples, images=other)), known, strict=True)]
    assert changed == [False, False, False, True, False, False]
