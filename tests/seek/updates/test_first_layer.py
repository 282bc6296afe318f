"""Images of updates from the gradient of the first dense layer, and what is said where there are none."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide import Mixup
from hideseek.hide.updates import GradientNoise, GradientPruning, Quantised, ShareUpdates, Sign
from hideseek.records import Reason, Samples
from hideseek.records.claims import Reconstruction
from hideseek.records.shared_model import SharedModel
from hideseek.records.update_release import UpdateRelease
from hideseek.records.update_secret import UpdateSecret
from hideseek.seek import ATTACKS, refusal, run
from hideseek.train.first_dense import FirstDense, first_dense

ATTACK = ATTACKS["first-layer"]


def images(count: int = 12) -> Samples:
    """Give images of three classes."""
    return Samples(seeded(1).normals(count, 1, 8, 8), torch.eye(3)[torch.arange(count) % 3])


class Dense(nn.Module):
    """Two dense layers behind something, with some activation."""

    def __init__(self, before: nn.Module, activation: nn.Module, inputs: int = 64, bias: bool = True) -> None:
        super().__init__()
        self.before, self.activation = before, activation
        self.first, self.head = nn.Linear(inputs, 150, bias=bias), nn.Linear(150, 3)

    def forward(self, batch: Tensor) -> Tensor:
        """Give logits."""
        found: Tensor = self.head(self.activation(self.first(self.before(batch).flatten(1))))
        return found


class Scaled(nn.Module):
    """Normalise inside of the network, in a frame of ones, upside down."""

    def forward(self, batch: Tensor) -> Tensor:
        """Give 2 x − 1 in a frame."""
        return nn.functional.pad(2 * batch.flip(2) - 1, (1, 1, 1, 1), value=1.0)


def model(make: nn.Module) -> SharedModel:
    """Give a model whose architecture is nobody's."""
    return SharedModel("toy", lambda: make, {name: each.clone() for name, each in make.state_dict().items()})


def relu(before: nn.Module | None = None, inputs: int = 64) -> SharedModel:
    """Give a ReLU network, the same every time."""
    torch.manual_seed(3)
    return model(Dense(before or nn.Identity(), nn.ReLU(), inputs))


def found(scheme: ShareUpdates, count: int = 12, **changed: object) -> tuple[Reconstruction, float, dict[str, object]]:
    """Run the attack, and give its claim, the error of its worst certified guess, and its remarks."""
    private = images(count)
    release, secret = scheme.hide(private, None, seeded(2))
    evidence = run(ATTACK, replace(release, **changed), seeded(4))  # type: ignore[arg-type]
    claim = evidence.claims[0]
    assert isinstance(claim, Reconstruction)
    assert claim.sure is not None
    return claim, worst(claim, secret, private), dict(evidence.remarks)


def worst(claim: Reconstruction, secret: UpdateSecret, private: Samples) -> float:
    """Give the largest error of a pixel of certified guesses."""
    assert claim.sure is not None
    errors = [0.0]
    for guess, item in zip(claim.images[claim.sure], claim.about[claim.sure], strict=True):
        held = secret.holds(item[None])[0]
        errors.append(float((private.pixels(held[held >= 0]) - guess).abs().flatten(1).amax(1).min()))
    return max(errors)


@pytest.mark.parametrize("batch", [1, 5, 12])
def test_all_images_are_found_and_certified(batch: int) -> None:
    claim, error, remarks = found(ShareUpdates(batch=batch, start=relu()))
    assert len(claim.images) == remarks["certified"] == 12
    assert error < 1e-4


def test_an_unknown_batch_size_is_the_rank() -> None:
    claim, error, remarks = found(ShareUpdates(batch=6, start=relu()), sizes=None)
    assert remarks["batch sizes"] == "estimated from the rank"
    assert remarks["ranks"] == [6, 6]
    assert len(claim.images) == remarks["certified"] == 12
    assert error < 1e-4


def test_weights_after_local_steps_show_images_too() -> None:
    scheme = ShareUpdates(batch=2, local_steps=3, rate=0.1, sends="weights", start=relu())
    claim, error, remarks = found(scheme)
    assert remarks["certified"] == len(claim.images) == 12
    assert error < 1e-3


