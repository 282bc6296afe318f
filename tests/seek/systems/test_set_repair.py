import numpy as np
import pytest
import torch

from hideseek.chance import seeded
from hideseek.seek.rows.byte_decoding import constants
from hideseek.seek.signals.masked_pursuit import MaskedPursuit
from hideseek.seek.signals.public_sets import Found
from hideseek.seek.systems.difference_scores import influence, missing_images
from hideseek.seek.systems.exact_unmasking import fitted_sets
from hideseek.seek.systems.row_under_mask import RowUnderMask
from hideseek.seek.systems.set_repair import repaired
from releases import photos

ROWS, PUBLIC = 8, 150
WEIGHTS = (0.2, 0.15, 0.3, 0.2, 0.15)  # those of private images first


def rows(*, told: bool) -> tuple[MaskedPursuit, list[RowUnderMask], torch.Tensor]:
    """Rows of two private and three public photographs with weights of WEIGHTS, and which public ones."""
    private, public = photos("channel", public=PUBLIC)
    generator = np.random.default_rng(1)
    sources = torch.from_numpy(np.stack([generator.permutation(PUBLIC)[:3] for _ in range(ROWS)]))
    images = torch.cat(
        [
            private.pixels(slice(0, 2 * ROWS)).unflatten(0, (ROWS, 2)),
            public.pixels(sources.flatten()).unflatten(0, (ROWS, 3)),
        ],
        1,
    )
    pixels = torch.einsum("k,nkchw->nchw", torch.tensor(WEIGHTS), images).abs()
    pursuit = MaskedPursuit(pixels, public, 5, seeded(2))
    label = np.array(WEIGHTS[: 2 if told else 0], np.float32)
    return pursuit, [RowUnderMask(row, label, 2, *constants(private), public) for row in pixels], sources


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_wrong_image_is_replaced_by_the_right_one(place: int, told: bool) -> None:
    pursuit, unders, sources = rows(told=told)
    wrong = sources.clone()
    wrong[:, place] = (sources.max(1).values + 1) % PUBLIC
    start = torch.tensor([WEIGHTS[2:]])
    sets = [fitted_sets(row, Found(places[None], start)) for row, places in zip(unders, wrong, strict=True)]
    better = repaired(pursuit, unders, sets)
    assert all(each[0].fit.scale <= before[0].fit.scale for each, before in zip(better, sets, strict=True))
    errors = []
    for each, places in zip(better, sources.tolist(), strict=True):
        if set(each[0].places) == set(places):
            order = [each[0].places.index(one) for one in places]
            errors.append(np.abs(each[0].fit.weights[order] - WEIGHTS[2:]).max())
    assert len(errors) >= ROWS - 1
    assert np.median(errors) < 0.02


@pytest.mark.parametrize("told", [True, False])
def test_a_right_set_is_kept(told: bool) -> None:
    pursuit, unders, sources = rows(told=told)
    start = torch.tensor([WEIGHTS[2:]])
    sets = [fitted_sets(row, Found(places[None], start)) for row, places in zip(unders, sources, strict=True)]
    kept = repaired(pursuit, unders, sets)
    right = [set(each[0].places) == set(places) for each, places in zip(kept, sources.tolist(), strict=True)]
    assert sum(right) >= ROWS - 1


def test_influence_is_the_derivative_of_the_likelihood_and_ranks_public_images() -> None:
    pursuit, unders, sources = rows(told=False)
    pairs, known = unders[0].pairs(), sources[0, :2]
    images = pursuit.public.pixels().flatten(1).numpy().astype(np.float64)
    changes = images[:, pairs.first] - images[:, pairs.second]
    errors = np.random.default_rng(0).standard_cauchy(len(pairs.first))
    vector = influence(pairs, errors, images.shape[1])
    width = np.median(np.abs(errors))

    def likelihood(weight: float, image: int) -> float:
        return float(-(width**2) / 2 * np.log(1 + ((errors - weight * changes[image]) / width) ** 2).sum())

    for image in range(5):
        slope = (likelihood(1e-6, image) - likelihood(-1e-6, image)) / 2e-6
        np.testing.assert_allclose(float(vector @ torch.from_numpy(images[image]).float()), slope, rtol=1e-3)
    ranked = missing_images(pursuit, vector[None], known[None], 20)[0].tolist()
    scores = changes @ (errors / (1 + (errors / width) ** 2)) / np.sqrt((changes**2).sum(1))
    scores[known] = -np.inf
    assert ranked == np.argsort(-scores)[:20].tolist()
