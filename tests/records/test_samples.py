"""Samples: stored numbers read as pixels, and what cannot be a set of images is refused."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

import toys
from hideseek.errors import BadInput
from hideseek.records import Samples


def test_pixels_are_scale_times_stored_plus_shift() -> None:
    samples = toys.images(6)
    expected = (
        samples.images.numpy() * samples.scale.numpy()[:, :, None, None] + samples.shift.numpy()[:, :, None, None]
    )
    np.testing.assert_allclose(samples.pixels().numpy(), expected, rtol=1e-5, atol=1e-6)
    rows = torch.tensor([4, 0, 4])
    np.testing.assert_allclose(samples.pixels(rows).numpy(), expected[[4, 0, 4]], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(samples.pixels(slice(2, 4)).numpy(), expected[2:4], rtol=1e-5, atol=1e-6)
    assert samples.pixels().dtype == torch.float32


def test_taking_rows_keeps_everything_together() -> None:
    samples = toys.images(6)
    rows = torch.tensor([5, 1])
    taken = samples.take(rows)
    assert len(taken) == 2
    assert taken.images.dtype == torch.uint8
    torch.testing.assert_close(taken.pixels(), samples.pixels(rows))
    assert torch.equal(taken.labels, samples.labels[rows])


def test_one_scale_serves_all_images() -> None:
    samples = Samples(torch.ones(3, 2, 4, 4), torch.eye(3), torch.tensor([[2.0]]), torch.tensor([[1.0, 3.0]]))
    assert samples.take(slice(1, 3)).pixels()[:, :, 0, 0].tolist() == [[3.0, 5.0], [3.0, 5.0]]
    assert samples.shape == (2, 4, 4)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Samples(torch.zeros(2, 3, 4), torch.eye(2)),
        lambda: Samples(torch.zeros(2, 1, 4, 4).double(), torch.eye(2)),
        lambda: Samples(torch.zeros(2, 1, 4, 4), torch.eye(3)),
        lambda: Samples(torch.zeros(2, 1, 4, 4), torch.tensor([0.0, 1.0])),
        lambda: Samples(torch.zeros(2, 1, 4, 4), torch.eye(2).long()),
        lambda: Samples(torch.zeros(2, 1, 4, 4), torch.eye(2), classes=("a",)),
        lambda: Samples(torch.zeros(2, 1, 4, 4), torch.eye(2), scale=torch.ones(3, 1)),
        lambda: Samples(torch.zeros(2, 1, 4, 4), torch.eye(2), shift=torch.ones(1, 2)),
    ],
)
def test_what_is_no_set_of_images_is_refused(make: Callable[[], Samples]) -> None:
    with pytest.raises(BadInput):
        make()
