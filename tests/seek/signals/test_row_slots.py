from dataclasses import replace

import torch

from hideseek.chance import seeded
from hideseek.hide import Coarse, InstaHide
from hideseek.records import EncodedRelease
from hideseek.seek.signals.row_slots import RowSlots
from toys import images


def released(k: int = 2, rounds: int = 3, public: int = 0) -> tuple[EncodedRelease, torch.Tensor, torch.Tensor]:
    private = images(12, classes=3)
    others = images(30, seed=1) if public else None
    release, secret = InstaHide(k=k + public, k_private=k).hide(private, others, seeded(0), rounds)
    return release, secret.sources, secret.weights


def test_labels_tell_classes_weights_and_how_many_images_there_are() -> None:
    release, sources, weights = released(public=2)
    slots = RowSlots.of(release)
    assert slots.sizes.tolist() == [4, 4, 4]
    assert slots.counted
    assert slots.images == 12
    for row in range(len(sources)):
        classes = (sources[row] % 3).tolist()
        assert sorted(slots.classes[row].tolist()) == sorted(classes)
        assert bool(slots.exact[row]) == (classes[0] != classes[1])
        if slots.exact[row]:
            torch.testing.assert_close(slots.weights[row].sort().values, weights[row, :2].sort().values)
    torch.testing.assert_close(slots.rest(), weights[:, 2:].sum(1))
    ratio = slots.unknown(2) / weights[:, 2:].square().sum(1)
    assert 0.9 < float(ratio.median()) < 1.2


def test_classes_that_are_not_told_may_be_any_of_the_row() -> None:
    release, _, _ = released(k=3)
    slots = RowSlots.of(release)
    two = (slots.masses > 0).sum(1) == 2
    assert bool(two.any())
    assert bool((slots.classes[two] == -1).all())
    assert not slots.counted
    assert slots.images == 12


def test_without_labels_all_images_are_of_one_class() -> None:
    release, _, _ = released(public=2)
    encoded = replace(release.encoded, labels=release.encoded.labels[:, :0])
    slots = RowSlots.of(replace(release, encoded=encoded))
    assert not slots.labelled
    assert not bool(slots.exact.any())
    assert slots.sizes.tolist() == [12]
    torch.testing.assert_close(slots.weights, torch.tensor([1 / 3, 1 / 6]).expand(36, 2))


def test_labels_that_were_drawn_tell_no_weight_and_mislead_nobody() -> None:
    private = images(12, classes=3)
    release, _ = Coarse(InstaHide(k=3), labels="drawn").hide(private, None, seeded(0), 3)
    bare = replace(release, encoded=replace(release.encoded, labels=torch.empty(36, 0), classes=()))
    drawn, none = RowSlots.of(release), RowSlots.of(bare)
    assert not drawn.labelled
    assert torch.equal(drawn.classes, none.classes)
    assert torch.equal(drawn.weights, none.weights)
