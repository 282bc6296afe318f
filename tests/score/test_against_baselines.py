"""A score beside its baselines: what counts as an advantage."""

import pytest
import torch

from hideseek.chance import seeded
from hideseek.score.against_baselines import compared
from hideseek.score.metrics import METRICS


@pytest.mark.parametrize(("advantage", "found"), [(1e-7, False), (1e-2, True)])
def test_a_baselines_own_answer_computed_otherwise_is_no_advantage(advantage: float, found: bool) -> None:
    metric = METRICS["absolute-correlation"]
    baseline = 0.3 + 0.1 * torch.rand(60, generator=torch.Generator().manual_seed(0))
    values = baseline * (1 + advantage)  # always on the one side, as a mean that is summed in another order may be
    name = ("absolute-correlation", "reconstruction", 0)
    score = compared(name, metric, values, {"mean image": baseline}, torch.arange(60), None, None, seeded(1))
    assert score.significance is not None
    assert (score.significance.p_value < 0.025) is found
