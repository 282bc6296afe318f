from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

from hideseek.data import load, normalise, public, public_patches
from hideseek.data.public import known_public
from hideseek.errors import BadInput
from hideseek.records import Samples


def lively(count: int = 6, channels: int = 3, side: int = 48, seed: int = 0) -> Samples:
    """Noise on the left half, which is full of key points, and flat grey on the right, which has none."""
    images = np.random.default_rng(seed).integers(0, 256, (count, channels, side, side), dtype=np.uint8)
    images[:, :, :, side // 2 :] = 128
    return Samples(torch.from_numpy(images), torch.eye(count), torch.full((1, 1), 1 / 255))


def cut_from(patch: torch.Tensor, image: torch.Tensor) -> bool:
    """Tell whether a patch occurs in an image."""
    height, width = patch.shape[1:]
    windows = image.unfold(1, height, 1).unfold(2, width, 1)
    return bool((windows == patch[:, None, None]).all(-1).all(-1).all(0).any())


def test_patches_are_crops_with_more_key_points_than_asked() -> None:
    source = lively()
    patches = public_patches(source, (16, 20), each=8, keypoints=20)
    assert patches.shape == (3, 16, 20)
    assert 0 < len(patches) < 48
    assert patches.labels.shape == (len(patches), 0)
    assert patches.scale.equal(source.scale)
    detector = cv2.SIFT_create()  # type: ignore[attr-defined]
    for patch in patches.images:
        assert any(cut_from(patch, image) for image in source.images)
        grey = cv2.cvtColor(patch.permute(1, 2, 0).contiguous().numpy(), cv2.COLOR_RGB2GRAY)
        enlarged = cv2.resize(grey, (80, 64), interpolation=cv2.INTER_LINEAR)
        assert len(detector.detect(enlarged, None)) > 20


@pytest.mark.parametrize("how", ["none", "channel", "image"])
def test_patches_know_what_they_were_cut_from(how: str) -> None:
    source = lively()
    patches = normalise(public_patches(source, 16, each=8, keypoints=20), how)  # type: ignore[arg-type]
    assert patches.cut_from is not None
    larger, places = patches.cut_from.images, patches.cut_from.places
    assert larger.images.equal(source.images)
    assert larger.labels.shape == (6, 0)
    assert larger.normalisation == patches.normalisation
    for patch, place in zip(patches.images, places.tolist(), strict=True):
        assert [cut_from(patch, image) for image in larger.images].index(True) == place
    if how == "channel":  # by the constants of the patches, which the private images would give
        assert larger.scale.equal(patches.scale)


def test_some_patches_know_their_own_images_alone() -> None:
    patches = public_patches(lively(), 16, each=8, keypoints=20)
    some = patches.take(torch.arange(0, len(patches), 7))
    assert patches.cut_from is not None
    assert some.cut_from is not None
    assert len(some.cut_from.images) == len(some.cut_from.places.unique())
    for patch, place in zip(some.images, some.cut_from.places.tolist(), strict=True):
        assert cut_from(patch, some.cut_from.images.images[place])


def test_what_is_known_of_public_images() -> None:
    source = lively()
    patches = public_patches(source, 16, each=8, keypoints=20)
    assert known_public(patches, "images").images.equal(source.images)
    very = known_public(patches, "patches")
    assert very.images.equal(patches.images)
    assert very.cut_from is None
    assert known_public(source, "images") is known_public(source, "patches") is source  # cut from nothing


def test_key_points_are_counted_on_the_enlarged_patch() -> None:
    images = lively(2, 1).images[:, 0].numpy()
    corners = np.array([[[0, 0], [5, 3], [20, 28]], [[30, 1], [2, 10], [0, 20]]])
    detector = cv2.SIFT_create()  # type: ignore[attr-defined]
    expected = [
        [
            len(detector.detect(cv2.resize(image[top : top + 16, left : left + 20], (80, 64)), None))
            for top, left in some
        ]
        for image, some in zip(images, corners.tolist(), strict=True)
    ]
    assert public._count_keypoints(images, corners, (16, 20)).tolist() == expected


def test_large_patches_are_judged_as_they_are() -> None:
    source = lively(3, 1, 100)
    patches = public_patches(source, 70, each=4, keypoints=0)
    detector = cv2.SIFT_create()  # type: ignore[attr-defined]
    found = [len(detector.detect(patch[0].numpy(), None)) for patch in patches.images]
    stricter = public_patches(source, 70, each=4, keypoints=sorted(found)[5])
    assert len(stricter) <= 6


def test_the_same_source_gives_the_same_patches_and_another_does_not(cache: Path) -> None:
    first = public_patches(lively(), 16, keypoints=20)
    (kept,) = (cache / "patches").iterdir()
    kept.unlink()
    assert public_patches(lively(), 16, keypoints=20).images.equal(first.images)
    assert [path.name for path in (cache / "patches").iterdir()] == [kept.name]
    changed = lively()
    changed.images[0, 0, 0, 0] ^= 1
    assert public_patches(changed, 16, keypoints=20).images.shape != first.images.shape
    for options in ({"each": 9}, {"keypoints": 21}):
        public_patches(lively(), 16, **{"keypoints": 20} | options)
    assert len(list((cache / "patches").iterdir())) == 4


def test_the_layout_in_memory_does_not_count() -> None:
    source = lively()
    last = source.images.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
    assert public._content(replace(source, images=last), (1,)) == public._content(source, (1,))


def test_the_cache_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    first = public_patches(lively(), 16, keypoints=20)
    monkeypatch.setattr(public, "_cut", lambda *_: pytest.fail("cut again"))
    assert public_patches(lively(), 16, keypoints=20).images.equal(first.images)


@pytest.mark.parametrize("damage", ["cut", "flipped", "text", "other"])
def test_a_damaged_cache_is_made_anew(cache: Path, damage: str) -> None:
    first = public_patches(lively(), 16, keypoints=20)
    (kept,) = (cache / "patches").iterdir()
    content = bytearray(kept.read_bytes())
    if damage == "cut":
        kept.write_bytes(content[: len(content) // 2])
    elif damage == "flipped":
        content[len(content) // 2] ^= 1
        kept.write_bytes(content)
    elif damage == "text":
        kept.write_text("nonsense")
    else:
        np.savez(kept, x=np.zeros((2, 3, 5, 5), np.uint8), rows=np.zeros(2, np.int64))
    assert public_patches(lively(), 16, keypoints=20).images.equal(first.images)
    with np.load(kept) as stored:
        assert np.array_equal(stored["x"], first.images.numpy())


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    assert len(public_patches(lively(), 16, keypoints=20)) > 0


def test_floats_and_affine_maps_follow_their_patches() -> None:
    source = lively()
    bytes_first = public_patches(source, 16, keypoints=20)
    floats = Samples(source.images.float() / 255, source.labels)
    assert 0 < len(public_patches(floats, 16, keypoints=20)) < 60
    assert bytes_first.images.dtype == torch.uint8
    brightness = torch.linspace(0.5, 1, 6)[:, None] / 255
    dimmed = public_patches(replace(source, scale=brightness), 16, keypoints=10)
    assert dimmed.scale.shape == (len(dimmed), 1)
    for patch, scale in zip(dimmed.images, dimmed.scale, strict=True):
        (row,) = (brightness == scale).nonzero()[:, 0].tolist()
        assert cut_from(patch, source.images[row])


def test_what_cannot_be_cut() -> None:
    source = lively()
    with pytest.raises(BadInput, match="images of 48×48 pixels are smaller than patches of 64×64"):
        public_patches(source, 64)
    with pytest.raises(BadInput, match="no patch has more than 100000 key points"):
        public_patches(source, 16, each=1, keypoints=100000)
    with pytest.raises(BadInput, match="normalise them afterwards"):
        public_patches(normalise(source, "image"), 16)
    with pytest.raises(BadInput, match="each must be positive"):
        public_patches(source, 16, each=0)


def test_the_share_of_real_patches_that_passes(real_data: object) -> None:
    """Neither nearly none nor nearly all; 62 % of 10,000 were seen."""
    source = load("tinyimagenet").take(torch.arange(0, 10000, 50))
    assert 0.5 < len(public_patches(source, 32, each=5)) / 1000 < 0.75
