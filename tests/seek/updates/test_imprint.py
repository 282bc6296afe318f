"""Imprint layers: recognised by their weights, and what their bins hold."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from torch import nn

from hideseek.audit.threats import MALICIOUS, threat_of
from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide.updates import GradientNoise, GradientPruning, ShareUpdates, from_states
from hideseek.models import build
from hideseek.models.imprint import Imprinted, imprinted
from hideseek.models.imprint_bins import imprint_order, of_bytes
from hideseek.records import Reason, Samples
from hideseek.records.claims import Reconstruction
from hideseek.records.samples import Normalisation
from hideseek.records.shared_model import SharedModel
from hideseek.records.update_encoder import LocalWork
from hideseek.records.update_release import UpdateRelease
from hideseek.records.update_secret import UpdateSecret
from hideseek.seek import ATTACKS, refusal, run
from hideseek.train.first_dense import first_dense

SHAPE = (1, 8, 8)


def images(count: int = 16) -> Samples:
    """Give images whose brightness differs."""
    pixels = seeded(1).normals(count, *SHAPE) + 0.5 * seeded(2).normals(count, 1, 1, 1)
    normal = Normalisation("channel", (0.0,), (1.0,))
    return Samples(pixels, torch.eye(3)[torch.arange(count) % 3], normalisation=normal)


def model() -> SharedModel:
    """Give a LeNet behind an imprint."""
    torch.manual_seed(1)
    make = partial(imprinted, partial(build, "lenet", SHAPE, 3), SHAPE, 0.0, 0.5)
    return SharedModel("imprinted", make, make().state_dict())


def shared(**settings: object) -> tuple[UpdateRelease, UpdateSecret]:
    """Share updates of four images."""
    return ShareUpdates(batch=4, start=model(), **settings).hide(images(), None, seeded(2))  # type: ignore[arg-type]


def errors(claim: Reconstruction, secret: UpdateSecret) -> torch.Tensor:
    """Give the largest error of a pixel of each guess."""
    truth = secret.private.pixels()
    pairs = zip(claim.images, claim.about, strict=True)
    return torch.stack([(truth[secret.holds(u[None])[0]] - x).abs().flatten(1).amax(1).min() for x, u in pairs])


def test_differences_of_bins_are_images() -> None:
    release, secret = shared()
    evidence = run(ATTACKS["imprint"], release, seeded(3))
    claim = evidence.claims[0]
    assert isinstance(claim, Reconstruction)
    assert claim.sure is not None
    assert evidence.remarks["imprint layer"] == "measure"
    assert evidence.remarks["warning"].startswith("The model that the server sent holds an imprint layer")
    assert int(claim.sure.sum()) >= 12
    assert float(errors(claim, secret)[claim.sure].max()) < 1e-2


def test_bins_by_hand() -> None:
    """Bin j fires for the images whose mean pixel is above its quantile."""
    network = Imprinted(nn.Identity(), SHAPE, torch.tensor([-0.5, 0.0, 0.5]))
    means = images().pixels().mean((1, 2, 3))
    fires = network.measure(images().pixels().flatten(1)) > 0
    assert fires.equal(means[:, None] > torch.tensor([-0.5, 0.0, 0.5]))


def test_honest_layers_are_no_imprints() -> None:
    torch.manual_seed(1)
    honest = nn.Linear(20, 50)
    both = torch.cat([honest.weight, honest.bias[:, None]], 1).detach()
    assert imprint_order(both) is None
    assert imprint_order(torch.zeros(50, 21)) is None
    assert imprint_order(torch.ones(50, 21)) is None  # the same neuron many times, under one bias
    both[:, :20] = both[0, :20]
    order = imprint_order(both)
    assert order is not None
    assert both[order, -1].diff().le(0).all()


@pytest.mark.parametrize("name", ["relu-dense", "lenet"])
def test_models_without_an_imprint_are_refused(name: str) -> None:
    release, _ = ShareUpdates(name).hide(images(2), None, seeded(2))
    refused = refusal(ATTACKS["imprint"], release)
    assert refused is not None
    assert refused.reason is Reason.NO_IMPRINT


def test_a_malicious_server_crafts_the_model() -> None:
    attack = ATTACKS["imprint-crafted"]
    assert threat_of(attack) is MALICIOUS
    release, secret = ShareUpdates("lenet", batch=4).hide(images(), None, seeded(2))
    refused = refusal(attack, release)
    assert refused is not None
    assert refused.reason is Reason.MISSING_FIELDS
    given = secret.reveal(release, MALICIOUS.gives)
    assert given.crafted is not None
    assert given.crafted.models[0].state["rest.head.weight"].equal(release.models[0].state["head.weight"])
    evidence = run(attack, given, seeded(3))
    assert "warning" not in evidence.remarks  # whom the audit plays is no finding
    claim = evidence.claims[0]
    assert isinstance(claim, Reconstruction)
    assert claim.sure is not None
    assert int(claim.sure.sum()) >= 12
    assert float(errors(claim, secret)[claim.sure].max()) < 1e-2
    noise = given.as_noise(seeded(4))
    assert noise.crafted is not None
    assert not noise.crafted.updates[0]["measure.weight"].equal(given.crafted.updates[0]["measure.weight"])
    found = run(attack, noise, seeded(3)).claims[0].parts()["sure"]
    assert not bool(found.any())


def test_a_seed_repeats_the_noise_of_crafted_updates() -> None:
    scheme = ShareUpdates("lenet", batch=4, defences=(GradientNoise(noise=0.01),))
    sent = []
    for _ in range(2):
        release, secret = scheme.hide(images(), None, seeded(2))
        crafted = secret.reveal(release, MALICIOUS.gives).crafted
        assert crafted is not None
        sent.append(crafted.updates)
    assert all(torch.equal(first["measure.bias"], again["measure.bias"]) for first, again in zip(*sent, strict=True))
    assert not torch.equal(sent[0][0]["measure.bias"], sent[0][1]["measure.bias"])


def test_an_imprint_in_states_that_were_sent_is_named() -> None:
    sent = model()
    release, _ = ShareUpdates(batch=4, sends="weights", rate=1.0, start=sent).hide(images(4), None, seeded(2))
    after = {**sent.state, **{name: sent.state[name] - each for name, each in release.updates[0].items()}}
    known = LocalWork(4, rate=1.0)
    imported = from_states(sent.state, after, sent.build, shape=SHAPE, classes=3, work=known)
    assert "attack on the client" in run(ATTACKS["imprint"], imported, seeded(3)).remarks["warning"]


def test_defended_updates_certify_nothing() -> None:
    release, _ = shared(defences=(GradientPruning(0.5),))
    assert run(ATTACKS["imprint"], release, seeded(3)).remarks["certified"] == 0


def test_unknown_sizes_and_empty_updates() -> None:
    release, secret = shared()
    claim = run(ATTACKS["imprint"], replace(release, sizes=None), seeded(3)).claims[0]
    assert isinstance(claim, Reconstruction)
    assert float(errors(claim, secret).median()) < 1e-2
    zero = tuple({name: 0 * each for name, each in update.items()} for update in release.updates)
    with pytest.raises(BadInput, match="all updates are zero"):
        run(ATTACKS["imprint"], replace(release, updates=zero), seeded(3))


def test_mixtures_are_no_bytes() -> None:
    raw = (seeded(1).uniforms(2, *SHAPE) * 255).round() / 255
    some = torch.cat([raw, 0.5 * raw[:1] + 0.3 * raw[1:]])
    assert of_bytes(some, Normalisation()).tolist() == [True, True, False]
    normal = Normalisation("channel", (0.4,), (0.2,))
    assert of_bytes((some - 0.4) / 0.2, normal).tolist() == [True, True, False]
    assert not bool(of_bytes(some, Normalisation("image")).any())


def test_the_layer_of_one_model_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    release, _ = shared()
    wanted = run(ATTACKS["imprint"], release, seeded(3)).claims[0]
    looked: list[str] = []

    def counted(model: SharedModel, *rest: Any) -> Any:
        looked.append(model.name)
        return first_dense(model, *rest)

    monkeypatch.setattr("hideseek.seek.updates.imprint.first_dense", counted)
    found = ATTACKS["imprint"].seek(release, seeded(3)).claims[0]
    assert len(release.updates) == 4
    assert len(looked) == 2  # to see whether it applies, and to attack
    assert found.parts()["images"].equal(wanted.parts()["images"])


def test_what_is_no_number_is_refused() -> None:
    release, _ = shared()
    name = next(iter(release.updates[0]))
    bad = {**release.updates[0], name: release.updates[0][name] * torch.inf}
    refused = refusal(ATTACKS["imprint"], replace(release, updates=(bad, *release.updates[1:])))
    assert refused is not None
    assert refused.reason is Reason.NOT_FINITE
