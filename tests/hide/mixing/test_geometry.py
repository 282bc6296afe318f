"""Moving images: against SciPy's own interpolation, and within the ranges that were asked for."""

import math

import numpy as np
import pytest
import torch
from scipy import ndimage

import toys
from hideseek.chance import seeded
from hideseek.hide import Augmented, Geometry, Mixup
from hideseek.records.moving import moved


def test_moving_is_affine_interpolation() -> None:
    images = toys.images(6, 2, 20, 14, stored=False).images
    images = torch.nn.functional.avg_pool2d(images, 3, 1, 1)
    transforms = Geometry(shift=0.1, crop=0.7, rotation=30, flip=True).draw([6], (20, 14), seeded(0))
    ours = moved(images, transforms)
    for image, theta, mine in zip(images.numpy(), transforms.double().numpy(), ours.numpy(), strict=True):
        # θ maps (x, y) of [−1, 1]; SciPy wants (row, column) in pixels: p = (u + 1) · side / 2 − ½.
        sides = np.array([[20], [14]])
        grid = np.stack([a.ravel() for a in np.meshgrid(range(20), range(14), indexing="ij")]).astype(float)
        y, x = (2 * grid + 1) / sides - 1
        source = theta @ np.stack([x, y, np.ones_like(x)])
        places = (source[::-1] + 1) * sides / 2 - 0.5
        for channel in range(2):
            theirs = ndimage.map_coordinates(image[channel].astype(float), places, order=1, mode="reflect")
            np.testing.assert_allclose(mine[channel].ravel(), theirs, atol=1e-4)


def test_no_geometry_leaves_images_alone() -> None:
    images = toys.images(3, stored=False).images
    torch.testing.assert_close(moved(images, Geometry().draw([3], (7, 5), seeded(0))), images, atol=1e-5, rtol=1e-5)


def test_draws_stay_in_their_ranges_and_use_them() -> None:
    theta = Geometry(rotation=20).draw([20_000], (9, 9), seeded(1))
    angles = torch.atan2(theta[:, 1, 0], theta[:, 1, 1]) * 180 / math.pi
    assert angles.abs().max() <= 20.001
    assert angles.std() == pytest.approx(20 / math.sqrt(3), rel=0.02)
    zoom = Geometry(crop=0.5).draw([20_000], (9, 9), seeded(2))
    assert 0.5 <= zoom[:, 0, 0].min() < 0.51
    assert 0.99 < zoom[:, 0, 0].max() <= 1
    assert ((zoom[:, :, 2].abs() + zoom[:, 0, 0, None]) <= 1.0001).all()  # the window stays inside
    shift = Geometry(shift=0.25).draw([20_000], (9, 9), seeded(3))
    assert 0.49 < shift[:, :, 2].abs().max() <= 0.5
    flips = Geometry(flip=True).draw([20_000], (9, 9), seeded(4))[:, 0, 0]
    assert 0.48 < float((flips < 0).double().mean()) < 0.52


def test_every_use_of_an_image_is_moved_anew() -> None:
    private = toys.images(12, stored=False)
    release, secret = Augmented(Mixup(k=3), Geometry(shift=0.2, rotation=40)).hide(private, None, seeded(5))
    assert secret.transforms is not None
    assert len(secret.transforms.flatten(0, 1).unique(dim=0)) == 36
    rows = torch.zeros(12, *private.shape)
    for r in range(12):
        for j in range(3):
            image = private.images[secret.sources[r, j]][None]
            rows[r] += secret.weights[r, j] * moved(image, secret.transforms[r, j][None])[0]
    torch.testing.assert_close(release.encoded.images, rows, atol=1e-5, rtol=1e-5)
