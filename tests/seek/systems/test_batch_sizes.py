"""How many images an update is of, where nobody says: by ranks, by labels in whole numbers, and what is left open."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from hideseek.chance import seeded
from hideseek.hide import Mixup
from hideseek.hide.updates import GradientNoise, GradientPruning, ShareUpdates, Sign
from hideseek.records import Samples
from hideseek.records.defence import Defence
from hideseek.records.update_release import UpdateRelease
from hideseek.score.item_labels import item_labels
from hideseek.seek import ATTACKS, run
from hideseek.seek.systems.batch_sizes import BatchSize, whole_counts, whole_size
from hideseek.seek.systems.head_labels import HeadReader

LABELS = ATTACKS["labels-from-gradient"]


def images(count: int, side: int = 8, classes: int = 10) -> Samples:
    """Give images whose labels are not those of a smaller batch."""
    labels = torch.cat([torch.zeros(1, dtype=torch.long), seeded(count).integers(classes - 1, count - 1) + 1])
    return Samples(seeded(1).normals(count, 3, side, side), torch.eye(classes)[labels])


def update(model: str, batch: int, *, own: bool = True, side: int = 8, **scheme: object) -> UpdateRelease:
    """Give an update whose size is not told."""
    shared = ShareUpdates(model, batch=batch, mode="eval", **scheme)  # type: ignore[arg-type]
    release, _ = shared.hide(images(batch, side), None, seeded(2))
    like = Samples(seeded(7).normals(200, 3, side, side), torch.zeros(200, 10))
    return replace(release, sizes=None, own=like if own else None)


@pytest.mark.parametrize("model", ["lenet", "small-resnet", "relu-dense"])
@pytest.mark.parametrize("batch", [2, 12, 32])
def test_labels_in_whole_numbers_tell_the_size_beyond_the_classes(model: str, batch: int) -> None:
    release = update(model, batch)
    found = HeadReader(release).size(0)
    if model == "lenet" and batch > 2 and not found.likely:  # softmaxes that differ much between images leave it open
        assert found.said() == f"at least {found.count}, by the rank of the gradient of head"
        assert found.count <= 9
    else:
        assert (found.count, found.likely) == (batch, True)
        evidence = run(LABELS, release, seeded(3))
        assert evidence.remarks["batch sizes"] == [f"estimated as {batch}, by labels, which come in whole numbers"]
        wanted = images(batch).labels.sum(0) / batch
        assert torch.allclose(evidence.claims[0].parts()["shares"][0], wanted, atol=1e-6)


def test_without_images_of_his_own_an_attacker_asks_about_noise() -> None:
    assert HeadReader(update("relu-dense", 12, own=False)).size(0).count == 12


def test_one_image_is_certain() -> None:
    release, _ = ShareUpdates("lenet").hide(images(3), None, seeded(2))
    found = HeadReader(replace(release, sizes=None)).size(0)
    assert found.said() == "estimated as 1, by the gradient of head, which is one image's"


def test_a_wide_layer_tells_more_than_the_head() -> None:
    """Of MixUp's labels nothing is whole: the rank alone is left."""
    found = HeadReader(update("relu-dense", 24, encoding=Mixup(k=3))).size(0)
    assert found.said() == "at least 24, by the rank of the gradient of features.1"


def test_convolutions_count_by_their_places() -> None:
    """Last convolutions of ConvNet give one place, so that their rank is the batch's; of labels nothing is known."""
    found = HeadReader(update("convnet", 12, side=32, encoding=Mixup(k=3))).size(0)
    assert (found.count, found.likely) == (12, False)


@pytest.mark.parametrize("defence", [GradientPruning(0.9), GradientNoise(noise=0.01), Sign()])
def test_defended_gradients_have_a_rank_of_their_own(defence: Defence) -> None:
    """Their rank is up to that of the layer; what is certain is that classes with negative entries are there."""
    release = update("relu-dense", 4, defences=(defence,))
    found, there = HeadReader(release).size(0), len(set(images(4).labels.argmax(1).tolist()))
    assert 1 <= found.count <= there
    assert found.said().startswith("at least")
    assert "rank" not in found.how


def test_sizes_that_are_told() -> None:
    release, secret = ShareUpdates("linear", batch=4).hide(images(8), None, seeded(2))
    assert HeadReader(release).size(1).said() == "4, as told"
    assert "batch sizes" not in run(LABELS, release, seeded(3)).remarks
    assert item_labels(secret).shape == (2, 10)
    several = ShareUpdates("linear", batch=2, local_steps=2, sends="weights").hide(images(8), None, seeded(2))[0]
    assert HeadReader(replace(several, sizes=None)).size(0) == BatchSize(4, "", known=True)


def test_the_likeliest_size_by_its_formula() -> None:
    """log P(n) = −½ Σ ((ȳ − c/n)² / v + log v) − log C(n + classes − 1, classes − 1), v = s² / n + b."""
    counts = np.array([3, 1, 0, 2, 1])
    mean = counts / 7 + np.array([1.0, -1, 0.5, 0.5, -1]) * 1e-3
    spread, bias = np.full(5, 1e-5), 1e-7
    scores = {}
    for size in range(3, 257):
        wanted = mean * size
        whole = np.floor(wanted)
        for place in np.argsort(-(wanted - whole), kind="stable")[: size - int(whole.sum())]:
            whole[place] += 1
        variance = spread / size + bias + 1e-8
        fit = -0.5 * ((mean - whole / size) ** 2 / variance + np.log(variance)).sum()
        scores[size, math.gcd(*whole.astype(int).tolist())] = fit - math.log(math.comb(size + 4, 4))
    top = max(scores.values())
    weights = {key: math.exp(score - top) for key, score in scores.items()}
    share = sum(each for (size, common), each in weights.items() if size == 7 * common) / sum(weights.values())
    found, probability = whole_size(torch.from_numpy(mean), torch.from_numpy(spread), bias, 3)
    assert found == 7
    assert probability == pytest.approx(share, rel=1e-6)


def test_a_rank_forbids_smaller_batches_of_the_same_proportions() -> None:
    mean = torch.tensor([0.5, 0.5, 0.0]).double()
    flat = torch.full((3,), 1e-6).double()
    assert whole_size(mean, flat, 0.0, 1)[0] == 2
    assert whole_size(mean, flat, 0.0, 4)[0] == 4
    assert whole_counts(mean, 6).tolist() == [3, 3, 0]
