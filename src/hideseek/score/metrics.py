"""Every metric by its name: a new one is a function and a line in the table of its file."""

from hideseek.score import keys, links, perceptual, reconstruction
from hideseek.score import public_images as uncovered
from hideseek.score.metric import Metric

METRICS: dict[str, Metric] = {
    **reconstruction.METRICS,
    **perceptual.METRICS,
    **uncovered.METRICS,
    **links.METRICS,
    **keys.METRICS,
}

__all__ = ["METRICS", "Metric"]
