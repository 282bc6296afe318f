import threading
from collections.abc import Iterator

import pytest
import torch

import toys
from hideseek.chance import secure, seeded
from hideseek.errors import BadInput
from hideseek.hide import InstaHide
from hideseek.learn import batches
from hideseek.learn.batches import Reencoded, Shuffled, ahead, needs_classes, streams
from hideseek.records import Samples
from hideseek.train.worker import Worker

HERE = Worker(torch.device("cpu"))


def test_shuffled_epochs_hold_every_full_batch_once_in_fresh_orders() -> None:
    samples = toys.images(23, stored=False)
    epochs = Shuffled(samples, 5, streams(secure(), 2, HERE))
    seen = [torch.cat([images for images, _ in epochs.epoch(number, 0)]) for number in (0, 1)]
    assert epochs.steps == 4
    assert len(seen[0]) == 20
    assert not torch.equal(seen[0], seen[1])
    rows = {tuple(image.flatten().tolist()) for image in seen[0]}
    assert len(rows) == 20
    assert rows <= {tuple(image.flatten().tolist()) for image in samples.images}


@pytest.mark.parametrize("first", [0, 1, 3])
def test_an_epoch_can_be_taken_up_in_the_middle(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "PIECE", 2 * 5 * 105)  # two batches a piece
    samples = toys.images(23)
    for epochs in (
        Shuffled(samples, 5, streams(seeded(1), 2, HERE)),
        Reencoded(samples, None, InstaHide(), 5, streams(seeded(1), 2, HERE)),
        Reencoded(samples, None, InstaHide(), 5, streams(seeded(1), 2, HERE), alongside=True),
    ):
        whole, rest = list(epochs.epoch(1, 0)), list(epochs.epoch(1, first))
        assert len(whole) == 4
        assert len(rest) == 4 - first
        for (images, labels), (expected_images, expected_labels) in zip(rest, whole[first:], strict=True):
            assert torch.equal(images, expected_images)
            assert torch.equal(labels, expected_labels)


def test_every_epoch_has_fresh_keys() -> None:
    epochs = Reencoded(toys.images(20), None, InstaHide(), 20, streams(secure(), 2, HERE))
    (one, _), (two, _) = (next(epochs.epoch(number, 0)) for number in (0, 1))
    assert not torch.equal(one, two)
    assert not torch.equal(one.abs().sort(0).values, two.abs().sort(0).values)


def test_ahead_keeps_order_and_works_on_another_thread() -> None:
    threads = set()

    def items() -> Iterator[int]:
        for number in range(5):
            threads.add(threading.current_thread().name)
            yield number

    assert list(ahead(items())) == [0, 1, 2, 3, 4]
    assert threading.current_thread().name not in threads


def test_ahead_passes_errors_on() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise BadInput("no more")

    with pytest.raises(BadInput, match="no more"):
        list(ahead(items()))


def test_fewer_rows_than_a_batch() -> None:
    with pytest.raises(BadInput, match="4 images are fewer than a batch of 5: lower --batch"):
        _ = Shuffled(toys.images(4), 5, ()).steps


def test_nothing_to_tell_apart() -> None:
    with pytest.raises(BadInput, match="one class"):
        needs_classes(Samples(torch.zeros(3, 1, 2, 2), torch.eye(2)[[0, 0, 0]]))
    with pytest.raises(BadInput, match="no labels"):
        needs_classes(Samples(torch.zeros(3, 1, 2, 2), torch.empty(3, 0)))
