"""Updates of real clients: as Flower and NVFlare send them, from files, and what is said of those that cannot be."""

import logging
import pickle
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide.updates import from_gradients, from_states, together
from hideseek.hide.updates.update_files import read_updates, write_updates
from hideseek.models import build
from hideseek.records import Reason, Reconstruction, Refusal
from hideseek.records.update_encoder import LocalWork
from hideseek.records.update_release import UpdateRelease
from hideseek.seek import ATTACKS, refusal, run
from hideseek.seek.systems.matching_loop import Adam, Lbfgs
from hideseek.seek.updates.gradient_matching import GradientMatching
from hideseek.train.gradients import gradient, parameters_of
from toy_updates import LinearRatio

SHAPE, CLASSES = (1, 4, 4), 3
RATE = 0.1


class Theirs(nn.Module):
    """A module that hideseek does not have."""

    def __init__(self, features: int = 16) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(1)
        self.head = nn.Linear(features, CLASSES)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.head(self.norm(images).flatten(1))
        return logits


def trained(count: int = 4) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """Give the states before and after a step of SGD, by torch's own optimiser."""
    torch.manual_seed(1)
    network = Theirs()
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    optimiser = torch.optim.SGD(network.parameters(), lr=RATE)
    images, labels = seeded(1).normals(count, *SHAPE), torch.arange(count) % CLASSES
    nn.functional.cross_entropy(network.train()(images), labels).backward()
    optimiser.step()
    return before, network.state_dict()


BEFORE, AFTER = trained()
HOW: dict[str, Any] = {"shape": SHAPE, "classes": CLASSES, "work": LocalWork(4, rate=RATE)}
NAMES = ["norm.weight", "norm.bias", "head.weight", "head.bias"]


def arrays(state: dict[str, torch.Tensor]) -> dict[str, np.ndarray]:
    return {name: tensor.numpy() for name, tensor in state.items()}


def listed(state: dict[str, torch.Tensor], leave_out: str = "?") -> list[np.ndarray]:
    return [tensor.numpy() for name, tensor in state.items() if leave_out not in name]


def less(state: dict[str, torch.Tensor], before: dict[str, torch.Tensor]) -> dict[str, np.ndarray]:
    return {name: (tensor - before[name]).numpy() for name, tensor in state.items()}


@pytest.mark.parametrize(
    ("before", "after", "how"),
    [
        pytest.param(listed(BEFORE), listed(AFTER), {}, id="Flower: lists in the order of state_dict"),
        pytest.param(arrays(BEFORE), arrays(AFTER), {}, id="NVFlare: weights by name"),
        pytest.param(arrays(BEFORE), less(AFTER, BEFORE), {"difference": True}, id="NVFlare: WEIGHT_DIFF"),
        pytest.param(BEFORE, AFTER, {}, id="state dicts"),
        pytest.param(listed(BEFORE, "tracked"), listed(AFTER, "tracked"), {}, id="lists without counters"),
        pytest.param(BEFORE, {f"module.{name}": each for name, each in AFTER.items()}, {}, id="data parallel"),
        pytest.param({f"_orig_mod.{name}": each for name, each in BEFORE.items()}, AFTER, {}, id="torch.compile"),
    ],
)  # fmt: skip
def test_the_update_is_what_changed(before: Any, after: Any, how: dict[str, Any]) -> None:
    release = from_states(before, after, Theirs, **HOW, **how)
    assert list(release.updates[0]) == NAMES
    for name, tensor in release.updates[0].items():
        assert np.allclose(tensor, BEFORE[name].double() - AFTER[name].double(), atol=1e-7), name
    assert release.buffers is not None
    assert np.allclose(release.buffers[0]["norm.running_mean"], AFTER["norm.running_mean"], atol=1e-7)
    assert int(release.buffers[0]["norm.num_batches_tracked"]) in (0, 1)
    assert (release.sizes, release.scheme.sends, release.models[0].name) == ((4,), "weights", "Theirs")
    assert all(torch.equal(each, BEFORE[name]) for name, each in release.models[0].network().state_dict().items())


@pytest.mark.parametrize("after", [{name: AFTER[name] for name in NAMES}, [AFTER[name].numpy() for name in NAMES]])
def test_clients_may_send_what_is_trained_alone(after: Any) -> None:
    release = from_states(BEFORE, after, Theirs, **HOW)
    assert list(release.updates[0]) == NAMES
    assert release.buffers is None


@pytest.mark.parametrize("suffix", ["safetensors", "npz"])
def test_a_pair_of_files(suffix: str, tmp_path: Path) -> None:
    paths = tmp_path / f"before.{suffix}", tmp_path / f"after.{suffix}"
    for path, state in zip(paths, (BEFORE, AFTER), strict=True):
        if suffix == "npz":
            np.savez(path, **arrays(state))  # type: ignore[arg-type]
        else:
            save_file(state, path)
    release = from_states(*paths, Theirs, **HOW)
    assert np.allclose(release.updates[0]["head.bias"], BEFORE["head.bias"] - AFTER["head.bias"], atol=1e-7)


