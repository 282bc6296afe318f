"""Normals by the ziggurat.

Every statistical test here has a fixed seed and would fail for one seed in a million if all is right.
"""

import numpy as np
from scipy import stats

from hideseek.chance import seeded

ERROR = 1e-6


def test_normals_have_the_right_tails() -> None:
    values = np.abs(seeded(8).normals(8_000_000).double().numpy())
    for edge in (2.5, 3.0, 3.6541528853610088, 4.0, 4.5):  # one of them is where the tail's own method begins
        expected = 2 * stats.norm.sf(edge)
        assert stats.binomtest(int((values > edge).sum()), len(values), expected).pvalue > ERROR


def test_normals_fill_every_layer_of_the_ziggurat_evenly() -> None:
    values = seeded(8).normals(1_000_000).double().numpy()
    cells = np.floor(stats.norm.cdf(values) * 1000).astype(int)
    assert stats.chisquare(np.bincount(cells, minlength=1000)).pvalue > ERROR
