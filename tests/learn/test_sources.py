import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch

import toys
from hideseek.chance import secure, seeded
from hideseek.errors import BadInput
from hideseek.hide import InstaHide, Laplace, Mixup
from hideseek.learn import Plain, Private, PrivateSGD, Reencoded, Source, suited
from hideseek.learn.sources import reencoded
from hideseek.learn.sources.reencoded import ahead
from hideseek.train.training import Training
from hideseek.train.worker import Worker

HERE = Worker(torch.device("cpu"))


def test_shuffled_epochs_hold_every_full_batch_once_in_fresh_orders() -> None:
    samples = toys.images(23, stored=False)
    epochs = Plain(samples).batches(Training(2, 5), secure(), 1, HERE)
    seen = [torch.cat([images for images, _ in epochs.epoch(number, 0)]) for number in (0, 1)]
    assert epochs.steps == 4
    assert len(seen[0]) == 20
    assert not torch.equal(seen[0], seen[1])
    rows = {tuple(image.flatten().tolist()) for image in seen[0]}
    assert len(rows) == 20
    assert rows <= {tuple(image.flatten().tolist()) for image in samples.images}


@pytest.mark.parametrize("first", [0, 1, 3])
def test_an_epoch_can_be_taken_up_in_the_middle(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reencoded, "PIECE", 2 * 5 * 105)  # two batches a piece
    samples = toys.images(23)
    encoded = Reencoded(samples, InstaHide()).batches(Training(2, 5), seeded(1), 1, HERE)
    private = Private(samples, PrivateSGD(noise=1.0)).batches(Training(2, 5), seeded(1), 1, HERE)
    plain = Plain(samples).batches(Training(2, 5), seeded(1), 1, HERE)
    for epochs in (plain, private, encoded, replace(encoded, alongside=True)):
        whole, rest = list(epochs.epoch(1, 0)), list(epochs.epoch(1, first))
        assert len(whole) == 4
        assert len(rest) == 4 - first
        for (images, labels), (expected_images, expected_labels) in zip(rest, whole[first:], strict=True):
            assert torch.equal(images, expected_images)
            assert torch.equal(labels, expected_labels)


def test_every_epoch_has_fresh_keys() -> None:
    epochs = Reencoded(toys.images(20), InstaHide()).batches(Training(2, 20), secure(), 1, HERE)
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
    with pytest.raises(BadInput, match="4 images are fewer than a batch of 5: lower the batch size"):
        _ = Plain(toys.images(4)).batches(Training(1, 5), secure(), 1, HERE).steps


def test_only_secrets_are_drawn_from_chance() -> None:
    """The order of plain batches comes from the seed, keys and samples from the chance."""

    def rows(source: Source[Any], seed: int, chance: int) -> torch.Tensor:
        images: torch.Tensor = next(source.batches(Training(1, 20), seeded(chance), seed, HERE).epoch(0, 0))[0]
        return images

    samples = toys.images(60)
    plain, hidden, private = Plain(samples), Reencoded(samples, Mixup()), Private(samples, PrivateSGD(noise=1.0))
    assert torch.equal(rows(plain, 1, 1), rows(plain, 1, 2))
    assert not torch.equal(rows(plain, 1, 1), rows(plain, 2, 1))
    for source in (hidden, private):
        assert torch.equal(rows(source, 1, 1), rows(source, 2, 1))
        assert not torch.equal(rows(source, 1, 1)[:5], rows(source, 1, 2)[:5])


def test_the_scheme_of_a_source_has_its_estimates() -> None:
    private = toys.images(40)
    release, _ = Laplace().hide(private, None, seeded(1))
    assert Laplace().scale is None
    assert Plain(private).scheme is None
    assert Private(private, PrivateSGD()).scheme is None
    assert Plain.of(release).scheme == release.scheme
    assert Plain.of(release).samples is release.encoded
    assert Reencoded(private, Laplace()).with_estimates(seeded(1), 1).scheme == release.scheme


def test_sources_that_differ_have_another_identity() -> None:
    """A checkpoint must not be resumed on other images, another scheme or other privacy."""
    images, others = toys.images(40), toys.images(40, seed=1)
    sources: list[Source[Any]] = [
        Plain(images),
        Plain(others),
        Plain(replace(images, labels=images.labels.flip(0))),
        Reencoded(images, InstaHide()),
        Reencoded(images, InstaHide(k=2)),
        Reencoded(images, InstaHide(k_private=2), others),
        Reencoded(images, InstaHide(k_private=2), images),
        Private(images, PrivateSGD()),
        Private(images, PrivateSGD(noise=1.0)),
    ]
    identities = [source.identity() for source in sources]
    assert all(one != other for place, one in enumerate(identities) for other in identities[:place])
    assert [source.identity() for source in sources] == identities


def test_only_dp_sgd_spends_a_counted_epsilon() -> None:
    images = toys.images(200)
    assert Plain(images).epsilon(Training(1, 20), 10) is None
    assert Reencoded(images, InstaHide()).epsilon(Training(1, 20), 10) is None
    assert Private(images, PrivateSGD(noise=1.0)).epsilon(Training(1, 20), 10) > 0


def test_dp_sgd_refuses_several_processes() -> None:
    with pytest.raises(BadInput, match="one process"):
        Private(toys.images(20), PrivateSGD()).batches(Training(1, 4), secure(), 1, replace(HERE, world=2))


@pytest.mark.parametrize(
    ("side", "plain", "masked", "private"),
    [
        (4, "classifier", "classifier", "tanh-dense"),
        (12, "small-resnet", "small-resnet-masked", "tanh-dense"),
        (16, "small-resnet", "small-resnet-masked", "tanh-convnet"),
    ],
)
def test_a_network_suits_its_source(side: int, plain: str, masked: str, private: str) -> None:
    images = toys.images(10, height=side, width=side)
    assert Plain(images).suited() == suited(images) == plain
    assert Reencoded(images, Mixup()).suited() == plain
    assert Reencoded(images, InstaHide()).suited() == suited(images, InstaHide()) == masked
    assert Private(images, PrivateSGD()).suited() == private