def linear() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(16, CLASSES))


class Named(nn.Module):
    """A linear classifier whose layer has the name that the toy attack knows."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(16, CLASSES)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.head(images.flatten(1))
        return logits


@pytest.mark.parametrize("listing", [False, True])
def test_an_imported_gradient_is_attacked(listing: bool) -> None:
    image, label = seeded(3).normals(1, *SHAPE), torch.eye(CLASSES)[:1]
    network = Named()
    found = gradient(network, parameters_of(network), image, label)
    given = [each.numpy() for each in found.values()] if listing else found
    release = from_gradients(network.state_dict(), given, Named, shape=SHAPE, classes=CLASSES, batch=1)
    (claim,) = run(LinearRatio(), release, seeded(1)).claims
    assert isinstance(claim, Reconstruction)
    assert np.allclose(claim.images, image, atol=1e-4)
    assert release.scheme.sends == "gradient"


def test_an_unknown_batch_size_is_said_to_be_unknown() -> None:
    assert from_states(BEFORE, AFTER, Theirs, shape=SHAPE, classes=CLASSES).sizes is None
    found = {name: BEFORE[name] for name in NAMES}
    assert from_gradients(BEFORE, found, Theirs, shape=SHAPE, classes=CLASSES).sizes is None


@pytest.mark.parametrize(
    ("given", "unknown", "sizes"),
    [
        ({}, ("images", "steps", "rate"), None),
        ({"rate": RATE}, ("images", "steps"), None),
        ({"images": 4}, ("steps", "rate"), (4,)),
        ({"images": 4, "steps": 2}, ("rate",), (4,)),
        ({"steps": 2, "rate": RATE}, ("images",), None),
        ({"images": 4, "steps": 1, "rate": RATE}, (), (4,)),
    ],
)
def test_each_part_of_the_work_may_be_unknown(given: dict[str, Any], unknown: Any, sizes: Any) -> None:
    release = from_states(BEFORE, AFTER, Theirs, shape=SHAPE, classes=CLASSES, **given)
    assert (release.scheme.work.unknown, release.sizes) == (unknown, sizes)
    assert release.scheme.scaled == ("rate" in unknown or "steps" in unknown)
    assert release.scheme.allowed(release.updates[0]).scaled == release.scheme.scaled
    assert release.scheme.work.one_gradient == (given.get("steps") == 1)
    said = release.scheme.summary()
    assert ("unknown number of images" in said) == (sizes is None)
    assert ("unknown rate" in said) == ("rate" in unknown)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"work": LocalWork(4), "rate": 0.1}, "give work, or images, steps and rate"),
        ({"images": 0}, "images must be 1 or more"),
        ({"images": 5, "steps": 2}, "not those of 2 equal steps"),
        ({"images": 4, "steps": 1, "rate": 0.0}, "must be above 0"),
    ],
)
def test_work_that_cannot_be(given: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        from_states(BEFORE, AFTER, Theirs, shape=SHAPE, classes=CLASSES, **given)


def stepped(count: int, rate: float, model: str = "tanh-dense") -> UpdateRelease:
    """Import an update of one step whose rate nobody told."""
    torch.manual_seed(1)
    network = build(model, (1, 12, 12), 6)
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    images, labels = seeded(4).normals(count, 1, 12, 12), torch.arange(count) % 4
    nn.functional.cross_entropy(network(images), labels).backward()
    torch.optim.SGD(network.parameters(), lr=rate).step()
    make = partial(build, model, (1, 12, 12), 6)
    return from_states(
        before, network.state_dict(), make, shape=(1, 12, 12), classes=6, images=count, steps=1, mode="eval"
    )


def test_attacks_do_without_the_rate_or_refuse() -> None:
    """Directions do not depend on the rate; labels come from a class that is absent; own updates cannot be made."""
    for count in (1, 3):
        labels = []
        for rate in (0.5, 0.02):
            claim: Any = run(ATTACKS["labels-from-gradient"], stepped(count, rate), seeded(1)).claims[0]
            labels.append(claim.parts()["shares"])
        assert torch.allclose(labels[0], labels[1], atol=1e-3)
        assert torch.allclose(labels[0][0], torch.eye(6)[torch.arange(count)].mean(0), atol=1e-3)
    quick = GradientMatching(optimiser=Adam(3))
    found = [run(quick, stepped(2, rate, "lenet"), seeded(1)) for rate in (0.5, 0.05)]
    assert torch.allclose(found[0].claims[0].images, found[1].claims[0].images, atol=1e-2)  # type: ignore[attr-defined]
    refused = refusal(ATTACKS["learned-inversion"], stepped(1, 0.1))
    assert refused == Refusal(Reason.UNKNOWN_WORK, {"parts": "rate"})


def test_several_updates_are_one_release() -> None:
    first, second = from_states(BEFORE, AFTER, Theirs, **HOW), from_states(AFTER, BEFORE, Theirs, **HOW)
    both = together([first, second], rounds=[0, 1])
    assert (len(both.updates), both.sizes, both.size().items, both.size().images) == (2, (4, 4), 2, 4)
    assert torch.equal(both.model(1).state["head.bias"], AFTER["head.bias"])
    for given, said in (
        ({"releases": []}, "no update"),
        ({"releases": [first], "rounds": [0, 1]}, "as many rounds"),
        ({"releases": [first, from_states(BEFORE, AFTER, Theirs, shape=SHAPE, classes=CLASSES)]}, "not alike"),
    ):
        with pytest.raises(BadInput, match=said):
            together(**given)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_half_precision_is_converted_and_said(kind: torch.dtype, caplog: pytest.LogCaptureFixture) -> None:
    halved = {name: each.to(kind) if each.is_floating_point() else each for name, each in AFTER.items()}
    with caplog.at_level(logging.WARNING):
        release = from_states(BEFORE, halved, Theirs, **HOW)
    assert all(tensor.dtype == torch.float32 for tensor in release.updates[0].values())
    said = f"norm.weight and 5 more tensors were sent as {str(kind).removeprefix('torch.')} and converted to float32"
    assert [said in record.getMessage() for record in caplog.records] == [True]


def changed(**changes: Any) -> dict[str, Any]:
    state = {**AFTER, **{name.replace("__", "."): each for name, each in changes.items()}}
    return {name: each for name, each in state.items() if each is not None}


NANS = torch.full((CLASSES,), torch.nan)


@pytest.mark.parametrize(
    ("after", "said"),
    [
        pytest.param(changed(head__bias=None), "lacks head.bias", id="missing"),
        pytest.param(changed(more=torch.ones(1)), "also holds more", id="extra"),
        pytest.param(changed(head__bias=torch.ones(7)), r"head.bias is of \(7,\)", id="another shape"),
        pytest.param(changed(head__bias=NANS), "not finite", id="NaN"),
        pytest.param(changed(head__weight=torch.full((CLASSES, 16), torch.inf)), "head.weight holds numbers", id="inf"),
        pytest.param(changed(head__bias=np.array(["a", "b", "c"])), "not numbers", id="words"),
        pytest.param(changed(head__bias=np.array([None] * 3)), "holds object", id="Python objects"),
        pytest.param(changed(head__bias=torch.ones(3, dtype=torch.int8)), "scale them back", id="quantised"),
        pytest.param(listed(AFTER)[:3], "holds 3 arrays, and the model has 7", id="a list that is too short"),
        pytest.param(BEFORE, "all zeros", id="nothing changed"),
    ],
)
def test_updates_that_cannot_be(after: Any, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        from_states(BEFORE, after, Theirs, **HOW)


def test_gradients_of_another_model() -> None:
    with pytest.raises(BadInput, match=r"lacks head.bias, head.weight, norm.bias and 3 more"):
        from_gradients(linear().state_dict(), [], Theirs, shape=SHAPE, classes=CLASSES)
    with pytest.raises(BadInput, match="is of another model"):
        from_gradients(BEFORE, [np.ones(3)], Theirs, shape=SHAPE, classes=CLASSES)


class Several(nn.Module):
    """A module that gives more than logits."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(16, CLASSES)

    def forward(self, images: torch.Tensor) -> tuple[torch.Tensor]:
        return (self.head(images.flatten(1)),)


