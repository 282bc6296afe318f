import numpy as np
import torch

from hideseek.records import Samples
from hideseek.seek.signals.anywhere import anywhere, cut_at


def test_every_place_is_tried_and_the_best_is_given() -> None:
    generator = np.random.default_rng(0)
    large = torch.from_numpy(generator.normal(size=(7, 2, 9, 8))).float()
    rows = torch.from_numpy(generator.normal(size=(3, 2, 5, 4))).float()
    images = Samples(large, torch.empty(7, 0))
    found = anywhere(rows, images, lambda pixels: pixels, 4)
    for row in range(3):
        scores = np.empty((7, 5, 5))
        for image, top, left in np.ndindex(7, 5, 5):
            patch = large[image, :, top : top + 5, left : left + 4]
            scores[image, top, left] = float((patch * rows[row]).sum() / patch.norm())
        order = np.argsort(-scores.reshape(7, -1).max(1))[:4]
        assert found.images[row].tolist() == order.tolist()
        np.testing.assert_allclose(found.scores[row], scores.reshape(7, -1).max(1)[order], rtol=1e-4)
        best = [np.unravel_index(scores[image].argmax(), (5, 5)) for image in order]
        assert list(zip(found.tops[row].tolist(), found.lefts[row].tolist(), strict=True)) == best
    patches = cut_at(images, found.images[0], found.tops[0], found.lefts[0], (2, 5, 4))
    image, top, left = (int(each[0, 0]) for each in (found.images, found.tops, found.lefts))
    assert torch.equal(patches.images[0], large[image, :, top : top + 5, left : left + 4])
