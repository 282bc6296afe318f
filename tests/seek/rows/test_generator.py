"""Masks of a generator with a 32-bit seed fall to a search; those of hideseek do not."""

from typing import Any

import numpy as np
import pytest
import torch

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide import InstaHide, Mixup
from hideseek.records import EncodedRelease, Masks, Reason, Samples
from hideseek.records.mixing_secret import MixingSecret
from hideseek.seek import refusal, run
from hideseek.seek.rows.generator import Generator
from hideseek.seek.systems.mersenne import DRAWS, Draw, signs_from, smooth_seeds
from releases import photos
from weak_generator import masked_by

SEED = 40_961


def hidden(k: int = 4) -> tuple[EncodedRelease, MixingSecret]:
    private, _ = photos("channel")
    return InstaHide(k=k).hide(private.take(slice(0, 20)), None, seeded(3), 2)


@pytest.mark.parametrize("seed", [0, SEED, 2**32 - 1])
def test_signs_are_those_of_numpy_and_torch(seed: int) -> None:
    numpy = np.random.RandomState(seed)
    np.testing.assert_array_equal(signs_from(seed, "randint", 0, 1000), 2 * numpy.randint(0, 2, 1000) - 1)
    numpy.seed(seed)
    np.testing.assert_array_equal(signs_from(seed, "numpy.rand", 0, 1000), np.where(numpy.rand(1000) >= 0.5, 1, -1))
    torch.manual_seed(seed)
    bits = torch.randint(0, 2, (1000,)).numpy()
    np.testing.assert_array_equal(signs_from(seed, "randint", 0, 1000), 2 * bits - 1)
    torch.manual_seed(seed)
    above = torch.rand(1000).numpy() >= 0.5
    np.testing.assert_array_equal(signs_from(seed, "torch.rand", 0, 1000), np.where(above, 1, -1))


@pytest.mark.parametrize(("before", "lag"), [(0, 1), (5, 3)])
@pytest.mark.parametrize("draw", DRAWS)
def test_the_compiled_search_agrees_with_drawing_every_seed(draw: Draw, before: int, lag: int) -> None:
    weights = np.random.default_rng(0).standard_normal(40).astype(np.float32)
    bit, outputs = DRAWS[draw]
    found = np.empty(200, np.int64)
    kept = smooth_seeds(1000, 77, weights, bit, outputs, before, lag, 2.0, found)
    wanted = []
    for seed in range(1000, 1077):
        signs = signs_from(seed, draw, before, 40 + lag)
        if (weights * signs[lag:] * signs[:-lag]).sum() >= 2.0:
            wanted.append(seed)
    assert found[:kept].tolist() == wanted
    assert 0 < kept < 77


@pytest.mark.parametrize("order", ["chw", "hwc"])
def test_the_seed_is_found_and_all_masks_with_it(order: Any) -> None:
    release, secret = masked_by(*hidden(), SEED, order)
    evidence = run(Generator(seeds=1 << 12, first=SEED - 2000, order=order), release, seeded(0))
    assert evidence.remarks["seed"] == SEED
    masks = evidence.claims[0]
    assert isinstance(masks, Masks)
    assert torch.equal(masks.signs, secret.signs())
    assert float(evidence.remarks["hours for all seeds"]) > 0


def test_our_own_masks_have_no_such_seed() -> None:
    release, _ = hidden()
    evidence = run(Generator(seeds=1 << 14), release, seeded(0))
    assert evidence.remarks["found"] == "no seed"
    masks = evidence.claims[0]
    assert isinstance(masks, Masks)
    assert not masks.signs.any()


def test_a_seed_outside_of_what_was_tried_is_not_found() -> None:
    release, _ = masked_by(*hidden(), SEED)
    assert run(Generator(seeds=1000), release, seeded(0)).remarks["found"] == "no seed"


@pytest.mark.parametrize("settings", [{"seeds": 0}, {"first": -1}, {"first": 2**32 - 1, "seeds": 2}, {"before": 500}])
def test_seeds_that_are_none_are_refused(settings: dict[str, int]) -> None:
    with pytest.raises(BadInput, match=r"2³²|between 0 and"):
        Generator(**settings)  # type: ignore[arg-type]


def test_rows_without_a_mask_or_with_few_pixels_are_refused() -> None:
    private, _ = photos("channel")
    plain, _ = Mixup().hide(private, None, seeded(0))
    features = Samples(seeded(0).normals(10, 64, 1, 1), torch.empty(10, 0))
    short, _ = InstaHide(k=2).hide(features, None, seeded(0))
    for release, reason in ((plain, Reason.NOT_MASKED), (short, Reason.TOO_FEW_PIXELS)):
        refused = refusal(Generator(), release)
        assert refused is not None
        assert refused.reason is reason
