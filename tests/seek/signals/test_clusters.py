import torch
from torch.nn import functional

from hideseek.chance import seeded
from hideseek.seek.signals.clusters import clusters


def test_rows_of_one_direction_are_a_cluster() -> None:
    generator = torch.Generator().manual_seed(0)
    truth = torch.arange(120) % 4
    strengths = 0.3 + torch.rand(120, generator=generator)
    directions = torch.randn(4, 200, generator=generator)
    rows = strengths[:, None] * directions[truth] + torch.randn(120, 200, generator=generator)
    found = clusters(functional.normalize(rows), strengths, 4, 15, seeded(0))
    assert found.distinct == 4
    assert sorted(int(truth[members].mode().values) for members in found.members) == [0, 1, 2, 3]
    for members in found.members:
        assert float((truth[members] == truth[members].mode().values).float().mean()) > 0.9


def test_where_all_rows_are_alike_the_number_is_filled_up() -> None:
    found = clusters(torch.eye(1, 50).expand(20, 50) + 0.0, torch.ones(20), 3, 5, seeded(0))
    assert len(found.members) == 3
