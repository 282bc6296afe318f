"""Public patches to mix with: random crops that have something in them."""

import contextlib
import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from hideseek.chance import seeded
from hideseek.data import members
from hideseek.data.cache import cache_folder, keep
from hideseek.data.labels import unlabelled
from hideseek.data.shaping import Size, height_and_width, luma
from hideseek.data.store import allocate, chunks
from hideseek.errors import BadInput
from hideseek.progress import track
from hideseek.records import CutFrom, Samples

EACH = 10  # crops of an image
KEYPOINTS = 40  # more than that many must be found
SEEN_AT = 64  # pixels on a patch's shorter side when key points are looked for
_THREADS = 2
_BATCH = 32  # images of one task
PublicKnown = Literal["images", "patches"]
_Patches = tuple[NDArray[Any], NDArray[Any]]  # the patches, and the image that each was cut from


def public_patches(source: Samples, size: Size, each: int = EACH, keypoints: int = KEYPOINTS) -> Samples:
    """Cut `each` random crops from every image and keep those with more than `keypoints` SIFT key points.

    InstaHide §3.2. The set is public, so its draw is fixed: the seed is the SHA-256 of the images and the parameters,
    and whoever cuts the same images gets the same patches. The result is kept in the user's cache under that hash. What
    the patches were cut from stays with them.

    Deviation: the paper does not say at what size it looks for key points. A 32×32 patch seldom has forty (0.2 % of
    crops of Tiny ImageNet do), so a patch is first enlarged to 64 pixels on its shorter side, bilinearly; then 62 %
    of its 32×32 crops pass. Larger patches are taken as they are. SIFT works in floating point, so another build of
    OpenCV may judge a patch at the threshold differently.
    """
    height, width = height_and_width(size)
    channels, whole_height, whole_width = source.shape
    if each < 1 or keypoints < 0:
        raise BadInput(f"each must be positive and keypoints not negative, not {each} and {keypoints}.")
    if source.normalisation.kind != "none" or channels not in (1, 3):
        raise BadInput("patches are cut from raw images with 1 or 3 channels; normalise them afterwards.")
    if whole_height < height or whole_width < width:
        raise BadInput(
            f"images of {whole_height}×{whole_width} pixels are smaller than patches of {height}×{width}; take larger"
            " images or smaller patches."
        )
    key = _content(source, (height, width, each, keypoints))
    path = cache_folder() / "patches" / f"{key}.npz"
    patches, rows = _cached(path, source, (height, width)) or _cut(source, (height, width), each, keypoints, path)
    places = torch.from_numpy(rows)
    return Samples(
        torch.from_numpy(patches),
        unlabelled(len(patches)),
        source.scale if len(source.scale) == 1 else source.scale[places],
        source.shift if len(source.shift) == 1 else source.shift[places],
        cut_from=CutFrom(replace(source, labels=unlabelled(len(source)), classes=(), patients=None), places),
    )


def known_public(public: Samples, known: PublicKnown) -> Samples:
    """Give what somebody has of public images: the larger ones that they were cut from, or these themselves.

    Public images that were not cut from others are known as they are.
    """
    if public.cut_from is None:
        return public
    return public.cut_from.images if known == "images" else replace(public, cut_from=None)


def _content(source: Samples, parameters: tuple[int, ...]) -> str:
    """Hash what decides the patches: every pixel as it is read, and the parameters."""
    digest = hashlib.sha256(
        f"hideseek patches 1 {tuple(source.images.shape)} {source.images.dtype} {parameters}".encode()
    )
    for affine in (source.scale, source.shift):
        digest.update(affine.contiguous().numpy().data)
    for rows in chunks(len(source), source.images[0].nbytes):
        digest.update(source.images[rows].contiguous().numpy().data)
    return digest.hexdigest()


def _cached(path: Path, source: Samples, size: tuple[int, int]) -> _Patches | None:
    """Read patches that were cut before; a damaged file counts as none."""
    found = members.undamaged(path, "x", "rows")
    if found is None:
        return None
    patches, rows = found
    expected = (len(rows), source.shape[0], *size)
    return (patches, rows) if patches.shape == expected and patches.dtype == source.images.numpy().dtype else None


def _cut(source: Samples, size: tuple[int, int], each: int, keypoints: int, path: Path) -> _Patches:
    """Draw crops under the seed that the path's name is, keep the good ones, and write them to the path."""
    (height, width), (_, whole_height, whole_width) = size, source.shape
    chance = seeded(int(path.stem, 16))
    tops = chance.integers(whole_height - height + 1, len(source), each)
    lefts = chance.integers(whole_width - width + 1, len(source), each)
    corners = torch.stack([tops, lefts], -1).numpy()
    tasks = [slice(start, start + _BATCH) for start in range(0, len(source), _BATCH)]
    with ThreadPoolExecutor(_THREADS) as pool:
        judged = pool.map(lambda rows: _count_keypoints(_grey(source, rows), corners[rows], size), tasks)
        found = np.concatenate(list(track(judged, "looking for key points", len(tasks))))
    rows, crops = np.nonzero(found > keypoints)
    if len(rows) == 0:
        raise BadInput(f"no patch has more than {keypoints} key points; lower keypoints, or take livelier images.")
    patches = allocate((len(rows), source.shape[0], height, width), source.images.numpy().dtype)
    for place, (row, crop) in enumerate(zip(rows, crops, strict=True)):
        top, left = corners[row, crop]
        patches[place] = source.images[row, :, top : top + height, left : left + width].numpy()
    # A cache that cannot be written costs time, not the patches.
    with contextlib.suppress(OSError, BadInput):
        keep(path, {"x": patches, "rows": rows})
    return patches, rows


def _grey(source: Samples, rows: slice) -> NDArray[np.uint8]:
    """Give images as bytes of grey, n×h×w."""
    pixels = source.pixels(rows).clamp(0, 1).mul(255).round().byte()
    grey: NDArray[np.uint8] = (luma(pixels) if source.shape[0] == 3 else pixels).squeeze(1).numpy()
    return grey


def _count_keypoints(images: NDArray[np.uint8], corners: NDArray[np.int64], size: tuple[int, int]) -> NDArray[np.int64]:
    """Count the SIFT key points of each crop, given its top and left, n×each."""
    import cv2

    height, width = size
    factor = max(1.0, SEEN_AT / min(size))
    seen = (round(width * factor), round(height * factor))
    detector = cv2.SIFT_create()  # type: ignore[attr-defined] # missing from OpenCV's stubs
    found = np.zeros(corners.shape[:2], np.int64)
    for row, crop in np.ndindex(found.shape):
        top, left = corners[row, crop]
        patch = images[row, top : top + height, left : left + width]
        found[row, crop] = len(detector.detect(cv2.resize(patch, seen, interpolation=cv2.INTER_LINEAR), None))
    return found
