"""Choosing: what a model is worth under each way to protect the images that it learns from, at the same ε."""

from hideseek.choose.compare import Choice, Measured, compare
from hideseek.choose.ways import WAYS, Privacy, Way

__all__ = ["WAYS", "Choice", "Measured", "Privacy", "Way", "compare"]
