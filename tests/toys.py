"""Small problems with known answers."""

from dataclasses import replace

import numpy as np
import torch

from hideseek.records import Normalisation, Samples
from hideseek.records.mixing_secret import MixingSecret


def images(
    count: int,
    channels: int = 3,
    height: int = 7,
    width: int = 5,
    classes: int = 5,
    *,
    stored: bool = True,
    seed: int = 0,
) -> Samples:
    """Random images, as bytes with an affine map of their own each, or as floats."""
    generator = np.random.default_rng(seed)
    labels = torch.eye(classes)[torch.arange(count) % classes]
    shape = (count, channels, height, width)
    if not stored:
        return Samples(torch.from_numpy(generator.standard_normal(shape, dtype=np.float32)), labels)
    return Samples(
        torch.from_numpy(generator.integers(0, 256, shape, dtype=np.uint8)),
        labels,
        torch.from_numpy(generator.random((count, channels), dtype=np.float32) / 64),
        torch.from_numpy(generator.standard_normal((count, channels), dtype=np.float32)),
    )


def named(count: int = 40) -> Samples:
    """Random images whose classes have names, with constants of a normalisation."""
    constants = Normalisation("channel", (0.1, 0.2, 0.3), (1.0, 1.5, 2.0))
    return replace(images(count), classes=("a", "b", "c", "d", "ë"), normalisation=constants)


def mixture(secret: MixingSecret, public: Samples | None) -> tuple[np.ndarray, np.ndarray]:
    """The rows and labels that a secret describes, without its noise: the equations, one row and image at a time."""
    private = _values(secret.private)
    others = _values(public) if public is not None else np.empty(0)
    own = secret.sources.shape[1]
    weights = secret.weights.numpy().astype(np.float64)
    rows, labels = [], []
    for r in range(len(weights)):
        row = sum(weights[r, j] * private[secret.sources[r, j]] for j in range(own))
        row = row + sum(weights[r, own + j] * others[s] for j, s in enumerate(secret.public_sources[r].tolist()))
        rows.append(row)
        labels.append(
            sum(weights[r, j] * secret.private.labels[secret.sources[r, j]].double().numpy() for j in range(own))
        )
    mixed = np.stack(rows)
    if secret.mask is not None:
        for r, c, q in np.ndindex(*mixed.shape[:2], mixed.shape[2] * mixed.shape[3]):
            if secret.mask[r, c, q // 8].item() >> (q % 8) & 1:
                mixed[r, c, q // mixed.shape[3], q % mixed.shape[3]] *= -1
    return mixed, np.stack(labels)


def _values(samples: Samples) -> np.ndarray:
    """Pixel values by their definition, in double precision."""
    stored = samples.images.numpy().astype(np.float64)
    scale, shift = samples.scale.double().numpy(), samples.shift.double().numpy()
    values: np.ndarray = stored * scale[:, :, None, None] + shift[:, :, None, None]
    return values


def patterns(count: int, classes: int = 3, channels: int = 1, side: int = 12, seed: int = 0) -> Samples:
    """Images that are easy to tell apart: a pattern for each class, under some noise."""
    shapes = np.random.default_rng(1).standard_normal((classes, channels, side, side), dtype=np.float32)
    noise = np.random.default_rng(seed).standard_normal((count, channels, side, side), dtype=np.float32)
    ids = np.arange(count) % classes
    return Samples(torch.from_numpy(shapes[ids] + 0.5 * noise), torch.eye(classes)[torch.from_numpy(ids)])
