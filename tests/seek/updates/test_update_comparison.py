"""What candidates are compared with, by how an update was defended."""

import pytest
import torch

from hideseek.chance import seeded
from hideseek.hide.updates import GradientPruning, ShareUpdates
from hideseek.seek.systems.gradient_distance import Squared
from hideseek.seek.updates.update_comparison import Compares, comparison_with

BEFORE = {"weight": torch.tensor([3.0, -2.0, 0.5, 0.1]), "bias": torch.tensor([1.0, -0.2])}
SENT = {"weight": torch.tensor([3.0, -2.0, 0.0, 0.0]), "bias": torch.tensor([1.0, 0.0])}  # half of each is pruned


@pytest.mark.parametrize(
    ("compares", "found", "missed"),
    [
        ("as-sent", BEFORE, 0.5**2 + 0.1**2 + 0.2**2),
        ("surviving", BEFORE, 0.0),
        ("allowed", BEFORE, 0.0),
        ("as-sent", {**BEFORE, "bias": torch.tensor([1.0, 1.5])}, 0.5**2 + 0.1**2 + 1.5**2),
        ("surviving", {**BEFORE, "bias": torch.tensor([1.0, 1.5])}, 0.0),
        ("allowed", {**BEFORE, "bias": torch.tensor([1.0, 1.5])}, 0.5**2),  # more than 1 was not pruned
    ],
)
def test_pruned_entries_count_as_each_attacker_has_it(
    compares: Compares, found: dict[str, torch.Tensor], missed: float
) -> None:
    scheme = ShareUpdates("linear", defences=(GradientPruning(0.5),))
    assert {name: each.tolist() for name, each in GradientPruning(0.5).apply(BEFORE, seeded(0)).items()} == {
        name: each.tolist() for name, each in SENT.items()
    }
    comparison = comparison_with(SENT, scheme, Squared(), compares, list(SENT.values()))
    length = sum(float(each.square().sum()) for each in SENT.values())
    assert float(comparison(list(found.values())).value) == pytest.approx(missed / length, abs=1e-6)
