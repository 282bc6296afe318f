"""LPIPS against its formula, written out for the published weights."""

import os
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from torch.nn import functional as F  # noqa: N812 (as everybody calls it)

from hideseek.errors import BadInput
from hideseek.models.lpips import enlarged, load_lpips

DATA = Path(os.environ.get("HIDESEEK_DATA", "/nowhere"))
needs_weights = pytest.mark.skipif(
    not (DATA / "lpips_alex.npz").is_file(), reason="HIDESEEK_DATA names no folder with the LPIPS weights"
)


def pairs() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    rough = torch.rand(3, 3, 64, 64, generator=generator)
    smooth = F.avg_pool2d(F.pad(rough, (2, 2, 2, 2), mode="reflect"), 5, 1) * 4 - 2
    levels = torch.tensor([0.05, 0.2, 0.6])[:, None, None, None]
    noisy = smooth + levels * torch.randn(smooth.shape, generator=generator)
    return smooth.clamp(-1, 1), noisy.clamp(-1, 1)


def written_out(backbone: str, x: torch.Tensor, y: torch.Tensor) -> np.ndarray:
    """Σ_l mean Σ_c w_lc (x̂_lc − ŷ_lc)², one layer after another."""
    weights = np.load(DATA / f"lpips_{backbone}.npz")
    layer, total = 0, np.zeros(len(x))
    both = torch.cat([x, y])
    both = (both - torch.tensor([-0.030, -0.088, -0.188]).view(3, 1, 1)) / torch.tensor([0.458, 0.448, 0.450]).view(
        3, 1, 1
    )
    counts, pooled = ((1,) * 5, (1, 2)) if backbone == "alex" else ((2, 2, 3, 3, 3), (1, 2, 3, 4))
    for stage, count in enumerate(counts):
        if stage in pooled:
            both = F.max_pool2d(both, 3 if backbone == "alex" else 2, 2)
        for _ in range(count):
            kernel, bias = (torch.from_numpy(weights[f"conv{layer}_{part}"].astype(np.float32)) for part in "wb")
            stride, padding = (4, 2) if kernel.shape[2] == 11 else (1, kernel.shape[2] // 2)
            both = F.relu(F.conv2d(both, kernel, bias, stride, padding))
            layer += 1
        maps = both.double().numpy()
        unit = maps / (np.sqrt((maps**2).sum(1, keepdims=True)) + 1e-10)
        difference = (unit[: len(x)] - unit[len(x) :]) ** 2
        total += (difference * weights[f"lin{stage}"][:, None, None]).sum(1).mean((1, 2))
    return total


@needs_weights
@pytest.mark.parametrize("backbone", ["alex", "vgg"])
def test_against_the_formula(backbone: Literal["alex", "vgg"]) -> None:
    x, y = pairs()
    scores = load_lpips(backbone)(x, y)
    np.testing.assert_allclose(scores.numpy(), written_out(backbone, x, y), rtol=1e-4)
    assert scores[0] < scores[1] < scores[2]
    assert load_lpips(backbone)(x, x).abs().max() == 0


def test_small_and_grey_images_are_made_to_fit() -> None:
    grey = torch.rand(2, 1, 28, 32)
    assert enlarged(grey).shape == (2, 3, 64, 73)
    large = torch.rand(2, 3, 64, 80)
    assert enlarged(large) is large


def test_damaged_and_foreign_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIDESEEK_DATA", str(tmp_path))
    (tmp_path / "lpips_alex.npz").write_bytes(b"nonsense")
    with pytest.raises(BadInput, match="damaged"):
        load_lpips("alex")
    np.savez(tmp_path / "lpips_vgg.npz", conv0_w=np.zeros((1, 2, 3, 4), np.float32))
    with pytest.raises(BadInput, match="not those of vgg"):
        load_lpips("vgg")


def test_weights_are_fetched_from_their_publishers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIDESEEK_DATA", str(tmp_path))
    shapes = {
        "0": (64, 3, 11, 11),
        "3": (192, 64, 5, 5),
        "6": (384, 192, 3, 3),
        "8": (256, 384, 3, 3),
        "10": (256, 256, 3, 3),
    }
    asked = []

    def fetch(address: str, **how: Any) -> dict[str, torch.Tensor]:
        asked.append(address)
        assert how["weights_only"]
        if "pytorch" in address:
            kernels = {f"features.{name}.weight": torch.full(shape, 0.5) for name, shape in shapes.items()}
            return kernels | {f"features.{name}.bias": torch.zeros(shape[0]) for name, shape in shapes.items()}
        return {f"lin{i}.model.1.weight": torch.ones(1, shape[0], 1, 1) for i, shape in enumerate(shapes.values())}

    monkeypatch.setattr(torch.hub, "load_state_dict_from_url", fetch)
    network = load_lpips("alex")
    assert len(asked) == 2
    assert all(bool((head == 1).all()) for head in network.heads)
    assert float(next(network.stages.parameters()).mean()) == 0.5

    def fail(address: str, **how: Any) -> None:
        raise OSError("no route")

    monkeypatch.setattr(torch.hub, "load_state_dict_from_url", fail)
    with pytest.raises(BadInput, match=r"could not be fetched \(no route\)"):
        load_lpips("alex")
