"""The splits are fixed, and no image is in two of them."""

import os
from collections.abc import Sequence
from dataclasses import replace

import pytest

from hideseek.bench import BENCHMARKS, PROTOCOLS, STANDARD, Problem, Protocol, named, problem
from hideseek.data.digests import image_digests, images_digest
from hideseek.errors import BadInput
from hideseek.hide.updates import ShareUpdates
from hideseek.records import Samples
from hideseek.seek import ATTACKS, VARIANTS

CIFAR = pytest.mark.skipif("HIDESEEK_DATA" not in os.environ, reason="CIFAR-10 is not there: set HIDESEEK_DATA")
FIXED = {
    "rows-1": "b6df7036345cd3f6",
    "updates-1": "7c0660ccb00044d9",
}


def _parts(fixed: Problem) -> Sequence[Samples]:
    parts = [fixed.private, fixed.others, fixed.own, fixed.learning.train, fixed.learning.test, fixed.public]
    return [each for each in parts if each is not None]


def test_parts_have_their_sizes_and_share_no_image(small: Problem) -> None:
    protocol = small.protocol
    assert [len(each) for each in _parts(small)] == [
        protocol.private, protocol.private, protocol.own, protocol.learnt, protocol.tested, protocol.public,
    ]  # fmt: skip
    stored = [image_digests(replace(each, normalisation=small.private.normalisation)) for each in _parts(small)]
    every = [digest for part in stored for digest in part]
    assert len(set(every)) == len(every)


def test_a_set_that_is_too_small_is_refused(small: Problem) -> None:
    with pytest.raises(BadInput, match="of a set that has"):
        problem(replace(small.protocol, private=10**6))


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS)
def test_attacks_are_known_and_of_the_track(protocol: Protocol) -> None:
    assert set(protocol.attacks) <= {**ATTACKS, **VARIANTS}.keys()
    assert len(set(protocol.attacks)) == len(protocol.attacks)


def test_what_is_changed_makes_another_benchmark(small: Problem) -> None:
    protocol = small.protocol
    others = [replace(protocol, rounds=5), replace(protocol, seeds=(1,)), replace(protocol, attacks=("carlini",))]
    assert len({each.fingerprint for each in (protocol, *others)}) == 4


@CIFAR
@pytest.mark.parametrize("protocol", BENCHMARKS.values(), ids=lambda protocol: protocol.name)
def test_the_fixed_splits_are_what_they_were(protocol: Protocol) -> None:
    fixed = problem(protocol)
    assert images_digest(fixed.private)[:16] == FIXED[protocol.name]


@CIFAR
def test_every_standard_way_can_be_measured() -> None:
    for track, ways in STANDARD.items():
        found = named(",".join(ways), problem(BENCHMARKS[track]))
        assert len(found) == len(ways)
        if track == "updates":
            models = [each.start for each in found.values() if isinstance(each, ShareUpdates)]
            assert len(models) == len(ways)
            assert len({id(each) for each in models}) == 1  # all begin from one model
