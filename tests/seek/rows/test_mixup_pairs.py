from dataclasses import replace

import pytest
import torch
from torch.nn import functional

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide import InstaHide, Mixup
from hideseek.records import EncodedRelease, Links, Reconstruction, Samples
from hideseek.records.mixing_secret import MixingSecret
from hideseek.score.matching import one_to_one
from hideseek.score.roc import auc
from hideseek.seek import run
from hideseek.seek.rows.mixup_pairs import MixupPairs, _average, _grow
from hideseek.seek.signals.links import RowClasses
from releases import noise_like, photos


def claims(release: EncodedRelease, attack: MixupPairs) -> tuple[Reconstruction, Links]:
    images, links = run(attack, release, seeded(2)).claims
    assert isinstance(images, Reconstruction)
    assert isinstance(links, Links)
    return images, links


def likeness(images: Reconstruction, secret: MixingSecret) -> torch.Tensor:
    """Correlations of every guess with the image that it is matched to."""
    guesses, truths = (
        functional.normalize((x - x.mean((1, 2, 3), keepdim=True)).flatten(1))
        for x in (images.images, secret.private.pixels())
    )
    alike = guesses @ truths.T
    chosen = one_to_one(alike)
    return alike[chosen >= 0, chosen[chosen >= 0]]


def told_apart(links: Links, secret: MixingSecret) -> float:
    shared = (secret.sources[links.first][:, :, None] == secret.sources[links.second][:, None]).any(2).any(1)
    return auc(links.scores, shared)


@pytest.mark.parametrize("steps", [0, 8])
def test_mixed_images_come_back(steps: int) -> None:
    private, _ = photos("channel")
    release, secret = Mixup(k=4).hide(private.take(slice(0, 30)), None, seeded(1), rounds=30)
    images, links = claims(release, MixupPairs(steps=steps))
    alike = likeness(images, secret)
    assert len(alike) >= 22  # of 30
    assert alike.median() > (0.99 if steps else 0.85)
    assert told_apart(links, secret) > 0.85
    assert images.groups is not None
    held = [secret.sources[group[group >= 0]] for group in images.groups]  # most rows of a group have one image
    assert sum(int(each.flatten().bincount().max()) > len(each) / 2 for each in held) >= 22


def test_noise_has_no_pairs_and_no_images() -> None:
    """Without labels: with them, pairs are told by their classes (tests/seek/signals/test_links.py)."""
    private, _ = photos("channel")
    release, secret = Mixup(k=4).hide(private.take(slice(0, 30)), None, seeded(1), rounds=30)
    noise = Samples(noise_like(release.encoded).pixels(), torch.empty(len(release.encoded), 0))
    images, links = claims(replace(release, encoded=noise), MixupPairs())
    assert likeness(images, secret).mean().abs() < 0.1
    # 50 rows × 899 others, about 30,000 pairs without and 15,000 with a common image: the AUC of chance scatters by
    # 0.003, and rows that are used again by a little more
    assert told_apart(links, secret) == pytest.approx(0.5, abs=0.02)


def test_under_a_mask_squares_are_grouped_and_averaged() -> None:
    """Groups tell more of |x| than the mean of all |rows| does, and rows with common images are told from others."""
    private, _ = photos("channel")
    release, secret = InstaHide(k=2).hide(private.take(slice(0, 30)), None, seeded(1), rounds=20)
    images, links = claims(release, MixupPairs())
    assert (images.images >= 0).all()
    absolute = replace(secret, private=Samples(secret.private.pixels().abs(), secret.private.labels))
    rows = release.encoded.pixels().abs()
    middle = replace(images, images=rows.mean(0).expand(len(images.images), -1, -1, -1))
    assert likeness(images, absolute).mean() > likeness(middle, absolute).mean() + 0.2
    assert told_apart(links, secret) > 0.6


def test_members_of_a_group_have_its_class_and_count_by_its_weight() -> None:
    unit = torch.ones(4, 1)
    labels = torch.tensor([[0.7, 0.3], [0.0, 1.0], [0.6, 0.4], [1.0, 0.0]])
    classes = RowClasses(2 * (labels > 0).float(), labels, torch.ones(2))
    members, _ = _grow(unit, classes, torch.tensor([0, 1]), 4, 0.5)
    assert {*members[0].tolist()} == {0, 2, 3, -1}  # the first class is the heaviest of row 0
    assert {*members[1].tolist()} == {1, 0, 2, -1}
    rows = torch.tensor([[1.0], [10.0], [100.0], [0.0]])
    average = _average(rows, torch.tensor([[2, 0, -1]]), torch.tensor([[0.6, 0.2, 0.0]]))
    assert average.item() == pytest.approx((0.6 * 100 + 0.2 * 1) / 0.8)


def test_groups_that_cannot_be_are_refused() -> None:
    private, _ = photos("channel")
    release, _ = Mixup().hide(private, None, seeded(1))
    with pytest.raises(BadInput, match="two rows or more"):
        run(MixupPairs(members=1), release, seeded(1))
