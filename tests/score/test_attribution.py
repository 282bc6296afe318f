"""Attribution: accuracy against scikit-learn, what labels alone tell, the curve."""

from dataclasses import replace

import numpy as np
import torch
from sklearn.metrics import accuracy_score

from hideseek.chance import seeded
from hideseek.hide import Mixup
from hideseek.records import Attribution
from hideseek.records.mixing_secret import MixingSecret
from hideseek.score.attribution import baselines, curves
from hideseek.score.metrics import METRICS
from score.updates import updates_of
from toys import images


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


def test_labels_alone_are_what_everybody_sees() -> None:
    """A row's image is of a class in its label: no image is needed to name some of them."""
    private = images(24, classes=3, stored=False)
    release, secret = Mixup(k=2).hide(private, None, seeded(0), rounds=2)
    claim = Attribution(torch.arange(48), torch.arange(24), torch.zeros(48, 24))
    guess, alone = baselines(claim, secret, seeded(0))
    assert (guess.name, guess.drawn, alone.name, alone.drawn) == ("random guess", True, "labels alone", False)
    assert isinstance(alone.claim, Attribution)
    expected = release.encoded.labels.double() @ private.labels.double().T
    torch.testing.assert_close(alone.claim.scores.double(), expected, rtol=1e-5, atol=1e-6)
    assert METRICS["accuracy"].score(alone.claim, secret).mean() > 1.2 / 24


def test_labels_of_items_with_fewer_images() -> None:
    secret = updates_of(images(8, classes=4), (0, 1, 6), (3,))
    claim = Attribution(torch.arange(2), torch.arange(4), torch.zeros(2, 4))
    _, alone = baselines(claim, secret, seeded(0))
    assert isinstance(alone.claim, Attribution)
    torch.testing.assert_close(alone.claim.scores, torch.tensor([[1 / 3, 1 / 3, 1 / 3, 0], [0, 0, 0, 1.0]]))


def test_the_curve_is_how_often_the_image_is_among_the_first() -> None:
    _, secret = Mixup(k=2).hide(images(12), None, seeded(0), rounds=5)
    scores = seeded(2).uniforms(60, 12).float()
    (curve,) = curves(Attribution(torch.arange(60), torch.arange(12), scores), secret)
    for m, share in zip(curve.x, curve.y, strict=True):
        named = scores.argsort(1, descending=True)[:, : int(m)]
        right = np.mean([int(secret.sources[row, 0]) in named[row].tolist() for row in range(60)])
        assert abs(share - right) < 1e-4
    assert curve.y[-1] == 1
    nobody = Attribution(torch.arange(60), torch.empty(0, dtype=torch.int64), torch.empty(60, 0))
    assert curves(nobody, secret) == ()