class Normalised(nn.Module):
    """A module whose batch norm has one value an image."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(16, CLASSES), nn.BatchNorm1d(CLASSES))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.head(images)
        return logits


@pytest.mark.parametrize(
    ("make", "how", "said"),
    [
        (linear, {"shape": (1, 5, 4)}, r"Sequential does not take images of 5×4 with 1 channel \(mat1 and mat2"),
        (linear, {"shape": (3, 4, 4)}, "does not take images of 4×4 with 3 channels"),
        (linear, {"classes": 7}, r"gives a tensor of \(2, 3\) for 2 images, not one of \(2, 7\), their logits"),
        (Several, {}, "Several gives a tuple for 2 images"),
        (Normalised, {"mode": "train", "batch": 1}, "BatchNorm in train mode needs two values or more"),
        (linear(), {}, "build is a module: give the function that builds it"),
    ],
)
def test_modules_that_do_not_fit(make: Any, how: dict[str, Any], said: str) -> None:
    """An attack that ran them would end in an error of torch's."""
    network = make if isinstance(make, nn.Module) else make()
    sent = {name: torch.ones_like(each) for name, each in network.named_parameters()}
    with pytest.raises(BadInput, match=said):
        from_gradients(network.state_dict(), sent, make, **{"shape": SHAPE, "classes": CLASSES, **how})


