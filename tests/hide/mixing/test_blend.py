"""The compiled kernel and torch's way give the same rows, wherever and however the images lie."""

from pathlib import Path

import numpy as np
import pytest
import torch

import toys
from hideseek.chance import seeded
from hideseek.hide import Mixup
from hideseek.hide.mixing.blend import by_kernel, by_torch
from hideseek.hide.mixing.recipe import Noise, Recipe
from hideseek.records import Samples

SHAPES = [(1, 1, 1), (3, 7, 5), (1, 25, 25), (3, 32, 32), (2, 40, 40)]  # the last is longer than one piece


def blended(
    way: str, private: Samples, public: Samples | None, k: int, k_public: int, *, mask: bool, noisy: bool
) -> torch.Tensor:
    chance = seeded(11)
    rows, (channels, height, width) = 9, private.shape
    sources = chance.integers(len(private), rows, k)
    others = (
        chance.integers(len(public), rows, k_public) if public is not None else torch.empty(rows, 0, dtype=torch.int64)
    )
    weights = chance.uniforms(rows, k + k_public).float()
    bits = chance.bits(rows * channels, height * width).view(rows, channels, -1) if mask else None
    out = chance.normals(rows, channels, height, width) if noisy else torch.full((rows, *private.shape), torch.nan)
    noise = Noise("sphere", 1.0, torch.ones(rows)) if noisy else None
    recipe = Recipe(Mixup(), sources, weights, others, noise=noise)
    if way == "kernel":
        by_kernel(private, public)(out, recipe, bits, None)
    else:
        by_torch(private, public, out, recipe, bits, None)
    return out


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("k", [1, 2, 3, 6])
@pytest.mark.parametrize(("mask", "noisy"), [(False, False), (True, False), (False, True), (True, True)])
def test_kernel_and_torch_agree(shape: tuple[int, int, int], k: int, mask: bool, noisy: bool) -> None:
    private, public = toys.images(12, *shape), toys.images(5, *shape, stored=False, seed=1)
    for others, k_public in ((None, 0), (public, 1), (public, 2)):
        one = blended("kernel", private, others, k, k_public, mask=mask, noisy=noisy)
        two = blended("torch", private, others, k, k_public, mask=mask, noisy=noisy)
        assert one.isfinite().all()
        torch.testing.assert_close(one, two, atol=1e-5, rtol=1e-5)


def test_channels_last_and_memory_mapped_images_need_no_copy(tmp_path: Path) -> None:
    private = toys.images(12)
    usual = blended("kernel", private, None, 3, 0, mask=True, noisy=False)
    path = tmp_path / "last.bin"
    private.images.permute(0, 2, 3, 1).contiguous().numpy().tofile(path)
    mapped = torch.from_numpy(np.memmap(path, np.uint8, "c", shape=(12, 7, 5, 3))).permute(0, 3, 1, 2)
    assert not mapped.is_contiguous()
    there = Samples(mapped, private.labels, private.scale, private.shift)
    torch.testing.assert_close(blended("kernel", there, None, 3, 0, mask=True, noisy=False), usual)


def test_the_mask_flips_half_of_all_signs() -> None:
    private = toys.images(12, 3, 32, 32)
    plain = blended("torch", private, None, 2, 0, mask=False, noisy=False)
    masked = blended("kernel", private, None, 2, 0, mask=True, noisy=False)
    # The two draw different streams' ends for the mask only, so the sizes agree.
    torch.testing.assert_close(plain.abs(), masked.abs(), atol=1e-5, rtol=1e-5)
    assert 0.45 < float((plain.sign() != masked.sign()).double().mean()) < 0.55


def test_noise_has_the_length_that_was_asked_for() -> None:
    noise = Noise("sphere", 5.0, torch.tensor([0.5, 1.0]))
    assert torch.allclose(noise.draw(100, seeded(0)).norm(dim=1), torch.tensor([2.5, 5.0]))