def test_pruned_entries_are_filled_in() -> None:
    claim, error, remarks = found(ShareUpdates(batch=4, defences=(GradientPruning(0.3),), start=relu()))
    assert remarks["certified"] == len(claim.images) == 12
    assert error < 1e-4
    claim, _, remarks = found(ShareUpdates(batch=4, defences=(GradientPruning(0.99),), start=relu()))
    assert remarks["certified"] == 0
    assert 0 < len(claim.images) <= 12


def test_what_the_network_does_to_pixels_is_undone() -> None:
    claim, error, remarks = found(ShareUpdates(batch=3, start=relu(Scaled(), 100)))
    assert remarks["certified"] == len(claim.images)
    assert error < 1e-4


@pytest.mark.parametrize("defence", [GradientNoise(1.0, 0.01), Sign(), Quantised(4)])
@pytest.mark.parametrize("batch", [1, 4])
def test_defended_updates_certify_nothing(defence: Sign, batch: int) -> None:
    claim, _, remarks = found(ShareUpdates(batch=batch, defences=(defence,), start=relu()))
    assert remarks["certified"] == 0
    assert len(claim.images) == 12


def test_mixed_rows_are_found_as_they_were_shared() -> None:
    private = images()
    release, secret = ShareUpdates(batch=4, encoding=Mixup(k=2), start=relu()).hide(private, None, seeded(2))
    evidence = run(ATTACK, release, seeded(4))
    mixed = secret.weights[..., None] * private.pixels().flatten(1)[secret.sources]
    rows = mixed.sum(2).flatten(0, 1)
    guesses = evidence.claims[0].parts()["images"].flatten(1)
    assert evidence.remarks["certified"] == 12
    assert float(torch.cdist(guesses, rows).min(1).values.max()) < 1e-3


@pytest.mark.parametrize(
    ("network", "says"),
    [
        (nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(72, 3)), "the layer 0 (Conv2d)"),
        (Dense(nn.AvgPool2d(2), nn.ReLU(), 16), "a layer that drops pixels, before first"),
        (Dense(nn.Sigmoid(), nn.ReLU()), "a layer that mixes pixels, before first"),
        (Dense(nn.Identity(), nn.ReLU(), bias=False), "the dense layer first without a bias"),
        (nn.Sequential(nn.BatchNorm2d(1), nn.Flatten(), nn.Linear(64, 3)), "the layer 0 (BatchNorm2d)"),
    ],
)
def test_other_first_layers_are_refused(network: nn.Module, says: str) -> None:
    release, _ = ShareUpdates(batch=2, start=model(network)).hide(images(4), None, seeded(2))
    refused = refusal(ATTACK, release)
    assert refused is not None
    assert refused.reason is Reason.NO_DENSE_INPUT
    assert says in str(refused)


def test_the_layer_is_found_whatever_its_name() -> None:
    found_layer = first_dense(relu(), (1, 8, 8), "train")
    assert isinstance(found_layer, FirstDense)
    assert found_layer.name == "first"
    assert found_layer.place.tolist() == list(range(64))


def degenerate(kind: str) -> UpdateRelease:
    """Give an update that nobody would send."""
    private = images(4)
    if kind == "constant":
        private = Samples(torch.ones(4, 1, 8, 8), private.labels)
    if kind == "black":
        private = Samples(torch.zeros(4, 1, 8, 8), private.labels)
    if kind == "one class":
        private = Samples(private.images, torch.eye(3)[torch.zeros(4, dtype=torch.long)])
    release, _ = ShareUpdates(batch=4, start=relu()).hide(private, None, seeded(2))
    if kind == "zero":
        release = replace(release, updates=tuple({n: 0 * t for n, t in u.items()} for u in release.updates))
    if kind == "not finite":
        release = replace(release, updates=tuple({n: t * torch.nan for n, t in u.items()} for u in release.updates))
    if kind == "half":
        release = replace(release, updates=tuple({n: t.half() for n, t in u.items()} for u in release.updates))
    return release


@pytest.mark.parametrize("kind", ["constant", "black", "one class", "half"])
def test_degenerate_updates_give_evidence(kind: str) -> None:
    claim = run(ATTACK, degenerate(kind), seeded(4)).claims[0]
    assert 1 <= len(claim.parts()["images"]) <= 4


@pytest.mark.parametrize("kind", ["zero", "not finite"])
def test_empty_updates_are_refused_in_a_sentence(kind: str) -> None:
    with pytest.raises(BadInput, match="all updates are zero, or no numbers, at the layer first"):
        run(ATTACK, degenerate(kind), seeded(4))
