import numpy as np
import torch

from hideseek.chance import seeded
from hideseek.seek.signals.signed_clusters import distinct, whitener
from hideseek.seek.systems.row_pursuit import fitted, pursued
from hideseek.seek.systems.signed_dictionary import agreed, coded, signed_dictionary

SHAPE = (1, 12, 12)


def mixtures(images: int = 20, rounds: int = 12, per_row: int = 2) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Give images, the weights of rows, and rows, each with a sign of its own; images are white, so all is linear."""
    chance = seeded(2)
    pixels = chance.normals(images, 144)
    weights = torch.zeros(images * rounds, images)
    for turn in range(rounds):
        for place in range(per_row):
            rows = torch.arange(images) + turn * images
            weights[rows, (torch.arange(images) + place * (1 + turn)) % images] += 0.3 + 0.3 * chance.uniforms(images)
    sides = chance.signs(len(weights), 1).float()
    return pixels, weights, sides * (weights @ pixels)


def test_white_rows_have_the_covariance_of_noise() -> None:
    rows = seeded(0).normals(5000, 16) @ (torch.eye(16) + 0.2 * seeded(1).normals(16, 16))
    white = rows @ whitener(rows, (1, 4, 4))
    assert float(((white.T @ white) / 5000 - torch.eye(16)).abs().max()) < 0.05


def test_distinct_directions_are_apart_from_each_other_and_from_known_ones() -> None:
    centres = torch.eye(4)[[0, 0, 1, 2]] * torch.tensor([1.0, -1.0, 1.0, 1.0])[:, None]
    chosen = distinct(centres, torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.eye(4)[2:3], 4, 0.5)
    assert chosen == [2, 1]


def test_codes_are_least_squares_of_the_atoms_that_are_there() -> None:
    atoms = torch.nn.functional.normalize(seeded(0).normals(10, 40))
    truth = torch.zeros(5, 10)
    truth[torch.arange(5), torch.arange(5)], truth[torch.arange(5), torch.arange(5) + 5] = 1.0, -0.6
    rows = truth @ atoms + 0.01 * seeded(1).normals(5, 40)
    codes = coded(rows, atoms, 2)
    for row in range(5):
        there = [row, row + 5]
        reference = np.linalg.lstsq(atoms[there].numpy().T, rows[row].numpy())[0]
        np.testing.assert_allclose(codes[row, there].numpy(), reference, atol=0.03)
        assert int((codes[row] != 0).sum()) == 2


def test_signs_of_atoms_and_rows_agree_again() -> None:
    truth = mixtures()[1]
    chance = seeded(4)
    turned = truth * chance.signs(len(truth), 1) * chance.signs(1, truth.shape[1])
    codes, _ = agreed(turned)
    torch.testing.assert_close(codes, truth)


def test_a_dictionary_of_signed_rows_has_the_images() -> None:
    images, _, rows = mixtures()
    found = signed_dictionary(rows, SHAPE, 20, 2, 12, seeded(0))
    alike = torch.corrcoef(torch.cat([images, found.images]))[:20, 20:].abs().amax(1)
    assert float(alike.min()) > 0.95
    assert found.agreeing > 0.95


def test_a_dictionary_of_noise_has_no_images() -> None:
    images = mixtures()[0]
    found = signed_dictionary(seeded(8).normals(240, 144), SHAPE, 20, 2, 12, seeded(0))
    alike = torch.corrcoef(torch.cat([images, found.images]))[:20, len(images) :].abs().amax(1)
    assert float(alike.max()) < 0.5


def test_pursuit_finds_images_and_weights_under_a_mask() -> None:
    images, weights, rows = mixtures(per_row=3)
    magnitudes = rows.abs()
    found = pursued(magnitudes, images, SHAPE, weights.argmax(1), 3)
    truth = weights.topk(3, 1).indices.sort(1).values
    right = (found.sources.sort(1).values == truth).all(1)
    assert float(right.float().mean()) > 0.9
    error = found.weights - weights.gather(1, found.sources)
    assert float(error[right].abs().mean()) < 0.03
    assert float(found.left[right].mean()) < 0.01 * float(magnitudes.square().mean())


def test_weights_are_least_squares_where_signs_are_sure() -> None:
    chance = seeded(1)
    images = 5.0 + chance.uniforms(3, 50).float()
    mixed = torch.tensor([[0.5, 0.3, 0.2]]) @ images
    found = fitted(mixed.abs(), images, torch.tensor([[0, 1, 2]]), torch.full((1, 3), 0.3), torch.tensor([0.1]))
    reference = mixed[0].numpy() @ images.numpy().T
    matrix = (images @ images.T).numpy()
    ridge = 0.01 * matrix.diagonal().mean() * np.eye(3)
    np.testing.assert_allclose(found.weights[0].numpy(), np.linalg.solve(matrix + ridge, reference), atol=2e-3)
