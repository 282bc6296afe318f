"""The network that restores signs: its objective, its discriminator, what it gives."""

import numpy as np
import pytest
import torch

from hideseek.seek.networks.restore_signs import Demasker
from hideseek.seek.networks.sign_network import Game, SignNetwork, objective


def test_restored_mixtures_keep_their_sizes_and_follow_the_probability() -> None:
    torch.manual_seed(0)
    restore = Demasker(SignNetwork(3, 2))
    images = torch.randn(700, 3, 24, 24)  # two blocks
    with torch.no_grad():
        logits = restore.network(images.abs()).double().numpy()
    sizes, plus = np.abs(images.numpy()), 1 / (1 + np.exp(-logits))
    assert (restore(images).numpy() == np.where(plus < 0.5, -1, 1) * sizes).mean() > 0.999  # but for rounding at ½
    np.testing.assert_allclose(restore(images).abs().numpy(), sizes)
    np.testing.assert_allclose(restore.expected(images).numpy(), (2 * plus - 1) * sizes, atol=1e-5)
    np.testing.assert_allclose(restore.expected(5 * images).numpy(), 5 * (2 * plus - 1) * sizes, atol=1e-4)
    assert torch.equal(restore(torch.zeros(1, 3, 8, 8)), torch.zeros(1, 3, 8, 8))


def test_the_objective_is_the_cross_entropy_of_signs() -> None:
    torch.manual_seed(0)
    game, mixed = Game(1, 2, 0.0), torch.randn(4, 1, 8, 8)
    loss, watched = objective(game, (mixed, mixed))
    logits = game.signs(mixed.abs()).detach().double().numpy()
    plus, signs = 1 / (1 + np.exp(-logits)), mixed.numpy() >= 0
    assert float(loss.detach()) == pytest.approx(-np.log(np.where(signs, plus, 1 - plus)).mean(), rel=1e-5)
    assert float(watched["accuracy"]) == pytest.approx(((plus >= 0.5) == signs).mean())


def test_the_discriminator_learns_forwards_and_the_network_backwards() -> None:
    """Gradients of the game against those of −adversarial · D's loss, taken from soft signs."""
    torch.manual_seed(0)
    game, mixed, weight = Game(1, 2, 0.3), torch.randn(4, 1, 8, 8), 0.3
    mixed /= mixed.square().mean((1, 2, 3), keepdim=True).sqrt()
    objective(game, (mixed, mixed))[0].backward()
    found = [parameter.grad.clone() for parameter in game.parameters() if parameter.grad is not None]
    game.zero_grad()
    assert game.discriminator is not None
    logits = game.signs(mixed.abs())
    plus = torch.sigmoid(logits)
    hard = torch.where(logits < 0, -1.0, 1.0) * mixed.abs()
    leaf = hard.detach().requires_grad_()
    judged = (
        -torch.sigmoid(game.discriminator(mixed)).log().mean() - torch.sigmoid(-game.discriminator(leaf)).log().mean()
    )
    judged.backward()
    assert leaf.grad is not None
    entropy = -torch.where(mixed >= 0, plus, 1 - plus).log().mean()
    (entropy - weight * ((2 * plus - 1) * mixed.abs() * leaf.grad).sum()).backward()
    expected = [parameter.grad for parameter in game.parameters() if parameter.grad is not None]
    assert len(found) == len(expected) == len(list(game.parameters()))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-6)
