import numpy as np
import pytest
import torch

from hideseek.data import DATASETS, embedded, load
from hideseek.errors import BadInput


@pytest.mark.parametrize("name", ["faces", "photos"])
def test_the_sets_are_as_described_balanced_and_the_same_again(name: str) -> None:
    dataset = DATASETS[name]
    for split, count in dataset.counts.items():
        samples = load(f"{name}?split={split}")
        assert (len(samples), samples.shape, len(samples.classes)) == (count, dataset.shape, dataset.classes)
        assert len(set(samples.labels.sum(0).tolist())) == 1
        assert samples.images.equal(load(f"{name}?split={split}").images)
        assert 0 <= samples.pixels().min() <= samples.pixels().max() <= 1
    assert load(name).images.equal(load(f"{name}?split=train").images)
    assert load(name, labelled=False).labels.shape == (dataset.counts["train"], 0)


def test_faces_are_those_of_scikit_image() -> None:
    from skimage import data

    whole = torch.from_numpy(data.lfw_subset()).float()
    training, test = load("faces"), load("faces?split=test")
    assert training.images.dtype == torch.uint8
    assert (test.pixels()[:, 0] - whole[4::5]).abs().max() < 0.5 / 255 + 1e-6
    assert training.labels.argmax(1).tolist() == [0] * 80 + [1] * 80
    assert (training.pixels()[80, 0] - whole[100]).abs().max() < 0.5 / 255 + 1e-6


def test_photos_have_no_patch_twice_and_nothing_flat_in_the_majority() -> None:
    for split in ("train", "test"):
        images = load(f"photos?split={split}").images
        assert len(torch.unique(images.flatten(1), dim=0)) > 0.99 * len(images)
        assert (images.float().std((1, 2, 3)) > 5).float().mean() > 0.9


def test_training_and_test_patches_keep_their_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures whose pixels say in which row they are: no test row is within a patch side of a training row."""
    rows = np.arange(288, dtype=np.int64)[None, :, None].repeat(288, 2)
    picture = np.concatenate([rows // 256, rows % 256, rows * 7 % 256]).astype(np.uint8)
    monkeypatch.setattr(embedded, "_scaled", lambda *_: picture)

    def seen(split: str) -> set[int]:
        patches = embedded._patches("skimage/data/brick.png", split).astype(int)
        return set(np.unique(patches[:, 0] * 256 + patches[:, 1]).tolist())

    training, test = seen("train"), seen("test")
    assert min(abs(one - other) for one in training for other in test) > embedded.PATCH


def test_patches_can_be_told_apart() -> None:
    """The nearest class in mean colour and contrast is right far more often than one in thirteen."""

    def features(split: str) -> tuple[torch.Tensor, torch.Tensor]:
        samples = load(f"photos?split={split}")
        pixels = samples.pixels()
        return torch.cat([pixels.mean((2, 3)), pixels.std((2, 3))], 1), samples.labels.argmax(1)

    (training, classes), (test, truth) = features("train"), features("test")
    means = torch.stack([training[classes == number].mean(0) for number in range(13)])
    assert (torch.cdist(test, means).argmin(1) == truth).float().mean() > 0.4


def test_a_missing_picture_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "PHOTOS", {"ghost": "skimage/data/ghost.png"})
    with pytest.raises(BadInput, match=r"skimage/data/ghost.png is missing"):
        load("photos")
