"""Updates that real clients sent, of any torch.nn.Module that the caller can build, as a release to attack."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from hideseek.errors import BadInput
from hideseek.hide.updates.share import ShareUpdates
from hideseek.hide.updates.states import COUNTER, Arrays, named
from hideseek.records import Normalisation
from hideseek.records.defence import Defence
from hideseek.records.shared_model import SharedModel
from hideseek.records.update_encoder import LocalWork, Mode, Sent
from hideseek.records.update_release import UpdateRelease


def from_states(
    before: Arrays,
    after: Arrays,
    build: Callable[[], nn.Module],
    *,
    shape: tuple[int, int, int],
    classes: int,
    normalisation: Normalisation | None = None,
    work: LocalWork | None = None,
    mode: Mode = "train",
    defences: tuple[Defence, ...] = (),
    difference: bool = False,
    trained: bool = True,
) -> UpdateRelease:
    """Give the weights before and after a client's local steps as a release of one update, w_before − w_after.

    Both are what a Flower client sends (a list of arrays in the order of `state_dict`), what NVFlare does (arrays by
    name; with `difference`, `after` is a WEIGHT_DIFF, w_after − w_before), or .safetensors or .npz files. What is not
    trained may be absent in `after`, and batch norm's counters anywhere. `work` says what is known of the local steps;
    None: nothing, then the update's size is unknown, and attacks estimate it. Steps are taken for plain SGD: momentum
    or Adam make an attack's simulation of them wrong. `trained` says whether the state before is that of a model that
    was trained already, as it is after the first rounds.
    """
    model, given = _model(before, build), f"the {'difference' if difference else 'state'} after"
    parameters, buffers = _parts(model)
    found = named(after, model.state, given, lacking=[name for name in model.state if name not in parameters])
    if difference:
        update = {name: -found[name] for name in parameters}
        sent = {name: each + found[name] for name, each in buffers.items() if name in found}
    else:
        update = {name: _less(each, found[name]) for name, each in parameters.items()}
        sent = {name: found[name] for name in buffers if name in found}
    kept = {**buffers, **sent}
    told = any(not name.endswith(COUNTER) for name in sent)
    release = _release(model, update, "weights", shape, classes, normalisation, work, mode, defences, trained)
    return replace(release, buffers=(kept,) if told else None)


def from_gradients(
    state: Arrays,
    gradients: Arrays,
    build: Callable[[], nn.Module],
    *,
    shape: tuple[int, int, int],
    classes: int,
    normalisation: Normalisation | None = None,
    batch: int | None = None,
    mode: Mode = "train",
    defences: tuple[Defence, ...] = (),
    trained: bool = True,
) -> UpdateRelease:
    """Give the gradient of one batch as a release; a list is in the order of `parameters()`. None: an unknown batch."""
    model = _model(state, build)
    update = named(gradients, _parts(model)[0], "the gradient")
    work = None if batch is None else LocalWork(batch)
    return _release(model, update, "gradient", shape, classes, normalisation, work, mode, defences, trained)


def together(releases: Sequence[UpdateRelease], rounds: Sequence[int] | None = None) -> UpdateRelease:
    """Put updates of several clients or rounds into one release, each with the model that it is of.

    `rounds` numbers the round of each, for a server that keeps them all.
    """
    if not releases:
        raise BadInput("there is no update: give one or more.")
    first = releases[0]
    for other in releases:
        if (other.shape, other.classes, other.scheme) != (first.shape, first.classes, first.scheme):
            raise BadInput("these updates are not alike in model, images or local work: attack them apart.")
    if rounds is not None and len(rounds) != len(releases):
        raise BadInput(f"{len(releases)} updates have as many rounds, not {len(rounds)}.")
    known = all(each.sizes is not None for each in releases)
    buffered = all(each.buffers is not None for each in releases)
    return replace(
        first,
        updates=tuple(update for each in releases for update in each.updates),
        models=tuple(each.model(item) for each in releases for item in range(len(each.updates))),
        sizes=tuple(size for each in releases for size in each.sizes or ()) if known else None,
        buffers=tuple(buffer for each in releases for buffer in each.buffers or ()) if buffered else None,
        round_of=None if rounds is None else torch.tensor(list(rounds)),
    )


def _model(state: Arrays, build: Callable[[], nn.Module]) -> SharedModel:
    """Give the model that the server sent; a counter of batch norm that is absent is the built network's."""
    network = build()
    own = network.state_dict()
    counters = [name for name in own if name.endswith(COUNTER)]
    found = named(state, own, "the state before", lacking=counters)
    return SharedModel(type(network).__name__, build, {name: found.get(name, each) for name, each in own.items()})


def _parts(model: SharedModel) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Divide the state into parameters that are trained, and buffers."""
    network = model.build()
    trained = [name for name, each in network.named_parameters() if each.requires_grad]
    if not trained:
        raise BadInput("the model has no parameter that is trained, so that it has no updates.")
    buffers = [name for name, _ in network.named_buffers() if name in model.state]
    return {name: model.state[name] for name in trained}, {name: model.state[name] for name in buffers}


def _less(before: Tensor, after: Tensor) -> Tensor:
    """Subtract in double precision: steps are small beside weights."""
    return (before.double() - after.double()).float()


def _release(
    model: SharedModel,
    update: dict[str, Tensor],
    sends: Sent,
    shape: tuple[int, int, int],
    classes: int,
    normalisation: Normalisation | None,
    work: LocalWork | None,
    mode: Mode,
    defences: tuple[Defence, ...],
    trained: bool,
) -> UpdateRelease:
    if not any(bool(tensor.any()) for tensor in update.values()):
        raise BadInput(
            "the update is all zeros, so that it says nothing: give states before and after steps of a learning rate"
            " above 0."
        )
    known = work or LocalWork()
    scheme = ShareUpdates(
        model.name, known.batch, known.steps, known.epochs, known.rate, sends, mode,
        defences=defences, trained=trained, start=model,
    )  # fmt: skip
    channels = Normalisation() if normalisation is None else normalisation
    sizes: Any = None if work is None else (work.images,)
    return UpdateRelease((update,), (model,), scheme, shape, classes, channels, sizes)
