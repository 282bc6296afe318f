"""Sets that need no download: made from pictures inside the scikit-image and scikit-learn packages."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from hideseek.data.decode import decode
from hideseek.data.labels import one_hot
from hideseek.errors import BadInput
from hideseek.records import Samples

FACE_CLASSES = ("face", "not a face")
PHOTOS = {  # class: package and file; all of them photographs, with terms that allow this
    "astronaut": "skimage/data/astronaut.png",
    "brick": "skimage/data/brick.png",
    "cat": "skimage/data/chelsea.png",
    "coffee": "skimage/data/coffee.png",
    "coins": "skimage/data/coins.png",
    "flower": "sklearn/datasets/images/flower.jpg",
    "galaxies": "skimage/data/hubble_deep_field.jpg",
    "grass": "skimage/data/grass.png",
    "gravel": "skimage/data/gravel.png",
    "palace": "sklearn/datasets/images/china.jpg",
    "retina": "skimage/data/retina.jpg",
    "rocket": "skimage/data/rocket.jpg",
    "tissue": "skimage/data/ihc.png",
}
PATCH = 32
PHOTO_COUNTS = {"train": 300, "test": 75}  # of each class
_SHORTER_SIDE = 288  # a picture is scaled to this, so that a patch shows a piece of something
_TEST_BAND = 64  # rows in the middle of a picture, with a patch side left out above and below
_STRIDE = 8
_KEPT = 0.7  # the share of patches, those with most contrast, that is drawn from


def load_faces(split: str) -> Samples:
    """Give 25×25 grey pieces of Labeled Faces in the Wild, half faces, half background; every fifth is for testing.

    The package has them as floats, scaled down from photographs; here they are bytes, as images in folders are.
    """
    pixels = np.load(_find("skimage/data/lfw_subset.npy"), allow_pickle=False)
    stored = np.rint(255 * pixels).astype(np.uint8)
    ids = np.repeat([0, 1], 100)
    testing = np.arange(len(ids)) % 5 == 4
    chosen = testing if split == "test" else ~testing
    scale = torch.full((1, 1), 1 / 255)
    return Samples(torch.from_numpy(stored[chosen][:, None]), one_hot(ids[chosen], 2), scale, classes=FACE_CLASSES)


def load_photos(split: str) -> Samples:
    """Give 32×32 colour patches of thirteen photographs; the class is the photograph.

    Test patches come from a band across the middle of each picture, training patches from above and below, at least
    one patch side away. Of each part the flattest three tenths are dropped and the rest is thinned evenly.
    """
    images = np.concatenate([_patches(file, split) for file in PHOTOS.values()])
    ids = np.repeat(np.arange(len(PHOTOS)), PHOTO_COUNTS[split])
    scale = torch.full((1, 1), 1 / 255)
    return Samples(torch.from_numpy(images), one_hot(ids, len(PHOTOS)), scale, classes=tuple(PHOTOS))


def _patches(file: str, split: str) -> NDArray[np.uint8]:
    """Cut the patches of one split from one picture."""
    picture = _scaled(_find(file), file)
    top = (picture.shape[1] - _TEST_BAND) // 2
    bottom = top + _TEST_BAND
    bands = ((top, bottom),) if split == "test" else ((0, top - PATCH), (bottom + PATCH, picture.shape[1]))
    windows = np.concatenate([_windows(picture[:, start:stop]) for start, stop in bands])
    contrast = windows.std(axis=(2, 3)).mean(axis=1)
    count = PHOTO_COUNTS[split]
    kept = np.sort(np.argsort(-contrast, kind="stable")[: max(count, int(_KEPT * len(windows)))])
    return windows[kept[np.arange(count) * len(kept) // count]]


def _windows(band: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Cut a band, c×h×w, into n overlapping patches."""
    views = np.lib.stride_tricks.sliding_window_view(band, (PATCH, PATCH), axis=(1, 2))[:, ::_STRIDE, ::_STRIDE]
    return views.transpose(1, 2, 0, 3, 4).reshape(-1, len(band), PATCH, PATCH)


def _scaled(path: Path, name: str) -> NDArray[np.uint8]:
    from PIL import Image

    with Image.open(path) as image:
        factor = _SHORTER_SIDE / min(image.size)
        size = round(image.height * factor), round(image.width * factor)
    return decode(path, name, 3, size).astype(np.uint8, copy=False)


def _find(file: str) -> Path:
    """Find a file inside an installed package, without importing the package."""
    package, _, rest = file.partition("/")
    spec = find_spec(package)
    folders = spec.submodule_search_locations if spec is not None else None
    for folder in folders or ():
        if (path := Path(folder, rest)).is_file():
            return path
    raise BadInput(f"{file} is missing from this installation; install scikit-image and scikit-learn anew.")
