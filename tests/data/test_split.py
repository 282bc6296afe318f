import numpy as np
import pytest
import torch
from scipy import stats

from hideseek.chance import seeded
from hideseek.data import split_by_class, split_dirichlet, split_evenly
from hideseek.errors import BadInput
from hideseek.records import Samples


def numbered(count: int, classes: int = 5) -> Samples:
    """Images whose one pixel is their number; classes in turn."""
    images = torch.arange(count, dtype=torch.float32).reshape(count, 1, 1, 1)
    labels = torch.eye(classes)[torch.arange(count) % classes]
    return Samples(images, labels, classes=tuple("abcdefghijklmnopqrstuvwxyz"[:classes]))


def numbers(part: Samples) -> list[int]:
    return [int(number) for number in part.images.flatten()]


def counts(parts: list[Samples]) -> torch.Tensor:
    """Count the images of each party and class."""
    return torch.stack([part.labels.sum(0) for part in parts])


@pytest.mark.parametrize("parties", [1, 3, 7, 20])
def test_every_image_goes_to_exactly_one_party(parties: int) -> None:
    samples = numbered(101, 25 if parties == 20 else 5)
    for parts in (
        split_evenly(samples, parties, seeded(1)),
        split_dirichlet(samples, parties, 1.0, seeded(2)),
        split_by_class(samples, min(parties, samples.labels.shape[1])),
    ):
        assert sorted(number for part in parts for number in numbers(part)) == list(range(101))
        assert all(len(part) > 0 for part in parts)
        for part in parts:  # labels travel with their images
            assert part.labels.argmax(1).tolist() == [number % samples.labels.shape[1] for number in numbers(part)]


def test_even_parts_differ_by_one_at_most() -> None:
    sizes = [len(part) for part in split_evenly(numbered(101), 7, seeded(1))]
    assert max(sizes) - min(sizes) == 1


def test_a_seed_gives_the_same_split_again() -> None:
    first, again, other = (split_evenly(numbered(50), 3, seeded(seed)) for seed in (1, 1, 2))
    assert [numbers(part) for part in first] == [numbers(part) for part in again]
    assert [numbers(part) for part in first] != [numbers(part) for part in other]


def test_every_image_is_as_likely_in_every_even_part() -> None:
    """A χ² test over 2,000 splits; a right split fails for one seed in a thousand, and this seed is fixed."""
    chance, samples = seeded(3), numbered(6)
    hits = np.zeros((6, 3))
    for _ in range(2000):
        for party, part in enumerate(split_evenly(samples, 3, chance)):
            hits[numbers(part), party] += 1
    # Rows and columns have fixed sums, as in a table of independence with (6 − 1)(3 − 1) degrees of freedom; each
    # row holds 2,000 draws, and partners share a split, which stretches the statistic by 6/5.
    statistic = ((hits - 2000 / 3) ** 2 / (2000 / 3)).sum() * 5 / 6
    assert stats.chi2(10).sf(statistic) > 1e-3


@pytest.mark.parametrize("alpha", [0.5, 1.0, 10.0])
def test_shares_follow_the_dirichlet_distribution(alpha: float) -> None:
    """A share of Dirichlet(α, α, α) is Beta(α, 2α): Kolmogorov-Smirnov at one in a thousand, with fixed seeds.

    One share of each draw is taken, so that they are independent. Rounding to whole images, and draws repeated because
    a party was empty, move the distribution function by 0.03 at most; 300 draws find a difference of 0.11.
    """
    classes = torch.cat([torch.zeros(1000), torch.ones(1000)]).long()
    samples = Samples(torch.zeros(2000, 1, 1, 1), torch.eye(2)[classes])
    chance = seeded(4)
    shares = []
    for _ in range(300):
        table = counts(split_dirichlet(samples, 3, alpha, chance))
        shares.append(float(table[0, 0]) / 1000)
    beta = stats.beta(alpha, 2 * alpha)
    assert stats.kstest(shares, beta.cdf).pvalue > 1e-3


def test_a_large_alpha_is_even_and_a_small_one_is_not() -> None:
    samples = numbered(5000)
    even = counts(split_dirichlet(samples, 5, 1e5, seeded(5)))
    assert (even - 200).abs().max() < 10  # a share has a deviation of 0.13 images
    skewed = counts(split_dirichlet(numbered(5000, 16), 3, 1e-3, seeded(5)))
    assert ((skewed > 0).sum(0) == 1).float().mean() > 0.9  # nearly every class has one owner


def test_an_alpha_that_underflows_still_deals_everything() -> None:
    parts = split_dirichlet(numbered(160, 16), 2, 1e-6, seeded(6))
    assert sum(len(part) for part in parts) == 160
    owned = counts(parts) > 0
    assert (owned.sum(0) == 1).all()
    assert (owned.sum(1) >= 3).all()  # a fair coin for each of 16 classes: fails for one seed in 240, and this is fixed


def test_classes_are_dealt_in_turn() -> None:
    parts = split_by_class(numbered(50), 2)
    assert [sorted(set(part.labels.argmax(1).tolist())) for part in parts] == [[0, 2, 4], [1, 3]]
    without_zero = numbered(50).take(torch.tensor([1, 2, 3, 6]))
    assert [numbers(part) for part in split_by_class(without_zero, 3)] == [[1, 6], [2], [3]]


def test_what_cannot_be_split() -> None:
    samples = numbered(10)
    for parties in (0, -1, 11):
        with pytest.raises(BadInput, match=f"10 images cannot be dealt to {parties} parties"):
            split_evenly(samples, parties, seeded(0))
        with pytest.raises(BadInput, match=f"10 images cannot be dealt to {parties} parties"):
            split_dirichlet(samples, parties, 1.0, seeded(0))
    with pytest.raises(BadInput, match="5 classes cannot be dealt to 6 parties"):
        split_by_class(samples, 6)
    for alpha in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(BadInput, match="alpha must be a positive number"):
            split_dirichlet(samples, 2, alpha, seeded(0))
    with pytest.raises(BadInput, match="take a larger alpha or fewer parties"):
        split_dirichlet(samples, 10, 1e-4, seeded(0))
    unlabelled = Samples(samples.images, torch.zeros(10, 0))
    with pytest.raises(BadInput, match="without labels"):
        split_by_class(unlabelled, 2)
    with pytest.raises(BadInput, match="without labels"):
        split_dirichlet(unlabelled, 2, 1.0, seeded(0))
