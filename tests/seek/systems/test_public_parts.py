import numpy as np
import torch

from hideseek.seek.signals.masked_pursuit import inverse_local_energy
from hideseek.seek.systems.image_spectrum import ImageSpectrum
from hideseek.seek.systems.mixtures import Mixtures
from hideseek.seek.systems.phase_retrieval import PhaseProblem
from hideseek.seek.systems.public_parts import public_parts
from hideseek.seek.systems.public_scores import PublicScores
from releases import photos

ROWS, IMAGES = 60, 8


def problem() -> tuple[PhaseProblem, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Rows of two private and three public photographs, the private ones, and which public ones with what weights."""
    private, public = photos("channel")
    images = private.take(slice(0, IMAGES)).pixels()
    chance = np.random.default_rng(0)
    sources, others = (
        torch.from_numpy(np.stack([chance.permutation(most)[:count] for _ in range(ROWS)]))
        for most, count in ((IMAGES, 2), (len(public), 3))
    )
    weights = torch.tensor([0.1, 0.3, 0.2]).expand(ROWS, 3).contiguous()
    mixtures = Mixtures(sources, torch.full((ROWS, 2), 0.2), IMAGES)
    rows = mixtures.mixed(images.flatten(1)).view(ROWS, *images.shape[1:])
    rows = rows + torch.einsum(
        "rk,rkchw->rchw", weights, public.pixels(others.flatten()).view(ROWS, 3, *rows.shape[1:])
    )
    spectrum = ImageSpectrum.of(public)
    return (
        PhaseProblem(rows.abs(), mixtures, weights.square().sum(1), weights.sum(1), spectrum),
        images,
        others,
        weights,
    )


def test_public_images_are_found_with_their_weights() -> None:
    given, images, others, weights = problem()
    parts = public_parts(given, images, photos("channel")[1], weights, 0.01)
    assert float((parts.candidates == others).float().mean()) > 0.95
    right = (parts.candidates == others).all(1)
    private = given.mixtures.mixed(images.flatten(1)).view_as(given.magnitudes)
    torch.testing.assert_close((private + parts.sums)[right].abs(), given.magnitudes[right], atol=1e-6, rtol=0)


def test_squares_alone_find_one_of_them_where_nothing_is_known() -> None:
    given, _, others, weights = problem()
    nothing, none = torch.zeros_like(given.magnitudes), torch.full_like(others, -1)
    scores = PublicScores.of(given, photos("channel")[1])
    found = scores.best(given.magnitudes, nothing, weights, torch.full((ROWS,), 0.1), none)
    assert float((found[:, None] == others).any(1).float().mean()) > 0.95
    again = scores.best(given.magnitudes, nothing, weights, torch.full((ROWS,), 0.1), found[:, None])
    assert not bool((again == found).any())  # none that is taken


def test_places_of_much_energy_count_for_less() -> None:
    white = torch.ones(1, 3, 12, 12)
    white[..., :4, :4] = 10
    padded = np.pad(white[0, 0].numpy() ** 2, 2, mode="edge")
    local = np.array([[padded[row : row + 5, column : column + 5].mean() for column in range(12)] for row in range(12)])
    expected = torch.from_numpy(1 / (local + 0.05 * local.mean())).float()
    torch.testing.assert_close(inverse_local_energy(white), expected.expand(1, 3, -1, -1))
