"""Every metric against an independent implementation."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from skimage.metrics import peak_signal_noise_ratio, structural_similarity
from sklearn.metrics import accuracy_score, roc_auc_score, roc_curve

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.models.lpips import enlarged, load_lpips
from hideseek.records import Attribution, Links, Masks, PublicImagesFound, Reconstruction, Samples
from hideseek.records.mixing_secret import MixingSecret
from hideseek.score.metrics import METRICS
from hideseek.score.reconstruction import LIMIT

Array = NDArray[np.float64]
DATA = Path(os.environ.get("HIDESEEK_DATA", "/nowhere"))
SSIM_GAUSSIAN = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False}


def guesses(secret: MixingSecret, of: Literal["rows", "images", "any"]) -> Reconstruction:
    """Some private images under noise of different strength, in an order of their own."""
    generator = np.random.default_rng(1)
    if of == "rows":
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


PAIRWISE = [name for name, metric in METRICS.items() if metric.of is Reconstruction and name[:2] not in ("re", "lp")]


@pytest.mark.parametrize("of", ["images", "rows", "any"])
@pytest.mark.parametrize("name", PAIRWISE)
def test_reconstruction(name: str, of: Literal["rows", "images", "any"], normalised: MixingSecret) -> None:
    claim = guesses(normalised, of)
    best = max if METRICS[name].higher_is_better else min
    expected = [
        best(one(name, place, guess.double().numpy(), normalised) for place in places)
        for guess, places in zip(claim.images, truths(claim, normalised), strict=True)
    ]
    scores = METRICS[name].score(claim, normalised)
    np.testing.assert_allclose(scores.numpy(), expected, rtol=2e-4, atol=2e-4)


def test_recovered_is_a_correlation_of_nine_tenths_whatever_the_sign(secret: MixingSecret) -> None:
    """A guess x + s·z of unit variances has the correlation 1 / √(1 + s²): 0.9 at s = 0.484."""
    pixels = secret.private.pixels().flatten(1)
    unit = (pixels - pixels.mean(1, keepdim=True)) / pixels.std(1, correction=0, keepdim=True)
    noise = torch.from_numpy(np.random.default_rng(0).standard_normal(unit.shape)).float()
    levels = torch.tensor([0.0, 0.4, 0.6, 2.0])[torch.arange(len(unit)) % 4]
    signs = torch.tensor([1.0, -1.0])[torch.arange(len(unit)) // 4 % 2]
    images = (signs[:, None] * (unit + levels[:, None] * noise)).view(-1, *secret.private.shape)
    expected = [
        float(abs(np.corrcoef(x.double(), g.double())[0, 1]) >= 0.9)
        for x, g in zip(pixels, images.flatten(1), strict=True)
    ]
    claim = Reconstruction(images, torch.arange(len(images)), "images")
    assert METRICS["recovered"].score(claim, secret).tolist() == expected
    assert 0.4 < np.mean(expected) < 0.6


@pytest.mark.parametrize("of", ["images", "rows"])
def test_re_identified(of: Literal["rows", "images"], secret: MixingSecret) -> None:
    claim = guesses(secret, of)
    nearest = absolute_table(claim, secret).argmax(1)
    expected = [float(near in places) for near, places in zip(nearest, truths(claim, secret), strict=True)]
    assert METRICS["re-identified"].score(claim, secret).tolist() == expected
    assert 0 < sum(expected) < len(expected)
    chance = METRICS["re-identified"].chance
    assert chance is not None
    np.testing.assert_allclose(chance(claim, secret).numpy(), (1 if of == "images" else 2) / 24)


def test_two_equal_images_share_a_re_identification(secret: MixingSecret) -> None:
    twice = torch.cat([secret.private.images[:6], secret.private.images[:1]])
    private = replace(secret.private, images=twice, labels=torch.eye(7))
    truth = replace(secret, private=private)
    claim = Reconstruction(private.pixels(), torch.arange(7), "images")
    assert METRICS["re-identified"].score(claim, truth).tolist() == [0.5, 1, 1, 1, 1, 1, 0.5]
    flat = Reconstruction(torch.ones(7, *private.shape), torch.arange(7), "images")
    assert METRICS["re-identified"].score(flat, truth).sum() == 0  # as like the one as the other


def test_blocks_do_not_change_a_score(secret: MixingSecret, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = guesses(secret, "rows")
    whole = {name: METRICS[name].score(claim, secret) for name in ("l2", "fitted-ssim", "re-identified")}
    monkeypatch.setattr("hideseek.score.ground_truth.blocks.__defaults__", (4 * 3 * 256,))
    monkeypatch.setattr("hideseek.score.reconstruction.BLOCK", 3 * 256)
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


@pytest.mark.skipif(not (DATA / "lpips_alex.npz").is_file(), reason="HIDESEEK_DATA names no folder with LPIPS weights")
def test_lpips_is_given_the_right_range(secret: MixingSecret) -> None:
    claim = guesses(secret, "images")
    few = replace(claim, images=claim.images[:3], about=claim.about[:3])
    raw = secret.private.images[few.about].double() / 255
    shown = (few.images.double() - secret.private.shift[..., None, None]) / secret.private.scale[..., None, None] / 255
    pair = [enlarged((image.clamp(0, 1) * 2 - 1).float()) for image in (raw, shown)]
    expected = load_lpips("alex")(*pair)
    torch.testing.assert_close(METRICS["lpips-alex"].score(few, secret), expected, rtol=1e-3, atol=1e-5)
    note = METRICS["lpips-alex"].note
    assert note is not None
    assert note(few, secret) == "images were enlarged from 16 to 64 pixels"


@pytest.mark.parametrize("kept", [60, 12, 1, 0])
def test_uncovered(kept: int, secret: MixingSecret) -> None:
    generator = np.random.default_rng(3)
    rows = generator.permutation(len(secret.sources))[:30]
    answers = np.stack([generator.permutation(60) for _ in rows])
    for number in range(0, 30, 2):  # every other answer begins well
        answers[number] = [*secret.public_sources[rows[number]], *answers[number]][:60]
    answers = answers[:, :kept]
    claim = PublicImagesFound(torch.from_numpy(rows), torch.from_numpy(answers), torch.zeros(answers.shape), 60)
    expected: dict[str, list[float]] = {name: [] for name in METRICS if METRICS[name].of is PublicImagesFound}
    for row, answer in zip(rows, answers.tolist(), strict=True):
        truth = secret.public_sources[row].tolist()
        for most in (1, 10, 100):
            expected[f"hit@{most}"].append(float(bool(set(truth) & set(answer[:most]))))
        right = len(set(truth) & set(answer[:2]))
        expected["found"].append(right / 2)
        expected["all-found"].append(float(right == 2))
        places = [answer.index(image) + 1 if image in answer else None for image in truth]
        missing = np.mean(range(kept + 1, 61)) if kept < 60 else 0
        expected["rank"].append(float(np.mean([place or missing for place in places])))
        expected["search-space"].append(max(place or 60 for place in places) / 60)
    for name, values in expected.items():
        np.testing.assert_allclose(METRICS[name].score(claim, secret).numpy(), values, err_msg=name)


def test_links(secret: MixingSecret) -> None:
    generator = np.random.default_rng(4)
    first, second = (torch.from_numpy(ends) for ends in np.triu_indices(len(secret.sources), 1))
    sources = [set(row) for row in secret.sources.tolist()]
    truth = np.array([bool(sources[i] & sources[j]) for i, j in zip(first.tolist(), second.tolist(), strict=True)])
    scores = np.round(generator.standard_normal(len(truth)) + truth, 1)  # with ties
    order = generator.permutation(len(truth))  # and in no order
    claim = Links(first[order], second[order], torch.from_numpy(scores[order]))
    expected = []
    for row in range(len(sources)):
        own = first.numpy() == row
        if own.any() and 0 < truth[own].mean() < 1:
            expected.append(roc_auc_score(truth[own], scores[own]))
    np.testing.assert_allclose(METRICS["auc"].score(claim, secret).numpy(), expected)
    assert len(METRICS["auc"].groups(claim, secret)) == len(expected)
    false, true, _ = roc_curve(truth, scores, drop_intermediate=False)
    for name, alarms in (("tpr@fpr=0.01", 0.01), ("tpr@fpr=0.001", 0.001)):
        caught = METRICS[name].score(claim, secret)
        assert len(caught) == truth.sum() == len(METRICS[name].groups(claim, secret))
        assert float(caught.mean()) == pytest.approx(true[false <= alarms].max())
    alone = Links(first[truth], second[truth], torch.zeros(int(truth.sum())))
    for name in ("auc", "tpr@fpr=0.01"):
        with pytest.raises(BadInput, match="both kinds"):
            METRICS[name].score(alone, secret)


def test_wrong_signs(secret: MixingSecret) -> None:
    assert secret.mask is not None
    signs = seeded(2).signs(10, 3, 16, 16)
    signs[0], signs[1], signs[2] = secret.signs()[30], -secret.signs()[31], 0
    claim = Masks(torch.arange(30, 40), signs)
    expected = []
    for number, row in enumerate(range(30, 40)):
        wrong = 0.0
        for c, q in np.ndindex(3, 256):
            truth = -1 if secret.mask[row, c, q // 8].item() >> (q % 8) & 1 else 1
            wrong += (1 - truth * signs[number, c, q // 16, q % 16].item()) / 2
        expected.append(wrong / 768)
    scores = METRICS["wrong-signs"].score(claim, secret)
    np.testing.assert_allclose(scores.numpy(), expected)
    assert scores[:3].tolist() == [0, 1, 0.5]
    flipped = METRICS["wrong-signs-flipped"].score(claim, secret)
    np.testing.assert_allclose(flipped.numpy(), np.minimum(expected, 1 - np.array(expected)))
    with pytest.raises(BadInput, match="no masks"):
        METRICS["wrong-signs"].score(claim, replace(secret, mask=None))
    with pytest.raises(BadInput, match="no public images"):
        METRICS["rank"].score(
            PublicImagesFound(torch.arange(2), torch.zeros(2, 1, dtype=torch.int64), torch.zeros(2, 1), 5),
            replace(secret, public_sources=torch.empty(48, 0, dtype=torch.int64)),
        )


def test_accuracy(secret: MixingSecret) -> None:
    generator = np.random.default_rng(5)
    candidates = generator.permutation(24)[:20]
    scores = generator.random((48, 20)) + (candidates == secret.sources[:, :1].numpy())
    claim = Attribution(torch.arange(48), torch.from_numpy(candidates), torch.from_numpy(scores))
    found = METRICS["accuracy"].score(claim, secret)
    assert float(found.mean()) == accuracy_score(secret.sources[:, 0], candidates[scores.argmax(1)])
    ties = replace(claim, scores=torch.zeros(48, 20))
    among = np.isin(secret.sources[:, 0].numpy(), candidates)
    np.testing.assert_allclose(METRICS["accuracy"].score(ties, secret).numpy(), among / 20)
    nobody = Attribution(torch.arange(48), torch.empty(0, dtype=torch.int64), torch.empty(48, 0))
    assert METRICS["accuracy"].score(nobody, secret).tolist() == [0] * 48
