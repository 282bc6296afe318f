"""The U-Net: shapes, size, and that detail reaches the output past the pooling."""

import pytest
import torch

from hideseek.models import UNet


@pytest.mark.parametrize(("channels", "height", "width"), [(3, 32, 32), (1, 28, 28), (3, 9, 17), (1, 1, 1)])
def test_images_keep_their_shape(channels: int, height: int, width: int) -> None:
    images = torch.randn(2, channels, height, width)
    assert UNet(channels, width=4)(images).shape == images.shape


def test_size_by_hand() -> None:
    def convolution(inputs: int, outputs: int, kernel: int) -> int:
        return (inputs * kernel**2 + 1) * outputs

    b = 48
    expected = convolution(b, 3, 1)
    for inputs, outputs in [(3, b), (b, 2 * b), (2 * b, 4 * b), (4 * b, 8 * b)]:
        expected += convolution(inputs, outputs, 3) + convolution(outputs, outputs, 3)
    for outputs in (4 * b, 2 * b, b):
        expected += convolution(2 * outputs, outputs, 2)  # transposed
        expected += convolution(2 * outputs, outputs, 3) + convolution(outputs, outputs, 3)
    with torch.device("meta"):
        assert sum(p.numel() for p in UNet(3).parameters()) == expected


def test_padding_does_not_show_where_none_is_needed() -> None:
    torch.manual_seed(0)
    network = UNet(1, width=4)
    image = torch.randn(1, 1, 16, 13)
    continued = torch.cat([image, image[..., -1:].expand(-1, -1, -1, 3)], -1)
    torch.testing.assert_close(network(image), network(continued)[..., :13])


def test_a_pixel_reaches_far_and_near() -> None:
    torch.manual_seed(0)
    network = UNet(1, width=8)
    image = torch.randn(1, 1, 32, 32, requires_grad=True)
    network(image)[0, 0, 16, 16].backward()
    assert image.grad is not None
    reach = image.grad[0, 0].abs()
    assert reach[16, 16] > 0
    assert reach[:8].sum() > 0  # only through the deepest level


def test_it_learns_to_copy() -> None:
    torch.manual_seed(0)
    network = UNet(1, width=4)
    optimiser = torch.optim.Adam(network.parameters(), 1e-2)
    images = torch.rand(8, 1, 16, 16)
    losses = []
    for _ in range(60):
        loss = (network(images) - images).abs().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.4 * losses[0]
