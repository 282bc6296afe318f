"""Class means in closed form: against NumPy's least squares, and where a network of few steps fails."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import toys
from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide import InstaHide, Laplace, Mixup, SingularizedMixup
from hideseek.learn import accuracy, class_means, predict
from hideseek.records import EncodedRelease, MixingEncoder, Samples
from hideseek.train.trained import read_model, write_model

TRAIN, TEST = toys.patterns(300), toys.patterns(90, seed=9)


def layer(releases: list[EncodedRelease]) -> tuple[np.ndarray, np.ndarray]:
    state = class_means(releases).network.state_dict()
    return state["head.weight"].double().numpy(), state["head.bias"].double().numpy()


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize("scheme", [Mixup(k=2), Laplace(scale=0.5), SingularizedMixup(tau=0.1)], ids=str)
def test_the_means_are_numpy_s_least_squares(
    scheme: MixingEncoder, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M by lstsq of all rows stacked; s by the residuals, entry by entry."""
    monkeypatch.setattr("hideseek.learn.closed_form.CHUNK", 70)
    releases = [scheme.hide(TRAIN, None, seeded(seed))[0] for seed in range(rounds)]
    rows = np.concatenate([each.encoded.pixels().flatten(1).double().numpy() for each in releases])
    labels = np.concatenate([each.encoded.labels.double().numpy() for each in releases])
    means = np.linalg.lstsq(labels, rows)[0]
    noise = ((rows - labels @ means) ** 2).sum() / (len(rows) - 3)
    share = 1 - noise * np.trace(np.linalg.inv(labels.T @ labels)) / (means**2).sum()
    assert 0 < share < 1
    weight, bias = layer(releases)
    np.testing.assert_allclose(weight, means, atol=1e-5)
    np.testing.assert_allclose(bias, -share * (means**2).sum(1) / 2, rtol=1e-5)


def test_public_images_have_a_mean_of_their_own() -> None:
    """Labels of cross-dataset mixing sum to less than one: without a column for the rest, its mean would be theirs."""
    public = replace(toys.images(50, 1, 12, 12, stored=False), labels=torch.empty(50, 0))
    public = replace(public, images=public.images + 5)
    release, _ = Mixup(k=4, k_private=2).hide(TRAIN, public, seeded(0), 5)
    labels = release.encoded.labels.double().numpy()
    whole = np.c_[labels, 1 - labels.sum(1)]
    expected = np.linalg.lstsq(whole, release.encoded.pixels().flatten(1).double().numpy())[0]
    weight, _ = layer([release])
    np.testing.assert_allclose(weight, expected[:3], atol=1e-4)
    assert accuracy(predict(class_means([release]), TEST), TEST.labels) > 0.9


def test_releases_add_up_where_one_tells_little() -> None:
    """At τ = 1e-3, sixty encodings of 300 images against one; each asked about 90 clean images of three classes."""
    releases = [SingularizedMixup(tau=1e-3).hide(TRAIN, None, seeded(seed))[0] for seed in range(60)]
    one, many = (accuracy(predict(class_means(each), TEST), TEST.labels) for each in (releases[:1], releases))
    assert many > 0.95
    assert one < many - 0.15


def test_noise_alone_is_at_chance() -> None:
    """Rows of noise, a hundred times; images of a class are alike, so an accuracy deviates by up to √(⅓ ⅔) = 0.47.

    Four deviations of the mean of a hundred are 0.19.
    """
    generator, found = np.random.default_rng(0), []
    for _ in range(100):
        noise = torch.from_numpy(generator.standard_normal(TRAIN.images.shape, dtype=np.float32))
        release = EncodedRelease(replace(TRAIN, images=noise), Mixup())
        found.append(accuracy(predict(class_means([release]), TEST), TEST.labels))
    assert abs(np.mean(found) - 1 / 3) < 0.19


def test_a_class_without_rows_is_never_the_answer(tmp_path: Path) -> None:
    wider = Samples(TRAIN.images, torch.cat([TRAIN.labels, torch.zeros(300, 1)], 1))
    trained = class_means([EncodedRelease(wider, Mixup())])
    answers = predict(trained, replace(TEST, labels=torch.empty(90, 0)))
    assert float(answers[:, 3].max()) == 0
    assert accuracy(answers[:, :3], TEST.labels) > 0.95
    write_model(tmp_path / "model.safetensors", trained)
    again, _ = read_model(tmp_path / "model.safetensors")
    assert torch.equal(predict(again, replace(TEST, labels=torch.empty(90, 0))), answers)


def test_what_has_no_class_means_is_refused() -> None:
    hidden, _ = Mixup().hide(TRAIN, None, seeded(0))
    smaller, _ = Mixup().hide(toys.patterns(60, side=8), None, seeded(0))
    for releases, words in (
        ([], "no release"),
        ([InstaHide().hide(TRAIN, None, seeded(0))[0]], "mask of signs"),
        ([hidden, smaller], "differ in shape"),
        ([replace(hidden, encoded=replace(hidden.encoded, labels=torch.empty(300, 0)))], "no labels"),
    ):
        with pytest.raises(BadInput, match=words):
            class_means(releases)
