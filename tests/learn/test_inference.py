from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

import toys
from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide import ENCODERS, Augmented, InstaHide, Laplace, Mixup
from hideseek.learn import accuracy, predict
from hideseek.records import MixingEncoder
from hideseek.train.trained import Trained


def linear() -> Trained:
    torch.manual_seed(0)
    network = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(105, 5))
    return Trained(network, "linear", (3, 7, 5), tuple("abcde"))


def softmax(values: np.ndarray) -> np.ndarray:
    raised = np.exp(values - values.max(1, keepdims=True))
    normalised: np.ndarray = raised / raised.sum(1, keepdims=True)
    return normalised


def answers(trained: Trained, images: torch.Tensor) -> np.ndarray:
    layer = trained.network[2]  # type: ignore[index]
    weight, bias = (p.detach().double().numpy() for p in (layer.weight, layer.bias))
    return softmax(images.flatten(1).double().numpy() @ weight.T + bias)


def test_plain_answers_are_the_softmax() -> None:
    trained, images = linear(), toys.images(20)
    np.testing.assert_allclose(predict(trained, images).numpy(), answers(trained, images.pixels()), atol=1e-5)


@pytest.mark.parametrize("encoder", [*ENCODERS.values(), Augmented()], ids=[*ENCODERS, "augmented"])
def test_hidden_answers_are_joined_over_encodings(encoder: MixingEncoder) -> None:
    trained, images, pool = linear(), toys.images(12), toys.images(30, seed=1)
    public = toys.images(9, seed=2) if getattr(encoder, "k_private", None) else None
    asked = partial(predict, trained, images, encoder=encoder, pool=pool, public=public, times=3)
    encode = encoder.queries(pool, public, seeded(5))
    every = [encode(images) for _ in range(3)]
    each = np.stack([answers(trained, one.images) for one in every])
    shares = np.stack([one.shares.double().numpy() for one in every])[:, :, None]
    product = np.exp((shares * np.log(each)).sum(0) / shares.sum(0))
    np.testing.assert_allclose(asked(chance=seeded(5)), product / product.sum(1, keepdims=True), atol=1e-5)
    np.testing.assert_allclose(asked(weighted=False, chance=seeded(5)), each.mean(0), atol=1e-5)


def test_the_class_is_that_of_the_least_cross_entropy() -> None:
    """Whatever the labels of the partners: Σ_t −Σ_i y_ti log p_ti is least for the class that is given."""
    trained, images, pool = linear(), toys.images(200, stored=False), toys.images(300, stored=False, seed=1)
    got = predict(trained, images, encoder=Mixup(k=3), pool=pool, times=4, chance=seeded(5))
    encode = Mixup(k=3).queries(pool, None, seeded(5))
    every = [encode(images) for _ in range(4)]
    logs = np.log([answers(trained, each.images) for each in every])
    share = np.stack([each.shares.double().numpy() for each in every])[:, :, None]
    others = np.random.default_rng(0).dirichlet(np.ones(5), (4, 200))
    entropies = [-((share * np.eye(5)[c] + (1 - share) * others) * logs).sum((0, 2)) for c in range(5)]
    assert np.argmin(entropies, 0).tolist() == got.argmax(1).tolist()


def test_many_images_are_asked_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    from hideseek.learn import inference

    trained, images = linear(), toys.images(20)
    whole = predict(trained, images)
    monkeypatch.setattr(inference, "CHUNK", 7 * 105)
    monkeypatch.setattr(inference, "BATCH", 3)
    torch.testing.assert_close(predict(trained, images), whole)


def test_without_a_pool_no_chunk_is_too_short_for_partners(monkeypatch: pytest.MonkeyPatch) -> None:
    from hideseek.learn import inference

    monkeypatch.setattr(inference, "CHUNK", 7 * 105)
    assert predict(linear(), toys.images(15), encoder=InstaHide()).shape == (15, 5)


def test_no_images_have_no_answers() -> None:
    assert predict(linear(), toys.images(0)).shape == (0, 5)


def test_accuracy_needs_labels() -> None:
    with pytest.raises(BadInput, match="no labelled images"):
        accuracy(torch.ones(2, 3), torch.empty(2, 0))


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (toys.images(3, channels=1), r"takes images of 7×5 with 3 channels, not of 7×5 with 1 channel"),
        (toys.images(3, height=9), "not of 9×5"),
        (toys.images(3, classes=4), "tells 5 classes apart, and the images have 4"),
    ],
)
def test_other_images_are_refused(images: object, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        predict(linear(), images)  # type: ignore[arg-type]


def test_no_encodings_at_all_are_refused() -> None:
    with pytest.raises(BadInput, match="at least one"):
        predict(linear(), toys.images(3), encoder=Laplace(), times=0)


def test_one_image_without_a_pool() -> None:
    with pytest.raises(BadInput, match="k = 4"):
        predict(linear(), toys.images(1), encoder=InstaHide())
