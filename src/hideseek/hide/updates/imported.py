"""Updates that real clients sent, of any torch.nn.Module that the caller can build, as a release to attack."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from hideseek.errors import BadInput
from hideseek.hide.updates.owned_modules import check_takes, new_each_time
from hideseek.hide.updates.share import ShareUpdates
from hideseek.hide.updates.states import COUNTER, Arrays, named
from hideseek.records import Normalisation
from hideseek.records.defence import Defence
from hideseek.records.shared_model import SharedModel
from hideseek.records.update_encoder import LocalWork, Mode, Sent, WorkPart
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
    images: int | None = None,
    steps: int | None = None,
    rate: float | None = None,
    mode: Mode = "train",
    defences: tuple[Defence, ...] = (),
    difference: bool = False,
    trained: bool = True,
) -> UpdateRelease:
    """Give the weights before and after a client's local steps as a release of one update, w_before − w_after.

    Both are what a Flower client sends (a list of arrays in the order of `state_dict`), what NVFlare does (arrays by
    name; with `difference`, `after` is a WEIGHT_DIFF, w_after − w_before), or .safetensors or .npz files. What is not
    trained may be absent in `after`, and batch norm's counters anywhere. `work` says all of the local steps;
    else `images`, `steps` and `rate` say what is known of one epoch. None: that is not known. Attacks estimate an
    unknown number of images, compare directions alone where the rate or the steps are unknown, or refuse.
    Steps are taken for plain SGD: momentum or Adam make an attack's simulation of them wrong. `trained` says whether
    the state before is that of a model that was trained already, as it is after the first rounds.
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
    known = _known(work, images, steps, rate)
    release = _release(model, update, "weights", shape, classes, normalisation, known, mode, defences, trained)
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
    work = LocalWork(unknown=("images",)) if batch is None else LocalWork(batch)
    return _release(model, update, "gradient", shape, classes, normalisation, work, mode, defences, trained)


def together(releases: Sequence[UpdateRelease], rounds: Sequence[int] | None = None) -> UpdateRelease:
    """Put updates of several clients or rounds into one release, each with the model that it is of.

    `rounds` numbers the round of each, for a server that keeps them all.
    """
    if not releases:
        raise BadInput("there is no update: give one or more.")
    first = releases[0]
    for other in releases:
        alike = (other.shape, other.classes, other.scheme) == (first.shape, first.classes, first.scheme)
        if not alike or other.scheme.work != first.scheme.work:
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
    make = new_each_time(build)
    network = make()
    own = network.state_dict()
    counters = [name for name in own if name.endswith(COUNTER)]
    found = named(state, own, "the state before", lacking=counters)
    return SharedModel(type(network).__name__, make, {name: found.get(name, each) for name, each in own.items()})


def _parts(model: SharedModel) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Divide the state into parameters that are trained, and buffers."""
    network = model.build()
    trained = [name for name, each in network.named_parameters() if each.requires_grad]
    if not trained:
        raise BadInput("the model has no parameter that is trained, so that it has no updates.")
    buffers = [name for name, _ in network.named_buffers() if name in model.state]
    return {name: model.state[name] for name in trained}, {name: model.state[name] for name in buffers}


def _known(work: LocalWork | None, images: int | None, steps: int | None, rate: float | None) -> LocalWork:
    """Give what is known of local steps, with stand-ins for the rest."""
    parts: dict[WorkPart, float | None] = {"images": images, "steps": steps, "rate": rate}
    if work is not None:
        if any(each is not None for each in parts.values()):
            raise BadInput("give work, or images, steps and rate as far as they are known, not both.")
        return work
    for name, each in parts.items():
        if name != "rate" and each is not None and each < 1:
            raise BadInput(f"{name} must be 1 or more, not {each}: leave it out where it is not known.")
    if images is not None and steps is not None and images % steps:
        raise BadInput(f"{images} images are not those of {steps} equal steps: give work, or leave out the steps.")
    batch = 1 if images is None else images // (steps or 1)
    unknown = tuple(name for name, each in parts.items() if each is None)
    return LocalWork(batch, steps or 1, rate=LocalWork.rate if rate is None else rate, unknown=unknown)


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
    work: LocalWork,
    mode: Mode,
    defences: tuple[Defence, ...],
    trained: bool,
) -> UpdateRelease:
    if not any(bool(tensor.any()) for tensor in update.values()):
        raise BadInput(
            "the update is all zeros, so that it says nothing: give states before and after steps of a learning rate"
            " above 0."
        )
    scheme = ShareUpdates(
        model.name, work.batch, work.steps, work.epochs, work.rate, sends, mode,
        defences=defences, trained=trained, start=model, unknown=work.unknown,
    )  # fmt: skip
    check_takes(model, shape, classes, mode, work)
    channels = Normalisation() if normalisation is None else normalisation
    sizes = None if "images" in work.unknown else (work.images,)
    return UpdateRelease((update,), (model,), scheme, shape, classes, channels, sizes)
