"""Maps matched at every shift: against loops over shifts, and on maps that were moved as images are."""

import numpy as np
import pytest
import torch

from hideseek.chance import seeded
from hideseek.records.moving import moved
from hideseek.seek.signals.cliques import class_sizes
from hideseek.seek.signals.links import RowClasses
from hideseek.seek.signals.shifted_clusters import shifted_templates
from hideseek.seek.signals.shifted_maps import Shifts, inverse, matches, matches_work, weighted_mean


def noise(count: int, seed: int = 0, height: int = 9, width: int = 11) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((count, 2, height, width), dtype=np.float32))


def by_loops(template: np.ndarray, image: np.ndarray, shifts: Shifts) -> list[float]:
    """The definition: Σ_q z(q) t(q + s), the map mirrored or not."""
    found = []
    for turned in shifts.ways:
        z = image[..., ::-1] if turned else image
        for dy in range(-shifts.down, shifts.down + 1):
            for dx in range(-shifts.across, shifts.across + 1):
                total = 0.0
                for y in range(shifts.height):
                    for x in range(shifts.width):
                        if 0 <= y + dy < shifts.height and 0 <= x + dx < shifts.width:
                            total += float((z[:, y, x] * template[:, y + dy, x + dx]).sum())
                found.append(total)
    return found


@pytest.mark.parametrize(("down", "across", "mirror"), [(2, 3, True), (0, 1, False), (1, 0, True), (0, 0, False)])
def test_correlations_are_those_of_loops(down: int, across: int, mirror: bool) -> None:
    shifts = Shifts(9, 11, down, across, mirror)
    template, maps = noise(1)[0], noise(2, 1)
    spectra = [shifts.spectra(maps, turned=turned) for turned in shifts.ways]
    found = shifts.correlations(shifts.spectra(template[None])[0], spectra)
    assert found.shape == (2, shifts.count) == (2, len(shifts.shares))
    for number in range(2):
        np.testing.assert_allclose(found[number], by_loops(template.numpy(), maps[number].numpy(), shifts), atol=1e-3)


def test_moved_maps_are_found_where_they_were_moved() -> None:
    shifts = Shifts(9, 11, 2, 3, True)
    templates = noise(3)
    places = torch.tensor([0, 17, shifts.count - 1])
    moves = shifts.moves(places)
    found = matches(templates, moved(templates, moves), shifts)
    assert (found.scores.argmax(0) == torch.arange(3)).all()
    own = found.moves[torch.arange(3), torch.arange(3)]
    torch.testing.assert_close(own, moves)
    assert (found.scores.diagonal() > 0.6).all()


def test_a_mean_is_taken_in_the_place_of_the_template() -> None:
    shifts = Shifts(9, 11, 2, 2, True)
    template = noise(1)
    moves = shifts.moves(torch.arange(shifts.count))
    mean = weighted_mean(moved(template.expand(shifts.count, -1, -1, -1), moves), moves, torch.ones(shifts.count))
    torch.testing.assert_close(mean[:, 2:-2, 2:-2], template[0, :, 2:-2, 2:-2], atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(inverse(inverse(moves)), moves)


def test_sizes_of_classes_are_whole_and_sum_to_all() -> None:
    assert class_sizes(torch.tensor([2.0, 0.0, 3.0]), 5).tolist() == [2, 0, 3]
    assert class_sizes(torch.tensor([1.0, 1.0, 1.0]), 4).tolist() == [2, 1, 1]
    assert int(class_sizes(torch.zeros(3), 2).sum()) == 2


def test_every_image_gets_a_template_of_its_own() -> None:
    """Four patterns, each in thirty rows at random places, under as much noise: two classes of two."""
    shifts = Shifts(9, 11, 2, 2, True)
    generator = np.random.default_rng(3)
    image = torch.arange(120) % 4
    places = torch.from_numpy(generator.integers(0, shifts.count, 120))
    patterns = noise(4, 5)
    maps = moved(patterns[image], shifts.moves(places)) + noise(120, 6)
    labels = torch.nn.functional.one_hot(image // 2, 2).float()
    classes = RowClasses(labels, labels, torch.tensor([2.0, 2.0]))
    wide = Shifts(9, 11, 4, 4, True)
    found, of_class = shifted_templates(maps, classes, 4, 30, 6, wide, seeded(0))
    assert of_class.tolist() == [0, 0, 1, 1]
    likeness = matches(found, patterns, wide).scores
    assert sorted(likeness.argmax(1).tolist()) == [0, 1, 2, 3]
    assert (likeness.amax(1) > 0.8).all()


def test_more_is_more_work() -> None:
    assert matches_work(2, 3, 4) < matches_work(3, 3, 4) < matches_work(3, 4, 4) < matches_work(3, 4, 5)
