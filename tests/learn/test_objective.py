import numpy as np
import torch

from hideseek.learn.objective import classification, soft_cross_entropy, varied


def test_soft_cross_entropy_against_numpy() -> None:
    generator = np.random.default_rng(0)
    logits, labels = generator.standard_normal((5, 4)), generator.random((5, 4)) * 0.3  # mass under 1
    logs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    expected = -np.mean(np.sum(labels * logs, axis=1))
    assert abs(float(soft_cross_entropy(torch.tensor(logits), torch.tensor(labels))) - expected) < 1e-6


def test_soft_cross_entropy_of_hard_labels_is_torchs() -> None:
    logits = torch.randn(6, 3, generator=torch.Generator().manual_seed(0))
    numbers = torch.tensor([0, 1, 2, 0, 1, 2])
    expected = torch.nn.functional.cross_entropy(logits, numbers)
    torch.testing.assert_close(soft_cross_entropy(logits, torch.eye(3)[numbers]), expected)


def test_accuracy_is_that_of_the_heaviest_class() -> None:
    labels = torch.tensor([[0.6, 0.4], [0.6, 0.4], [0.1, 0.2], [0.0, 1.0]])
    logits = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    _, watched = classification(augment=False)(torch.nn.Identity(), (logits, labels))
    assert float(watched["accuracy"]) == 0.75


def test_variations_are_shifts_and_mirror_images() -> None:
    torch.manual_seed(0)
    image = torch.arange(1.0, 257.0).view(1, 1, 16, 16)
    padded = np.pad(image[0, 0].numpy(), 2)
    possible = {
        turned.tobytes()
        for down in range(5)
        for right in range(5)
        for window in [padded[down : down + 16, right : right + 16]]
        for turned in (np.ascontiguousarray(window), np.ascontiguousarray(window[:, ::-1]))
    }
    seen = {np.ascontiguousarray(one[0].numpy()).tobytes() for one in varied(image.expand(600, 1, 16, 16))}
    assert seen == possible  # all fifty; one is missed with probability below 50·(49/50)^600 = 3·10⁻⁴


def test_channels_move_together() -> None:
    image = torch.randn(1, 1, 8, 8, generator=torch.Generator().manual_seed(0)).expand(20, 3, 8, 8)
    moved = varied(image)
    assert torch.equal(moved[:, 0], moved[:, 1])
    assert moved.is_contiguous(memory_format=torch.channels_last)
