from dataclasses import replace

import numpy as np
import pytest
import torch

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide import InstaHide, Mixup, SingularizedMixup
from hideseek.records import EncodedRelease, Reason, Reconstruction, Samples
from hideseek.seek.rows.unmix_repeats import UnmixRepeats
from hideseek.seek.run import refusal, run
from hideseek.similarity import snr
from repeated_pairs import repeated
from toys import images


def guessed(release: EncodedRelease) -> Reconstruction:
    (claim,) = run(UnmixRepeats(), release, seeded(0)).claims
    assert isinstance(claim, Reconstruction)
    assert claim.of == "batches"
    return claim


def quality(claim: Reconstruction, private: Samples) -> float:
    """The mean SNR; a pair's guesses are of its images, in whichever order is better."""
    guess = claim.images.view(-1, 2, *claim.images.shape[1:])
    one, truth = claim.about[::2], private.pixels()
    both = torch.stack([truth[one], truth[(one + 1) % len(private)]], 1)
    scores = [snr(both.flatten(0, 1), each.flatten(0, 1)).view(-1, 2).mean(1) for each in (guess, guess.flip(1))]
    return float(torch.maximum(*scores).mean())


def test_without_noise_both_images_come_back() -> None:
    private = images(20, stored=False)  # neighbours are of other classes
    claim = guessed(repeated(private, 1e-6, 3)[0])
    assert sorted(set(claim.about.tolist())) == list(range(20))
    assert quality(claim, private) > 60


def test_least_squares_are_numpy_s() -> None:
    private = images(6, classes=6, stored=False)
    release, secret = repeated(private, 2.0, 5)
    claim = guessed(release)
    rows, weights = release.encoded.pixels().flatten(1).double().numpy(), secret.weights.double().numpy()
    for place in range(6):
        expected = np.linalg.lstsq(weights[place::6], rows[place::6])[0]
        found = claim.images[2 * place : 2 * place + 2].flatten(1).numpy()
        error = min(np.abs(found - expected).max(), np.abs(found[::-1] - expected).max())
        assert error < 1e-3 * np.abs(expected).max()


def test_the_image_under_the_noise_comes_second() -> None:
    """Noise is on the neighbour, and rows are longer where that has more weight."""
    private = images(12, 3, 16, 16, stored=False)
    claim = guessed(repeated(private, 20.0, 12)[0])
    truth = private.pixels()
    first = snr(truth[claim.about[::2]], claim.images[::2])
    swapped = snr(truth[claim.about[::2]], claim.images[1::2])
    assert bool((first > swapped).all())


def test_noise_averages_out_over_rounds_and_own_images_help() -> None:
    faces = normalise(load("faces", size=16), "channel")
    private, own = faces.take(slice(0, 30)), faces.take(slice(40, None))
    private = replace(private, labels=torch.eye(5)[torch.arange(30) % 5], classes=())
    plain = [quality(guessed(repeated(private, 20.0, rounds)[0]), private) for rounds in (5, 50)]
    assert plain[1] > plain[0] + 5  # least squares are clamped to the range of pixels; 1/T alone would be 10 dB
    release = replace(repeated(private, 20.0, 50)[0], own=own)
    assert quality(guessed(release), private) > plain[1] + 2


def test_rows_out_of_order_are_linked_by_whom_they_were_made_for() -> None:
    private = images(20, stored=False)
    release, secret = repeated(private, 1e-6, 3)
    order = torch.cat([20 * part + seeded(part).permutation(20) for part in range(3)])
    shuffled = replace(release, encoded=release.encoded.take(order))
    refused = refusal(UnmixRepeats(), shuffled)
    assert refused is not None
    assert refused.reason is Reason.NOT_REPEATED
    claim = guessed(replace(shuffled, made_for=secret.sources[order, 0]))
    made_for = replace(claim, about=secret.sources[order, 0][claim.about])
    assert quality(made_for, private) > 60


def test_pairs_of_one_class_are_left_out() -> None:
    private = images(20, stored=False)
    labels = private.labels.clone()
    labels[1] = labels[0]
    claim = guessed(repeated(replace(private, labels=labels), 1e-6, 3)[0])
    assert sorted(set(claim.about.tolist())) == list(range(1, 20))


@pytest.mark.parametrize(
    ("release", "reason"),
    [
        (SingularizedMixup(radius=0.1).hide(images(40), None, seeded(0), 4)[0], Reason.NOT_REPEATED),
        (Mixup(k=2).hide(images(40), None, seeded(0), 2)[0], Reason.NOT_REPEATED),
        (SingularizedMixup(radius=0.1).hide(images(40), None, seeded(0))[0], Reason.TOO_FEW_ROUNDS),
        (SingularizedMixup(radius=0.1).hide(images(40, classes=1), None, seeded(0), 4)[0], Reason.NO_CLASSES),
        (Mixup(k=3).hide(images(40), None, seeded(0), 4)[0], Reason.NOT_IN_PAIRS),
        (InstaHide(k=2).hide(images(40), None, seeded(0), 4)[0], Reason.MASKED),
    ],
)
def test_our_own_releases_are_refused(release: EncodedRelease, reason: Reason) -> None:
    refused = refusal(UnmixRepeats(), release)
    assert refused is not None
    assert refused.reason is reason
