"""Comparing rows by a network: its score is an inner product, it learns, and it is kept for the next run."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional

from hideseek.chance import Randomness, seeded
from hideseek.data import load, normalise
from hideseek.errors import BadInput
from hideseek.hide import InstaHide
from hideseek.records import EncodedRelease
from hideseek.seek.networks import comparer_cache
from hideseek.seek.networks.colours import colour_network, recoloured
from hideseek.seek.networks.own_encodings import own_encodings
from hideseek.seek.networks.row_comparer import RowComparer, balanced_loss
from hideseek.seek.networks.train_comparer import Network, SharedRows, told_apart, train_comparer
from hideseek.seek.networks.wide_comparer import WideComparer, WideResNet
from hideseek.seek.systems.unsigned_solve import unsigned_solve


def release() -> EncodedRelease:
    faces = normalise(load("faces", size=16), "channel")
    made, _ = InstaHide(k=2).hide(faces.take(slice(0, 20)), None, seeded(0), 4)
    return replace(made, own=faces.take(slice(20, None)))


def rows(count: int, channels: int = 3) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).standard_normal((count, channels, 8, 8), dtype=np.float32))


def test_the_score_is_a_weighted_sum_of_correlations() -> None:
    network, given = RowComparer(3), rows(4)
    with torch.no_grad():
        scores, maps = network(given, 1), network.maps(given)
        weights = network.log_weights.exp()
        total, place = network.offset.clone(), 0
        for each in maps:
            for channel in range(each.shape[1]):
                pair = each[[0, 2], channel].flatten(1)
                total += weights[place] * torch.corrcoef(pair)[0, 1]
                place += 1
    assert float(scores[0, 2]) == pytest.approx(float(total), rel=1e-3)
    torch.testing.assert_close(scores, network(-given, 1))  # a mask changes nothing
    embedded = network.all_embedded(given)
    torch.testing.assert_close(embedded @ embedded.T + network.offset, scores, atol=1e-4, rtol=1e-4)


def test_a_cluster_is_compared_by_the_mean_of_its_maps() -> None:
    network, given = RowComparer(3), rows(6)
    with torch.no_grad():
        scores = network(given, 3)
        means = network.embedded([each[3:].mean(0, keepdim=True) for each in network.maps(given)])
        expected = network.embedded(network.maps(given)) @ means.T + network.offset
    torch.testing.assert_close(scores[:, 1:], expected, atol=1e-4, rtol=1e-4)


def test_both_kinds_of_pairs_count_alike() -> None:
    same = torch.tensor([[True, False, False, False]])
    loss = balanced_loss(torch.zeros(1, 4), same, torch.ones(1, 4, dtype=torch.bool))
    assert float(loss) == pytest.approx(np.log(2))
    sure = balanced_loss(torch.tensor([[9.0, 0.0, 0.0, 0.0]]), same, torch.ones(1, 4, dtype=torch.bool))
    assert float(sure) == pytest.approx((np.log(2) + float(functional.softplus(torch.tensor(-9.0)))) / 2)
    assert float(balanced_loss(torch.zeros(1, 4), same, torch.zeros(1, 4, dtype=torch.bool))) == 0


@pytest.mark.parametrize("members", [1, 3])
def test_batches_say_who_is_in_their_rows(members: int) -> None:
    training, _ = own_encodings(release(), 48, 48, seeded(1))
    batches = list(SharedRows(training, 2, members, seeded(2)).epoch(0, 0))
    again = list(SharedRows(training, 2, members, seeded(2)).epoch(0, 1))
    assert len(batches) == 2
    torch.testing.assert_close(batches[1][0], again[0][0])
    for given, sources in batches:
        assert len(given) == len(sources)
        if members > 1:  # the first column is the image that all members have
            assert len(given) % members == 0
            assert (sources[:, :1] == sources[:, 1:]).any(1).all()
            assert (sources[:, 0].view(-1, members) == sources[::members, :1]).all()


def test_it_learns_to_tell_rows_apart() -> None:
    given = release()
    before, after = (train_comparer(given, steps, 1, seeded(3)) for steps in (1, 40))
    assert told_apart(after, given, seeded(4)) > max(0.6, told_apart(before, given, seeded(4)) + 0.02)


def test_a_comparer_is_kept_for_the_same_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    given, made = release(), []

    def make() -> RowComparer:
        made.append(RowComparer(1))
        return made[-1]

    def ask(steps: int, chance: Randomness, asked: EncodedRelease = given) -> Network:
        return comparer_cache.kept_comparer(asked, steps, 1, chance, make)

    first = ask(200, seeded(1))
    assert comparer_cache.folder() == tmp_path / "hideseek" / "comparers"
    assert len(made) == 1
    again = ask(200, seeded(1))
    assert len(made) == 1
    torch.testing.assert_close(again.state_dict(), first.state_dict())
    ask(200, seeded(2))  # another stream of chance
    ask(300, seeded(1))
    ask(200, seeded(1), replace(given, scheme=InstaHide(k=3)))
    assert len(made) == 4
    ask(199, seeded(1))  # too little to be kept
    assert len(made) == 5
    assert len(list(comparer_cache.folder().iterdir())) == 4
    for path in comparer_cache.folder().iterdir():
        path.write_bytes(b"damaged")
    ask(200, seeded(1))
    assert len(made) == 6


def test_images_are_solved_from_absolute_values() -> None:
    """Images of one sign, so that nothing is ambiguous."""
    generator = np.random.default_rng(0)
    images = torch.from_numpy(generator.uniform(0.2, 1.0, (5, 40)).astype(np.float32))
    sources = torch.from_numpy(np.stack([generator.permutation(5)[:2] for _ in range(60)]))
    weights = torch.from_numpy(generator.uniform(0.3, 0.7, (60, 2)).astype(np.float32))
    mixed = (weights[:, :, None] * images[sources]).sum(1)
    signs = torch.from_numpy(generator.choice([-1.0, 1.0], mixed.shape).astype(np.float32))
    found = unsigned_solve(mixed * signs, sources, weights, 5, 600)
    assert float((found - images).abs().mean()) < 0.1


def test_colours_are_learned_from_known_images() -> None:
    known = rows(20)
    network = colour_network(known.flip(1) * 0.5 + 1, known, seeded(0))
    found = recoloured(network, known.flip(1) * 0.5 + 1)
    assert found.shape == known.shape
    assert float(functional.cosine_similarity(found.flatten(1), known.flatten(1)).mean()) > 0.9


def test_the_published_network_sees_rows_stacked() -> None:
    size = WideResNet(10, 1)
    assert size.blocks == [(16, 16, 1), (16, 32, 2), (32, 64, 2)]
    given = rows(5)
    allowed = torch.ones(5, 5, dtype=torch.bool)
    allowed[0, 1] = allowed[1, 0] = False
    network = WideComparer(3, 1, size).eval()
    scores = network.pair_scores(given, allowed)
    with torch.no_grad():
        expected = network(given[2:3], given[4:5, None])
    assert float(scores[2, 4]) == pytest.approx(float(expected), abs=1e-4)
    assert float(scores[4, 2]) == float(scores[2, 4])
    assert float(scores[0, 1]) < min(float(scores[0, 2]), float(scores[3, 4]))
    several = WideComparer(3, 3, size).eval()
    members = torch.tensor([[[0, 1, 2], [1, 2, 3]]])
    found = several.cluster_scores(given, members, torch.ones(5, 1, dtype=torch.bool))
    with torch.no_grad():
        each = several(given[[4, 4]], given[members[0]])
    assert float(found[4, 0]) == pytest.approx(float(each.mean()), abs=1e-4)


@pytest.mark.parametrize(("depth", "width"), [(9, 1), (27, 6), (28, 0)])
def test_a_depth_that_cannot_be(depth: int, width: int) -> None:
    with pytest.raises(BadInput, match="6n"):
        WideResNet(depth, width)


def test_as_published_it_has_so_many_parameters() -> None:
    """WRN-28-6 without its classifier: three stages of four blocks, 96, 192 and 384 channels."""
    count = sum(each.numel() for each in WideComparer(3, 1, WideResNet()).parameters())
    assert count == pytest.approx(13.1e6, rel=0.02)