def test_a_builder_that_gives_one_module_again() -> None:
    """Attacks put modules into double precision and into other modes."""
    kept = linear()
    sent = {name: torch.ones_like(each) for name, each in kept.named_parameters()}
    release = from_gradients(kept.state_dict(), sent, lambda: kept, shape=SHAPE, classes=CLASSES, batch=1)
    run(GradientMatching(optimiser=Lbfgs(2), peel=0, smooth=None), release, seeded(1))
    assert all(each.dtype == torch.float32 for each in kept.parameters())
    assert release.models[0].network() is not kept


def test_a_learning_rate_of_zero() -> None:
    with pytest.raises(BadInput, match="rate, the learning rate of local steps, must be above 0"):
        from_states(BEFORE, AFTER, Theirs, shape=SHAPE, classes=CLASSES, work=LocalWork(4, rate=0.0))


@pytest.mark.parametrize("given", [{"name": "linear", "batch": 3}, {"name": "norm"}, {"name": "norm", "trained": True}])
def test_imported_updates_are_written_and_read_with_the_module_that_the_caller_builds(
    given: dict[str, Any], tmp_path: Path
) -> None:
    if given["name"] == "linear":
        network, make = linear(), linear
        sent = gradient(network, parameters_of(network), seeded(3).normals(3, *SHAPE), torch.eye(CLASSES))
        release = from_gradients(network.state_dict(), sent, linear, shape=SHAPE, classes=CLASSES, batch=3)
    else:
        make = Theirs
        after = {name: AFTER[name] for name in NAMES} if "trained" in given else AFTER
        release = from_states(BEFORE, after, Theirs, shape=SHAPE, classes=CLASSES, images=4)
    write_updates(tmp_path / "a", release)
    with pytest.raises(BadInput, match=r"a model of its owner, .*: give the function that builds it"):
        read_updates(tmp_path / "a")
    found = read_updates(tmp_path / "a", build=make)
    assert (found.sizes, found.scheme.work) == (release.sizes, release.scheme.work)
    assert (found.buffers is None) == (release.buffers is None)
    for name, tensor in release.updates[0].items():
        assert torch.equal(found.updates[0][name], tensor)
    with pytest.raises(BadInput, match="is of another model"):
        read_updates(tmp_path / "a", build=Named)


def test_what_is_not_written_is_refused(tmp_path: Path) -> None:
    release = from_states(BEFORE, AFTER, Theirs, **HOW)
    kept = together([release, release], rounds=[0, 1])
    write_updates(tmp_path / "rounds", replace(kept, models=kept.models[:1]))
    rounds = read_updates(tmp_path / "rounds", build=Theirs).round_of
    assert rounds is not None
    assert rounds.tolist() == [0, 1]
    for given, said in (
        (together([release, from_states(AFTER, BEFORE, Theirs, **HOW)]), "several models"),
        (replace(release, labels=(torch.eye(CLASSES),)), "labels are not part of a release"),
    ):
        with pytest.raises(BadInput, match=said):
            write_updates(tmp_path / "b", given)
        assert not (tmp_path / "b").exists()


def test_nothing_to_train() -> None:
    with pytest.raises(BadInput, match="no parameter that is trained"):
        from_states({}, {}, nn.Flatten, shape=SHAPE, classes=CLASSES)


class Ran:
    """An object that shows whether it was unpickled."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return (Path.touch, (Path("ran"),))  # type: ignore[return-value]


@pytest.mark.parametrize(
    "name", ["state.pt", "state.pth", "state.bin", "state.npz", "saved.npz", "state.safetensors", "state"]
)
def test_pickled_objects_are_never_read(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / name
    if name.endswith(".npz"):
        np.savez(path, weight=np.array([Ran()], dtype=object))
    elif name in ("state", "saved.npz"):
        torch.save({"weight": torch.ones(1)}, path)
    else:
        path.write_bytes(pickle.dumps(Ran()))
    with pytest.raises(BadInput, match=r"pickled objects|Python objects"):
        from_states(path, AFTER, Theirs, **HOW)
    assert not (tmp_path / "ran").exists()


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no file"):
        from_states(tmp_path / "none.safetensors", AFTER, Theirs, **HOW)
    (tmp_path / "damaged.safetensors").write_bytes(b"nothing")
    with pytest.raises(BadInput, match="damaged: write the state again"):
        from_states(tmp_path / "damaged.safetensors", AFTER, Theirs, **HOW)
