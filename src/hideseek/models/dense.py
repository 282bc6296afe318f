"""Dense networks, for features: the classifier of Singularized Mixup, and a linear one."""

import math

from torch import nn

from hideseek.models.classifier import Classifier, Shape


def dense(shape: Shape, classes: int) -> Classifier:
    """Build the three dense layers of Singularized Mixup, Eq. 8, for features of any shape, n×f×1×1 or n×512×7×7.

    Flatten → Linear(in, 1024) → BatchNorm → GELU → Dropout(½) → Linear(1024, 512) → BatchNorm → GELU → Dropout(½)
    → Linear(512, classes).
    """
    layers: list[nn.Module] = [nn.Flatten()]
    inputs = math.prod(shape)
    for outputs in (1024, 512):
        layers += [nn.Linear(inputs, outputs), nn.BatchNorm1d(outputs), nn.GELU(), nn.Dropout(0.5)]
        inputs = outputs
    return Classifier(nn.Sequential(*layers), nn.Linear(inputs, classes))


def relu_dense(shape: Shape, classes: int) -> Classifier:
    """Build a dense network whose first layer, of 1,000 ReLUs, sees all pixels.

    Flatten → Linear(in, 1000) → ReLU → Linear(1000, 100) → ReLU → Linear(100, classes): exact attacks on batches are
    shown on first layers of that width (Dimitrov et al. 2024, SPEAR; peeling by LT codes, 2026).
    Deviation: their depths and widths differ; what follows the first layer does not matter to these attacks.
    """
    layers = [nn.Flatten(), nn.Linear(math.prod(shape), 1000), nn.ReLU(), nn.Linear(1000, 100), nn.ReLU()]
    return Classifier(nn.Sequential(*layers), nn.Linear(100, classes))


def linear(shape: Shape, classes: int) -> Classifier:
    """Build one dense layer on all pixels or features: logits = W x + b."""
    return Classifier(nn.Flatten(), nn.Linear(math.prod(shape), classes))
