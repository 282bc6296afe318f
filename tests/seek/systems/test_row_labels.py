import numpy as np
import torch

from hideseek.chance import seeded
from hideseek.hide import Mixup
from hideseek.hide.updates import ShareUpdates
from hideseek.seek.systems.row_labels import row_labels, same_order
from hideseek.train.first_dense import FirstDense, first_dense
from toys import images


def test_each_row_of_a_batch_has_its_own_label() -> None:
    private = images(8)
    scheme = ShareUpdates("relu-dense", batch=4, encoding=Mixup(k=2), mode="eval")
    filled = scheme.with_estimates(private, None, seeded(1))
    assert filled.start is not None
    (rows, _, _), *_ = filled.batches(private, seeded(2))
    update, _ = filled.update(filled.start, rows, seeded(3))
    layer = first_dense(filled.start, private.shape, "eval")
    assert isinstance(layer, FirstDense)
    found = row_labels(filled.start.network().eval(), layer, layer.matrix(update), rows.pixels())
    assert np.allclose(found.numpy(), rows.labels.numpy(), atol=1e-4)


def test_rows_are_put_in_the_order_of_the_labels_that_are_known() -> None:
    given = torch.tensor([[0.7, 0.3, 0.0], [0.1, 0.2, 0.7], [0.0, 1.0, 0.0]])
    assert same_order(given[[2, 0, 1]] + 1e-3, given) == [1, 2, 0]
