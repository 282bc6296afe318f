from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide import InstaHide, Mixup
from hideseek.records import EncodedRelease, Links, Reconstruction, Samples
from hideseek.records.mixing_secret import MixingSecret
from hideseek.score.matching import one_to_one
from hideseek.score.membership import auc
from hideseek.seek import run
from hideseek.seek.rows.mixup_pairs import MixupPairs
from hideseek.seek.systems.unmixing import unmix
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


def test_noise_has_no_pairs_and_no_images() -> None:
    private, _ = photos("channel")
    release, secret = Mixup(k=4).hide(private.take(slice(0, 30)), None, seeded(1), rounds=30)
    images, links = claims(replace(release, encoded=noise_like(release.encoded)), MixupPairs())
    assert likeness(images, secret).mean().abs() < 0.1
    # 50 rows × 899 others, about 30,000 pairs without and 15,000 with a common image: the AUC of chance scatters by
    # 0.003, and rows that are used again by a little more
    assert told_apart(links, secret) == pytest.approx(0.5, abs=0.02)


def test_under_a_mask_absolute_values_are_grouped_and_averaged() -> None:
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


def test_groups_that_cannot_be_are_refused() -> None:
    private, _ = photos("channel")
    release, _ = Mixup().hide(private, None, seeded(1))
    with pytest.raises(BadInput, match="two rows or more"):
        run(MixupPairs(members=1), release, seeded(1))


def test_unmixing_solves_for_images_and_weights() -> None:
    generator = np.random.default_rng(0)
    images = generator.standard_normal((6, 40)).astype(np.float32)
    weights = np.zeros((60, 6), np.float32)
    for row in weights:
        chosen = generator.choice(6, 2, replace=False)
        row[chosen] = generator.dirichlet((2, 2))
    rows = torch.from_numpy(weights @ images)
    rough = torch.from_numpy(images + 0.4 * generator.standard_normal(images.shape).astype(np.float32))
    solved, left = unmix(rows, rows, rough, k=2, steps=15)
    np.testing.assert_allclose(solved.numpy(), images, atol=0.02)
    assert left < 1e-4
