"""Labels from the gradient of the last layer: one, counts, mixed ones, and where there are none."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide import Mixup
from hideseek.hide.updates import GradientPruning, ShareUpdates
from hideseek.records import Reason, Samples
from hideseek.records.shared_model import SharedModel
from hideseek.records.update_encoder import Sent
from hideseek.records.update_release import UpdateRelease
from hideseek.score.item_labels import item_labels
from hideseek.seek import ATTACKS, refusal, run
from hideseek.seek.systems import head_labels
from hideseek.seek.systems.head_labels import HeadLabels, HeadReader, head_of, on_simplex, recovered_labels

ATTACK = ATTACKS["labels-from-gradient"]


def images(count: int = 24, classes: int = 5) -> Samples:
    """Give images of five classes, some more frequent than others."""
    labels = torch.eye(classes)[(torch.arange(count) ** 2) % classes]
    return Samples(seeded(1).normals(count, 1, 8, 8), labels)


@pytest.mark.parametrize("model", ["relu-dense", "lenet", "small-resnet", "linear"])
@pytest.mark.parametrize("batch", [1, 6])
def test_all_labels_are_right_in_an_untrained_network(model: str, batch: int) -> None:
    scheme = ShareUpdates(model, batch=batch, mode="eval")
    release, secret = scheme.hide(images(), None, seeded(2))
    claim = run(ATTACK, release, seeded(3)).claims[0]
    truth = item_labels(secret)
    if model == "linear" and batch > 1:  # whose logits differ between images
        assert float(torch.minimum(truth, claim.parts()["shares"].double()).sum(1).mean()) > 0.5
    else:
        assert torch.allclose(claim.parts()["shares"].double(), truth, atol=1e-5)


def test_mixed_labels_of_one_row_are_exact() -> None:
    release, secret = ShareUpdates("relu-dense", encoding=Mixup(k=3)).hide(images(), None, seeded(2))
    evidence = run(ATTACK, release, seeded(3))
    assert evidence.remarks["exact"] == 24
    assert torch.allclose(evidence.claims[0].parts()["shares"].double(), item_labels(secret), atol=1e-4)


def test_the_label_of_one_image_by_hand() -> None:
    """y = softmax(W f + b) − e, with f = G_c / e_c."""
    release, secret = ShareUpdates("tanh-dense").hide(images(3), None, seeded(2))
    state = {name: each.numpy().astype(float) for name, each in release.models[0].state.items()}
    for item in range(3):
        error = release.updates[item]["head.bias"].numpy().astype(float)
        feature = release.updates[item]["head.weight"].numpy()[0] / error[0]
        logits = state["head.weight"] @ feature + state["head.bias"]
        label = np.exp(logits) / np.exp(logits).sum() - error
        found = recovered_labels(release, item)
        assert found is not None
        assert np.abs(found[0].numpy() - label).max() < 1e-4
        assert found[0].equal(item_labels(secret)[item].float())


def test_local_steps_and_unknown_sizes() -> None:
    scheme = ShareUpdates("relu-dense", batch=3, local_steps=2, sends="weights")
    release, secret = scheme.hide(images(), None, seeded(2))
    found = run(ATTACK, replace(release, sizes=None), seeded(3)).claims[0]
    assert torch.allclose(found.parts()["shares"].double(), item_labels(secret), atol=1e-5)


def test_known_labels_are_used_as_they_are() -> None:
    release, secret = ShareUpdates("relu-dense", batch=4).hide(images(), None, seeded(2))
    given = secret.reveal(release, ["labels"])
    assert given.labels is not None
    assert recovered_labels(given, 1) is given.labels[1]
    found = recovered_labels(release, 1)
    assert found is not None
    assert found.sum(0).equal(given.labels[1].sum(0))


def test_counts_are_rounded_to_the_size() -> None:
    found = HeadLabels(torch.tensor([0.5, 0.3, 0.2]), False, 4)
    assert found.counts().tolist() == [2, 1, 1]
    assert found.labels(hard=True).sum(0).tolist() == [2, 1, 1]
    assert found.labels(hard=False).shape == (4, 3)
    assert float(on_simplex(torch.tensor([5.0, -1.0, 4.0])).sum()) == pytest.approx(1.0)


class Scaled(nn.Module):
    """Logits that are no dense layer's."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Linear(64, 5)

    def forward(self, batch: Tensor) -> Tensor:
        """Give logits."""
        found: Tensor = 2 * self.dense(batch.flatten(1))
        return found


def test_other_heads_are_refused() -> None:
    for network in (Scaled(), nn.Sequential(nn.Flatten(), nn.Linear(64, 5, bias=False))):
        model = SharedModel("toy", lambda kept=network: kept, network.state_dict())  # type: ignore[misc]
        assert head_of(model, (1, 8, 8), "train") is None
        release, _ = ShareUpdates(start=model).hide(images(2), None, seeded(2))
        refused = refusal(ATTACK, release)
        assert refused is not None
        assert refused.reason is Reason.NO_HEAD
        assert recovered_labels(release, 0) is None


def changed(release: UpdateRelease, factor: float) -> UpdateRelease:
    """Multiply all updates."""
    return replace(release, updates=tuple({name: factor * each for name, each in u.items()} for u in release.updates))


def test_degenerate_updates() -> None:
    private = images(4)
    release, _ = ShareUpdates("linear", batch=4).hide(private, None, seeded(2))
    for factor in (0.0, float("nan")):
        with pytest.raises(BadInput, match="all updates are zero, or no numbers, at the layer head"):
            run(ATTACK, changed(release, factor), seeded(3))
    steps, _ = ShareUpdates("lenet", batch=2, local_steps=2, sends="weights").hide(images(4), None, seeded(2))
    with pytest.raises(BadInput, match="the update 0 holds numbers that are not finite at features"):
        run(
            ATTACK,
            replace(steps, updates=({**steps.updates[0], "features.0.bias": torch.tensor(torch.nan)},)),
            seeded(3),
        )
    one_class = Samples(torch.ones(4, 1, 8, 8), torch.eye(5)[torch.zeros(4, dtype=torch.long)])
    for scheme in (ShareUpdates("linear", batch=4), ShareUpdates("linear", batch=4, defences=(GradientPruning(0.99),))):
        same, _ = scheme.hide(one_class, None, seeded(2))
        found = run(ATTACK, same, seeded(3)).claims[0].parts()["shares"]
        assert int(found.argmax()) == 0


@pytest.mark.parametrize(("sends", "asked"), [("gradient", 1), ("weights", 4)])
def test_a_model_is_asked_once_for_each_of_its_states(sends: Sent, asked: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers take a pass of hundreds of images; where weights are sent, states after updates are asked too."""
    release, _ = ShareUpdates("lenet", batch=6, sends=sends).hide(images(), None, seeded(2))
    alone = [recovered_labels(release, item) for item in range(4)]
    items: list[int] = []
    answers = head_labels._softmax_by_class

    def counted(release: UpdateRelease, item: int) -> head_labels.Answers:
        items.append(item)
        return answers(release, item)

    monkeypatch.setattr(head_labels, "_softmax_by_class", counted)
    run(ATTACK, release, seeded(3))
    assert len(items) == asked
    items.clear()
    reader = HeadReader(release)
    for item in range(4):
        again, found = recovered_labels(release, item, reader), alone[item]
        assert again is not None
        assert found is not None
        assert again.equal(found)
    assert len(items) == asked
