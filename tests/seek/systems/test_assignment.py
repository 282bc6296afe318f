"""Which images are in which rows: assignments by rounds, and pairs."""

import itertools
from dataclasses import replace

import numpy as np
import torch

from hideseek.chance import seeded
from hideseek.hide import InstaHide
from hideseek.records import EncodedRelease
from hideseek.records.mixing_secret import MixingSecret
from hideseek.seek.signals.row_slots import RowSlots
from hideseek.seek.signals.whitening import Whitening
from hideseek.seek.systems.balanced_pairs import balanced, chosen
from hideseek.seek.systems.best_pairs import PairScores
from hideseek.seek.systems.mixtures import Mixtures
from hideseek.seek.systems.pair_scores import pair_scores
from hideseek.seek.systems.round_assignment import assigned, gated
from hideseek.seek.systems.slot_weights import fitted_weights
from hideseek.seek.systems.turns import RowImages, folds
from hideseek.seek.systems.white_squares import WhiteSquares
from toys import images


def hidden(k: int = 2, rounds: int = 4) -> tuple[EncodedRelease, MixingSecret]:
    """Images of three classes, those of each numbered one after the other."""
    private = images(12, height=8, width=8, classes=3, stored=False)
    order = private.labels.argmax(1).argsort(stable=True)
    return InstaHide(k=k).hide(private.take(order), None, seeded(0), rounds)


def test_every_image_is_in_k_slots_of_a_round_of_its_class() -> None:
    release, _ = hidden()
    slots = RowSlots.of(release)
    scores = torch.randn(48, 2, 12, generator=torch.Generator().manual_seed(0))
    scores = torch.stack([gated(scores[:, column], slots, column) for column in range(2)], 1)
    found = assigned(scores, slots)
    assert bool((slots.image_classes[found] == slots.classes).all())
    assert bool((found[:, 0] != found[:, 1]).all())
    for number in range(4):
        counts = found[slots.round_of(number)].flatten().bincount(minlength=12)
        assert int((counts == 2).sum()) >= 10  # but for those that were twice in a row


def test_pairs_score_as_their_squares_do() -> None:
    release, secret = hidden()
    slots = RowSlots.of(release)
    squares = WhiteSquares.of(release.encoded.pixels().abs(), slots.unknown(0))
    private = secret.private.pixels()
    found = pair_scores(squares, private, torch.ones(3, 8, 8), slots)
    white: Whitening = squares.white
    row = int(slots.exact.nonzero()[0])
    distances = {}
    for first, second in itertools.product(range(12), range(12)):
        if (first // 4, second // 4) == tuple(slots.classes[row].tolist()):
            mixed = slots.weights[row, 0] * private[first] + slots.weights[row, 1] * private[second]
            spectrum = white.spectrum(mixed.square()[None])[0] / white.deviations
            distances[first, second] = float((squares.rows[row] - spectrum.flatten()).square().sum())
    best = min(distances, key=distances.__getitem__)
    assert found.pairs[row, 0].tolist() == list(best)
    truth = secret.sources.sort(1).values
    right = (found.pairs[:, 0].sort(1).values == truth).all(1)
    assert bool(right[slots.exact].all())
    assert float(right.float().mean()) > 0.9  # also of one class, whose weights are not told


def test_counts_of_a_round_decide_where_rows_do_not() -> None:
    release, secret = hidden()
    slots = RowSlots.of(release)
    every = torch.tensor(list(itertools.combinations(range(12), 2))).expand(48, -1, 2)
    truth = (every == secret.sources.sort(1).values[:, None]).all(2)
    unsure = torch.arange(48) % 12 == 0  # one row a round
    scores = torch.where(truth & ~unsure[:, None], 0.0, -1000.0)
    found = PairScores(every, scores, torch.full((48, 66, 2), 0.5))
    pairs, _, sure = chosen(found, balanced(found, slots))
    assert bool((pairs.sort(1).values == secret.sources.sort(1).values).all())
    assert float(sure.min()) > 0.9


def test_weights_of_one_class_are_fitted_to_rows() -> None:
    release, secret = hidden(k=3)
    slots = RowSlots.of(release)
    start = torch.full((48, 3), 1 / 3)
    found = fitted_weights(release.encoded.pixels().abs(), secret.private.pixels(), slots, secret.sources, start)
    error = (found - secret.weights).abs()[~slots.exact]
    assert float(error.median()) < 0.02


def test_squares_are_fitted_and_score_the_images_that_are_there() -> None:
    release, secret = hidden(rounds=30)
    slots = RowSlots.of(release)
    squares = WhiteSquares.of(release.encoded.pixels().abs(), slots.unknown(0))
    classes, sources = secret.sources // 4, secret.sources
    swapped = (classes[:, 0] != slots.classes[:, 0])[:, None]
    sources = torch.where(swapped, sources.flip(1), sources)
    centres = squares.fitted(Mixtures(sources, slots.weights, 12))
    found = squares.scores_by_centres(centres, slots, sources).argmax(2)
    assert float((found == sources)[slots.exact].float().mean()) > 0.8
    exact = squares.scores(secret.private.pixels(), torch.ones(3, 8, 8), slots, sources).argmax(2)
    assert float((exact == sources)[slots.exact].float().mean()) > 0.99


def test_folds_have_whole_rounds() -> None:
    slots = RowSlots.of(hidden()[0])
    parts = folds(slots)
    assert np.array_equal(torch.stack(parts).sum(0), np.ones(48))
    assert all(part.view(4, 12).all(1).sum() == 1 for part in parts)
    assert slots.some(parts[0]).rounds == 1


def test_rows_change_where_their_images_do() -> None:
    before = RowImages(torch.tensor([[0, 1], [2, 3]]), torch.ones(2, 2), torch.ones(2, 2))
    after = replace(before, sources=torch.tensor([[1, 0], [2, 1]]))
    assert after.changed(before) == 0.5
