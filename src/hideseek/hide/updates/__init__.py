"""Sharing what images change in a model, instead of images: federated learning, and its defences."""

from hideseek.hide.updates.clipping import GradientNoise
from hideseek.hide.updates.imported import from_gradients, from_states, together
from hideseek.hide.updates.pruning import GradientPruning
from hideseek.hide.updates.quantising import Quantised, Sign
from hideseek.hide.updates.share import ShareUpdates
from hideseek.records.defence import Defence

DEFENCES: dict[str, Defence] = {
    "gradient-pruning": GradientPruning(),
    "gradient-noise": GradientNoise(),
    "sign": Sign(),
    "quantised": Quantised(),
}

__all__ = [
    "DEFENCES",
    "GradientNoise",
    "GradientPruning",
    "Quantised",
    "ShareUpdates",
    "Sign",
    "from_gradients",
    "from_states",
    "together",
]
