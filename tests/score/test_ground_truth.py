"""Which image a guess is judged by: hand-made cases with known answers."""

from dataclasses import replace

import pytest
import torch

from hideseek.chance import seeded
from hideseek.data import load
from hideseek.hide import Mixup
from hideseek.records import Evidence, Reconstruction, Samples
from hideseek.score.ground_truth import candidates, fitted, likeness, match_guesses, subjects
from hideseek.score.judge import judge
from hideseek.score.metrics import METRICS
from score.updates import UpdatesSecret, updates_of


def lines(*rows: tuple[float, ...]) -> torch.Tensor:
    """Images of one line each."""
    return torch.tensor(rows).float()[:, None, None, :]


def ramps() -> Samples:
    """Four images, no two alike up to sign, brightness and contrast; the first two have equal absolute values."""
    images = lines((-3, -1, 1, 3), (3, -1, -1, 3), (0, 1, 0, -1), (1, -1, 1, -1))
    return Samples(images, torch.eye(4))


def test_an_image_and_another_with_the_same_absolute_values_are_told_apart() -> None:
    secret = updates_of(ramps(), (0,), (1,), (2,), (3,))
    guesses = lines((-6, -2, 2, 6), (3.1, -1, -1, 3), (5, 6, 5, 4), (2, 0, 2, 0))  # twice, noisy, brighter
    alike = likeness(guesses, secret)
    assert alike.diag().tolist() == pytest.approx([1, 1, 1, 1], abs=1e-3)
    assert float(alike[0, 1]) == pytest.approx(0)
    assert (alike - 2 * torch.eye(4)).max() < 0.9
    assert likeness(-guesses, secret).diag().tolist() == pytest.approx([-1, -1, -1, -1], abs=1e-3)
    claim = Reconstruction(guesses, torch.arange(4), "images")
    secret = replace(secret, others=ramps().take(slice(0, 0)))  # mirrored, the first is its own negative
    for either in (claim, replace(claim, images=-guesses)):  # a negative is no picture, but points to its image
        assert METRICS["re-identified"].score(either, secret).tolist() == [1, 1, 1, 1]
    shuffled = Reconstruction(guesses[[2, 0, 3, 1]], torch.zeros(4, dtype=torch.int64), "any")
    assert match_guesses(shuffled, secret).about.tolist() == [2, 0, 3, 1]


def test_under_masks_signs_do_not_count() -> None:
    class Masked(UpdatesSecret):
        @property
        def masked(self) -> bool:
            return True

    secret = Masked(ramps(), torch.arange(4)[:, None])
    alike = likeness(lines((3, 1, -1, 3)), secret)[0]
    assert alike[:2].tolist() == [1, 1]  # as like the one as the other
    assert alike[3] == 0  # all of one absolute value


def test_faces_less_their_brightness_are_known_again() -> None:
    """Half the pixels of such a guess are negative: absolute values would fold it, and half of the faces be lost."""
    private = load("faces").take(torch.arange(0, 80))  # a piece of the background is all black
    _, secret = Mixup(k=2).hide(private, None, seeded(0))
    order = seeded(2).permutation(len(private))
    pixels = private.pixels(order)
    guesses = pixels - pixels.mean((1, 2, 3), keepdim=True)
    guesses += 0.05 * guesses.std((1, 2, 3), keepdim=True) * seeded(1).normals(*guesses.shape)
    claim = Reconstruction(guesses, order, "images")
    (score,) = judge(Evidence((claim,)), secret, seeded(3), ["re-identified"]).scores
    assert score.interval.mean == 1
    unordered = Reconstruction(guesses, torch.zeros_like(order), "any")
    assert torch.equal(match_guesses(unordered, secret).about, order)


def test_a_batch_is_matched_to_the_images_of_its_item_and_to_no_others() -> None:
    """Two updates of three images; image 2 is of the first, and guessed from the second, which earns nothing."""
    private = Samples(seeded(0).normals(8, 1, 5, 5), torch.eye(8))
    secret = updates_of(private, (4, 2, 6), (1, 3, 5))
    images = private.images[[6, 4, 7, 2, 3, 0]] + 0.05 * seeded(1).normals(6, 1, 5, 5)
    claim = Reconstruction(images, torch.tensor([0, 0, 0, 1, 1, 1]), "batches")
    matched = match_guesses(claim, secret)
    assert matched.about[:3].tolist() == [6, 4, 2]
    assert matched.about[4] == 3
    assert sorted(matched.about[3:].tolist()) == [1, 3, 5]
    for name in ("recovered", "re-identified"):
        assert METRICS[name].score(claim, secret).tolist() == [1, 1, 0, 0, 1, 0]
    assert METRICS["recovered"].score(replace(claim, of="any"), secret).sum() == 6  # whatever they are of


def test_only_the_images_of_the_item_are_matched() -> None:
    """A guess is given an image that it is little like, if the one that it shows is in another item."""
    secret = updates_of(ramps(), (0, 2), (1, 3))
    claim = Reconstruction(lines((1, -1, 1, -1), (3, -1, -1, 3)), torch.tensor([0, 0]), "batches")
    assert match_guesses(claim, secret).about.tolist() == [2, 0]  # correlations −0.45 and 0, 0 and −0.71
    again = Reconstruction(claim.images, torch.tensor([1, 1]), "batches")
    assert match_guesses(again, secret).about.tolist() == [3, 1]


def test_a_guess_too_many_has_no_image() -> None:
    private = Samples(seeded(0).normals(8, 1, 5, 5), torch.eye(8))
    secret = updates_of(private, (4, 2, 6), (1,), ())
    about = torch.tensor([1, 0, 1, 2])
    matched = match_guesses(Reconstruction(private.images[[0, 2, 1, 3]], about, "batches"), secret)
    assert matched.about.tolist() == [-1, 2, 1, -1]
    assert METRICS["correlation"].score(matched, secret).isnan().tolist() == [True, False, False, True]


def test_items_with_fewer_images() -> None:
    private = Samples(seeded(0).normals(8, 1, 5, 5), torch.eye(8))
    secret = updates_of(private, (4, 2, 6), (1,), ())
    claim = Reconstruction(private.images[[6, 1, 3]], torch.arange(3))
    assert candidates(claim, secret).tolist() == [[4, 2, 6], [1, -1, -1], [-1, -1, -1]]
    assert subjects(claim, secret).tolist() == [4, 1, -1]
    assert METRICS["recovered"].score(claim, secret)[:2].tolist() == [1, 1]
    assert METRICS["recovered"].score(claim, secret)[2].isnan()
    chance = METRICS["re-identified"].chance
    assert chance is not None
    assert chance(claim, secret).tolist() == [3 / 16, 1 / 16, 0]  # as many candidates are not private


def test_the_best_fit_is_least_squares() -> None:
    truth, guess = lines((0, 1, 2, 3)), lines((1, 1, 3, 3))
    assert fitted(truth, guess, negatives=True).flatten().tolist() == [0.5, 0.5, 2.5, 2.5]
