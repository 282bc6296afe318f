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


def linear(shape: Shape, classes: int) -> Classifier:
    """Build one dense layer on all pixels or features: logits = W x + b."""
    return Classifier(nn.Flatten(), nn.Linear(math.prod(shape), classes))
