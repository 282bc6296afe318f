"""The colours of solved images: a small network, the same for every pixel, learns from images that are known."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from hideseek.chance import Randomness
from hideseek.train.worker import torch_seed

WIDTH = 32
STEPS = 300
SAMPLE = 4096  # pixels of a step


def colour_network(
    solved: Float[Tensor, "n c h w"], true: Float[Tensor, "n c h w"], chance: Randomness
) -> nn.Sequential:
    """Train a network from the colours of a solved pixel to those of the true one, by squared error."""
    channels = solved.shape[1]
    with torch_seed(int.from_bytes(chance.bytes(6), "little")):
        network = nn.Sequential(
            nn.Linear(2 * channels, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, channels)
        )
    given, wanted = _pixels(_unit(solved)), true.movedim(1, -1).flatten(0, -2)
    optimiser = torch.optim.Adam(network.parameters(), lr=3e-3)
    for _ in range(STEPS):
        some = chance.integers(len(given), min(SAMPLE, len(given)))
        optimiser.zero_grad()
        (network(given[some]) - wanted[some]).square().mean().backward()
        optimiser.step()
    return network.eval()


@torch.no_grad()
def recoloured(network: nn.Sequential, solved: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
    """Give images with the colours that the network gives them."""
    flat: Tensor = network(_pixels(_unit(solved)))
    return flat.view(len(solved), *solved.shape[2:], -1).movedim(-1, 1).contiguous()


def _unit(images: Tensor) -> Tensor:
    """Bring every image to mean 0 and deviation 1: solved ones are stretched to the range, as published."""
    centred = images - images.mean((1, 2, 3), keepdim=True)
    return centred / centred.square().mean((1, 2, 3), keepdim=True).sqrt().clamp_min(1e-12)


def _pixels(images: Tensor) -> Tensor:
    flat = images.movedim(1, -1).flatten(0, -2)
    return torch.cat([flat, flat.abs()], 1)
