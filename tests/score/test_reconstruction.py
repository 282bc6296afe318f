"""Reconstructions: metrics against independent implementations, what baselines answer, what is shown."""

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.fft import dctn, idctn
from scipy.ndimage import uniform_filter
from scipy.optimize import linear_sum_assignment
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide import InstaHide, Mixup
from hideseek.records import Reconstruction, Samples
from hideseek.records.mixing_secret import MixingSecret
from hideseek.records.secret import Secret
from hideseek.score.image_scores import LIMIT
from hideseek.score.metrics import METRICS
from hideseek.score.reconstruction import METRICS as PIXELWISE
from hideseek.score.reconstruction import baselines, examples
from hideseek.score.smoothing import blurred, low_frequencies
from score.updates import Updates, updates_of
from toys import images

Array = NDArray[np.float64]
SSIM_GAUSSIAN = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False}


def guesses(secret: MixingSecret, of: Literal["items", "images", "any"]) -> Reconstruction:
    """Some private images under noise of different strength, in an order of their own."""
    generator = np.random.default_rng(1)
    if of == "items":
        about = torch.from_numpy(generator.permutation(len(secret.sources))[:15])
        places = secret.sources[about].gather(1, torch.from_numpy(generator.integers(0, 2, (15, 1))))[:, 0]
    else:
        about = places = torch.from_numpy(generator.permutation(len(secret.private))[:15])
    pixels = secret.private.pixels(places).numpy()
    levels = np.linspace(0.1, 3, 15, dtype=np.float32)[:, None, None, None] * pixels.std()
    noisy = 0.8 * pixels + 0.1 * pixels.std() + levels * generator.standard_normal(pixels.shape, dtype=np.float32)
    return Reconstruction(torch.from_numpy(noisy), about if of != "any" else torch.zeros_like(about), of)


def absolute_table(claim: Reconstruction, secret: MixingSecret) -> Array:
    x, y = (np.abs(t.double().flatten(1).numpy()) for t in (claim.images, secret.private.pixels()))
    table: Array = np.corrcoef(x, y)[: len(x), len(x) :]
    return table


def truths(claim: Reconstruction, secret: MixingSecret) -> list[list[int]]:
    """The private images that a guess may be judged by."""
    if claim.of == "any":
        rows, columns = linear_sum_assignment(-absolute_table(claim, secret))
        assert rows.tolist() == list(range(len(claim.images)))
        return [[int(column)] for column in columns]
    if claim.of == "images":
        return [[int(place)] for place in claim.about]
    chosen: list[list[int]] = secret.sources[claim.about].tolist()
    return chosen


def one(name: str, place: int, guess: Array, secret: MixingSecret) -> float:
    """A metric of one pair, by NumPy and scikit-image."""
    x = secret.private.pixels(torch.tensor([place]))[0].double().numpy()
    raw = secret.private.images[place].double().numpy() / 255
    row = place if len(secret.private.scale) > 1 else 0
    scale, shift = (
        affine[row][:, None, None].double().numpy() for affine in (secret.private.scale, secret.private.shift)
    )
    shown = (guess - shift) / scale / 255
    if name.startswith("fitted"):
        slope, offset = np.polyfit(shown.ravel(), raw.ravel(), 1)
        shown = slope * shown + offset
    match name.removeprefix("fitted-"):
        case "snr":
            return float(10 * np.log10((x**2).sum() / ((x - guess) ** 2).sum()))
        case "psnr":
            return float(peak_signal_noise_ratio(raw, shown, data_range=1))
        case "ssim":
            return float(structural_similarity(raw, shown, channel_axis=0, data_range=1))
        case "ssim-gaussian":
            return float(structural_similarity(raw, shown, channel_axis=0, data_range=1, **SSIM_GAUSSIAN))
        case "correlation":
            return float(np.corrcoef(x.ravel(), guess.ravel())[0, 1])
        case "absolute-correlation":
            return float(np.corrcoef(np.abs(x).ravel(), np.abs(guess).ravel())[0, 1])
        case _:
            return float(np.linalg.norm(x - guess))


