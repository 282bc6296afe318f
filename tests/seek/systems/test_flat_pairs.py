"""Exact weights from places where neighbouring pixels are equal."""

import numpy as np

from hideseek.chance import seeded
from hideseek.hide import Mixup
from hideseek.seek.systems.flat_pairs import SURE, exact_weights, smoothest
from releases import photos


def test_flat_pairs_give_exact_weights_and_only_for_the_right_images() -> None:
    private, public = photos("image")
    release, secret = Mixup(k=3, k_private=1).hide(private, public, seeded(5))
    own = secret.weights[:, 0, None, None, None] * private.pixels(secret.sources[:, 0])
    supported = []
    for row in range(20):
        images = public.pixels(secret.public_sources[row]).flatten(1)
        wrong = public.pixels((secret.public_sources[row] + 7) % len(public)).flatten(1)
        pairs = smoothest(release.encoded.pixels()[row], own[row])
        mass = 1 - float(release.encoded.labels[row].sum())
        weights, support = exact_weights(pairs, images, mass, seeded(row))
        supported.append(support >= SURE)
        if support >= SURE:
            np.testing.assert_allclose(weights, secret.weights[row, 1:].numpy(), atol=1e-5)
        assert exact_weights(pairs, wrong, mass, seeded(row))[1] < SURE
    assert sum(supported) > 15
