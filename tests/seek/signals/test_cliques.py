"""Sets of rows that share an image: grown as a loop would, and one for each image."""

import numpy as np
import torch

from hideseek.chance import seeded
from hideseek.seek.signals.cliques import class_sizes, cliques, cliques_work, distinct, greedy_sets
from hideseek.seek.signals.links import RowClasses


def by_loop(scores: np.ndarray, seed: int, size: int) -> list[int]:
    members = [seed]
    while len(members) < size:
        sums = scores[members].sum(0)
        sums[members] = -np.inf
        members.append(int(sums.argmax()))
    return members


def test_sets_grow_by_summed_scores() -> None:
    noise = np.random.default_rng(0).standard_normal((20, 20))
    scores = torch.from_numpy(noise + noise.T)
    sets, density = greedy_sets(scores, torch.tensor([3, 7]), 6)
    for row, seed in zip(sets.tolist(), (3, 7), strict=True):
        assert row == by_loop(scores.numpy(), seed, 6)
    inside = scores[sets[0]][:, sets[0]]
    np.testing.assert_allclose(float(density[0]), float(inside[np.triu_indices(6, 1)].mean()), rtol=1e-5)
    assert greedy_sets(scores, torch.tensor([0]), 50)[0].shape == (1, 20)


def test_every_image_gets_a_set() -> None:
    """Four images in ten rows each, in two classes; rows of one image score higher."""
    image = torch.arange(40) % 4
    noise = torch.from_numpy(np.random.default_rng(1).standard_normal((40, 40))).float()
    scores = (image[:, None] == image).float() * 3 + (noise + noise.T) / 2
    labels = torch.nn.functional.one_hot(image // 2, 2).float()
    classes = RowClasses(labels, labels, torch.tensor([2.0, 2.0]))
    found, of_class = cliques(scores, classes, 4, 6, 5, seeded(0))
    assert of_class.tolist() == [0, 0, 1, 1]
    assert sorted(int(image[each].mode().values) for each in found) == [0, 1, 2, 3]
    assert all(float((image[each] == image[each].mode().values).float().mean()) > 0.9 for each in found)


def test_where_too_few_are_distinct_the_least_alike_are_taken() -> None:
    near = torch.tensor([[0, 1, 2], [0, 1, 3], [0, 1, 2], [5, 6, 7]])
    density = torch.tensor([3.0, 2.0, 1.0, 0.5])
    assert distinct(near, density, 2) == [0, 3]
    assert distinct(near, density, 3) == [0, 3, 1]
    assert len(distinct(near, density, 9)) == 4


def test_sizes_sum_to_all() -> None:
    assert class_sizes(torch.tensor([1.0, 1.0, 1.0]), 4).tolist() == [2, 1, 1]
    assert cliques_work(10, 2, 5, 3) < cliques_work(20, 2, 5, 3)