PAIRWISE = [name for name in PIXELWISE if name not in ("recovered", "recovered-of-sure", "re-identified")]


@pytest.mark.parametrize("of", ["images", "items", "any"])
@pytest.mark.parametrize("name", PAIRWISE)
def test_reconstruction(name: str, of: Literal["items", "images", "any"], normalised: MixingSecret) -> None:
    claim = guesses(normalised, of)
    best = max if METRICS[name].higher_is_better else min
    expected = [
        best(one(name, place, guess.double().numpy(), normalised) for place in places)
        for guess, places in zip(claim.images, truths(claim, normalised), strict=True)
    ]
    scores = METRICS[name].score(claim, normalised)
    np.testing.assert_allclose(scores.numpy(), expected, rtol=2e-4, atol=2e-4)


def test_blocks_do_not_change_a_score(secret: MixingSecret, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = guesses(secret, "items")
    whole = {name: METRICS[name].score(claim, secret) for name in ("l2", "fitted-ssim", "re-identified")}
    monkeypatch.setattr("hideseek.score.ground_truth.blocks.__defaults__", (4 * 3 * 256,))
    monkeypatch.setattr("hideseek.score.identification.BLOCK", 3 * 256 // 4)
    for name, scores in whole.items():
        torch.testing.assert_close(METRICS[name].score(claim, secret), scores, rtol=1e-5, atol=1e-5)


def test_an_exact_reconstruction_counts_as_a_hundred_decibels(secret: MixingSecret) -> None:
    claim = Reconstruction(secret.private.pixels(), torch.arange(24), "images")
    for name in ("snr", "psnr", "fitted-psnr"):
        assert METRICS[name].score(claim, secret).eq(LIMIT).all()
    huge = replace(claim, images=torch.full_like(claim.images, 3e38))
    for name in PAIRWISE:
        assert METRICS[name].score(huge, secret).isfinite().all()
    assert METRICS["snr"].score(huge, secret).eq(-LIMIT).all()


def test_a_flat_image_normalised_by_image_has_no_raw_guess_and_no_signal() -> None:
    flat = Samples(torch.full((2, 1, 12, 12), 7, dtype=torch.uint8), torch.eye(2), torch.zeros(2, 1), torch.zeros(2, 1))
    truth = MixingSecret(flat, torch.tensor([[0], [1]]), torch.empty(2, 0, dtype=torch.int64), torch.ones(2, 1))
    claim = Reconstruction(torch.rand(2, 1, 12, 12), torch.arange(2), "images")
    for name in ("psnr", "ssim", "fitted-psnr", "snr"):
        assert METRICS[name].score(claim, truth).isnan().all()
    assert METRICS["correlation"].score(claim, truth).tolist() == [0, 0]


def test_what_does_not_apply_says_so(secret: MixingSecret) -> None:
    features = Samples(torch.randn(6, 40, 1, 1), torch.eye(6))
    maps = Samples(torch.randn(6, 4, 12, 12), torch.eye(6))
    small = Samples(torch.rand(6, 2, 6, 6), torch.eye(6))
    for private, name, words in (
        (features, "psnr", "features"),
        (features, "ssim", "features"),
        (features, "lpips-alex", "features"),
        (maps, "fitted-psnr", r"raw pixels in \[0, 1\]"),
        (small, "ssim", "at least 7×7"),
        (small, "lpips-vgg", "2 channels"),
    ):
        truth = replace(secret, private=private)
        claim = Reconstruction(torch.zeros(6, *private.shape), torch.arange(6), "images")
        with pytest.raises(BadInput, match=words):
            METRICS[name].score(claim, truth)
    with pytest.raises(BadInput, match="without an order"):
        METRICS["re-identified"].score(guesses(secret, "any"), secret)


def answers(claim: Reconstruction, secret: Secret, seed: int) -> dict[str, Reconstruction]:
    """The baselines by their names."""
    found = {name: baseline for name, baseline, _ in baselines(claim, secret, seeded(seed))}
    assert all(isinstance(baseline, Reconstruction) for baseline in found.values())
    return found  # type: ignore[return-value]


def about(of: Literal["items", "images"], secret: MixingSecret) -> Reconstruction:
    """The truth, of every item or image."""
    numbers = torch.arange(secret.items if of == "items" else len(secret.private))
    return Reconstruction(secret.private.pixels(secret.sources[:, 0] if of == "items" else numbers), numbers, of)


@pytest.mark.parametrize("of", ["images", "items"])
def test_what_the_baselines_answer(of: Literal["images", "items"], secret: MixingSecret) -> None:
    claim = about(of, secret)
    found = answers(claim, secret, 3)
    assert list(found) == [
        "mean image",
        "mean of absolute values",
        "mean image of the class",
        "mean image of the class, blurred 5×5",
        "random image of the class",
        "random image",
        "random image, 2×2 lowest frequencies",
    ]
    own = secret.sources if of == "items" else torch.arange(24)[:, None]
    pixels, labels = secret.private.pixels(), secret.private.labels.argmax(1)
    for name, baseline in found.items():
        assert baseline.of == of
        assert torch.equal(baseline.about, claim.about)
        if name in ("mean image", "mean of absolute values"):
            averaged = pixels if name == "mean image" else pixels.abs()
            torch.testing.assert_close(baseline.images, averaged.mean(0).expand_as(baseline.images))
            continue
        for row in range(len(claim.images)):
            heaviest = own[row, secret.weights[row, :2].argmax()] if of == "items" else own[row, 0]
            peers = [i for i in range(24) if labels[i] == labels[heaviest] and i not in own[row]]
            if name == "mean image of the class":
                torch.testing.assert_close(baseline.images[row], pixels[peers].mean(0))
                continue
            if name == "mean image of the class, blurred 5×5":
                inner = uniform_filter(pixels[peers].mean(0).numpy(), (0, 5, 5))[:, 2:-2, 2:-2]
                np.testing.assert_allclose(baseline.images[row, :, 2:-2, 2:-2], inner, atol=1e-4)
                continue
            if name == "random image, 2×2 lowest frequencies":
                waves = dctn(found["random image"].images[row].numpy(), axes=(1, 2), norm="ortho")
                waves[:, 2:], waves[:, :, 2:] = 0, 0
                np.testing.assert_allclose(baseline.images[row], idctn(waves, axes=(1, 2), norm="ortho"), atol=1e-4)
                continue
            same = [i for i in range(24) if torch.equal(baseline.images[row], pixels[i])]
            assert same
            assert same[0] not in own[row]
            assert name != "random image of the class" or same[0] in peers


def test_other_images_are_drawn_evenly(secret: MixingSecret) -> None:
    """2,300 draws among 23 images: 100 each, deviation 9.8; all within four and a half."""
    pixels = secret.private.pixels()
    claim = Reconstruction(pixels[:1].expand(2300, -1, -1, -1), torch.zeros(2300, dtype=torch.int64), "images")
    baseline = answers(claim, secret, 4)["random image"]
    counts = [int((baseline.images == image).flatten(1).all(1).sum()) for image in pixels]
    assert counts[0] == 0
    assert all(abs(count - 100) < 44 for count in counts[1:])


SMOOTHED = [
    "random image",
    "random image, blurred 3×3",
    "random image, blurred 5×5",
    "random image, 4×4 lowest frequencies",
    "random image, 6×6 lowest frequencies",
    "mean of 4 random images",
]


def test_smoothed_images_are_matched_like_guesses_to_others_than_themselves(secret: MixingSecret) -> None:
    """Each is made of the random images, which the sharp baseline shows, and matched by the Hungarian method."""
    private = replace(secret.private, labels=torch.empty(24, 0))
    truth = replace(secret, private=private, mask=None)
    claim = Reconstruction(torch.zeros(24, *private.shape), torch.zeros(24, dtype=torch.int64), "any")
    found = answers(claim, truth, 5)
    assert list(found) == ["mean image", *SMOOTHED]  # without a mask no mean of absolute values
    pixels, sharp = private.pixels(), found["random image"].images
    own = [(pixels == image).flatten(1).all(1).nonzero().item() for image in sharp]
    for name in SMOOTHED[1:-1]:
        baseline = found[name]
        smooth = low_frequencies(sharp, int(name[14])) if "frequencies" in name else blurred(sharp, int(name[22]))
        torch.testing.assert_close(baseline.images, smooth)
        both = np.concatenate([baseline.images.flatten(1).double(), pixels.flatten(1).double()])
        table = np.corrcoef(both)[:24, 24:]
        table[np.arange(24), own] = -100
        np.testing.assert_array_equal(baseline.about, linear_sum_assignment(-table)[1])
    means = found["mean of 4 random images"]
    drawn = np.linalg.lstsq(pixels.flatten(1).double().T.numpy(), means.images.flatten(1).double().T.numpy())[0].T
    assert np.allclose(drawn.sum(1), 1, atol=1e-3)
    assert all(drawn[row, image] < 0.1 for row, image in enumerate(means.about.tolist()))  # it is in none of the four


def test_without_an_order_no_image_is_matched_to_itself(secret: MixingSecret) -> None:
    for size in (24, 10, 30):  # as many guesses as images, fewer, more
        claim = Reconstruction(torch.zeros(size, *secret.private.shape), torch.zeros(size, dtype=torch.int64), "any")
        baseline = answers(claim, secret, 5)["random image"]
        told = baseline.about >= 0
        assert int(told.sum()) == min(size, 24)
        assert len(baseline.about[told].unique()) == min(size, 24)
        pixels = secret.private.pixels()
        assert not (pixels[baseline.about[told]] == baseline.images[told]).flatten(1).all(1).any()


def test_where_there_is_no_other_image_a_baseline_is_about_nothing(secret: MixingSecret) -> None:
    private = secret.private.take(torch.arange(3))  # three classes of one
    claim = Reconstruction(private.pixels(), torch.arange(3), "images")
    found = answers(claim, replace(secret, private=private), 6)
    for name in ("mean image of the class", "random image of the class"):
        baseline = found[name]
        assert baseline.about.tolist() == [-1, -1, -1]
    unlabelled = replace(private, labels=torch.empty(3, 0))
    without_mask = replace(secret, private=unlabelled, mask=None)
    assert list(answers(claim, without_mask, 6)) == [
        "mean image", "random image", "random image, 2×2 lowest frequencies"
    ]  # fmt: skip


def test_within_items_a_baseline_is_matched_to_its_item(secret: MixingSecret) -> None:
    """Random images are of other items; the mean image is every image of an item once, however few the guesses."""
    truth = updates_of(secret.private, (4, 2, 6), (1, 3), (7, 8, 9))
    items = torch.tensor([0, 0, 0, 1, 2])
    claim = Reconstruction(secret.private.pixels(torch.tensor([6, 2, 4, 3, 9])), items, "batches")
    found = answers(claim, truth, 3)
    assert list(found) == ["mean image", *SMOOTHED, "mean image of the class", "random image of the class"]
    for baseline in found.values():
        assert sorted(baseline.about[:3].tolist()) == [2, 4, 6]
        assert int(baseline.about[3]) in (1, 3)
        assert int(baseline.about[4]) in (7, 8, 9)
    pixels = secret.private.pixels()
    for seed in range(20):
        for item, image in zip(items.tolist(), answers(claim, truth, seed)["random image"].images, strict=True):
            (place,) = (pixels == image).flatten(1).all(1).nonzero().flatten().tolist()
            assert place not in truth.images[item].tolist()


def test_within_items_labels_alone_are_a_baseline(secret: MixingSecret) -> None:
    """Four classes take turns: for each label of an item, the mean of its class without what is in the item."""
    private = secret.private
    truth = updates_of(private, (4, 2, 6), (1, 3))
    claim = Reconstruction(private.pixels(torch.tensor([6, 2, 4, 3])), torch.tensor([0, 0, 0, 1]), "batches")
    found = answers(claim, truth, 3)
    pixels = private.pixels().numpy()
    for guess, (label, without) in enumerate(((0, (4,)), (2, (2, 6)), (2, (2, 6)), (1, (1,)))):
        mean = pixels[[each for each in range(label, 24, 4) if each not in without]].mean(0)
        assert np.allclose(found["mean image of the class"].images[guess], mean, atol=1e-5)
        another = (pixels == found["random image of the class"].images[guess].numpy()).all((1, 2, 3)).nonzero()[0]
        assert int(another[0]) % 4 == label
        assert int(another[0]) not in without


def test_items_with_fewer_images_have_baselines_too(secret: MixingSecret) -> None:
    """Padding is no image: it is not subtracted from a mean, nor does it forbid the first or the last image."""
    private = secret.private
    truth = updates_of(private, (4, 2, 6), (1,))
    claim = Reconstruction(private.pixels(torch.tensor([4, 1])), torch.arange(2))
    means = answers(claim, truth, 0)["mean image of the class"]
    peers = private.pixels(torch.tensor([5, 9, 13, 17, 21])).mean(0)  # of image 1: four classes take turns
    torch.testing.assert_close(means.images[1], peers)
    pixels = private.pixels()
    drawn = set()
    for seed in range(300):
        image = answers(claim, truth, seed)["random image"].images[1]
        drawn |= set((pixels == image).flatten(1).all(1).nonzero().flatten().tolist())
    assert drawn == set(range(24)) - {1}


def test_examples_are_the_best_the_median_and_the_worst_beside_what_was_shared() -> None:
    """All private where nothing is masked, since what was shared shows the images too."""
    private = images(30, stored=False, channels=1)
    release, secret = Mixup().hide(private, None, seeded(0), rounds=3)
    noise = torch.linspace(0, 3, 30)[:, None, None, None] * seeded(1).normals(*private.images.shape)
    shown = examples(Reconstruction(private.pixels() + noise, torch.arange(30), "images"), release, secret)
    assert [each.kind for each in shown] == ["best"] * 3 + ["median"] * 3 + ["worst"] * 3
    assert [label for label, _, _ in shown[0].panels] == ["original", "shared", "guess, fitted"]
    assert all(hidden for each in shown for _, _, hidden in each.panels)
    best = shown[0]
    assert (best.subject, best.number, best.metric, best.unit) == ("image", 0, "correlation", "")
    assert best.value == pytest.approx(1)
    original, recovered = best.panels[0][1], best.panels[2][1]
    torch.testing.assert_close(original, private.images[0])
    assert np.corrcoef(original.flatten(), recovered.flatten())[0, 1] > 0.99


def test_examples_of_items_show_that_item() -> None:
    private, public = images(20, stored=False), images(25, stored=False, seed=4)
    release, secret = InstaHide(k=4, k_private=2).hide(private, public, seeded(0))
    rows = torch.arange(20)
    shown = examples(Reconstruction(private.pixels(secret.sources[:, 0]), rows), release, secret)
    assert {label for each in shown for label, _, hidden in each.panels if hidden} == {"original", "guess, fitted"}
    for each in shown:
        (row,) = (release.encoded.images == each.panels[1][1]).flatten(1).all(1).nonzero().flatten().tolist()
        assert each.number in secret.sources[row].tolist()


def test_where_an_item_is_no_picture_none_is_shown() -> None:
    private = images(4, stored=False)
    secret = updates_of(private, (0, 1), (2,))
    claim = Reconstruction(private.pixels(slice(0, 3)), torch.tensor([0, 0, 1]), "batches")
    shown = examples(claim, Updates(2), secret)
    assert [label for label, _, _ in shown[0].panels] == ["original", "guess, fitted"]
    assert sorted(each.number for each in shown) == [0, 1, 2]
    nothing = Reconstruction(torch.empty(0, 3, 7, 5), torch.empty(0, dtype=torch.int64))
    assert examples(nothing, Updates(2), secret) == []
