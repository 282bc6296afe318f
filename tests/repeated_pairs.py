"""Releases that pair the same neighbours in the same order in every round, as a careless program would make them."""

import numpy as np
import torch

from hideseek.hide import SingularizedMixup
from hideseek.records import EncodedRelease, Samples
from hideseek.records.mixing_secret import MixingSecret


def repeated(private: Samples, radius: float, rounds: int, seed: int = 1) -> tuple[EncodedRelease, MixingSecret]:
    """x̃ = λ x_i + (1 − λ)(x_{i+1} + e), ‖e‖ = r, with a new λ of [0.35, 0.65] and a new e in every round."""
    generator, count = np.random.default_rng(seed), len(private)
    images, labels = private.pixels().double().numpy(), private.labels.double().numpy()
    rows, mixed, sources, weights = [], [], [], []
    for _ in range(rounds):
        for one in range(count):
            other, share = (one + 1) % count, generator.uniform(0.35, 0.65)
            noise = generator.standard_normal(images[0].shape)
            noise *= radius / np.linalg.norm(noise)
            rows.append(share * images[one] + (1 - share) * (images[other] + noise))
            mixed.append(share * labels[one] + (1 - share) * labels[other])
            sources.append((one, other))
            weights.append((share, 1 - share))
    encoded = Samples(_single(rows), _single(mixed), normalisation=private.normalisation)
    release = EncodedRelease(encoded, SingularizedMixup(radius=radius), rounds=rounds)
    nothing = torch.empty(len(rows), 0, dtype=torch.int64)
    return release, MixingSecret(private, torch.tensor(sources), nothing, torch.tensor(weights))


def _single(parts: list[np.ndarray]) -> torch.Tensor:
    return torch.from_numpy(np.array(parts)).float()
