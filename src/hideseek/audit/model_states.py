"""One training of a model, and its states after some epochs: what updates tell of images depends on them."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial

from hideseek.audit.question import shared_images
from hideseek.audit.utility import share_right
from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.learn import Plain, learn
from hideseek.models import build
from hideseek.records import Samples
from hideseek.records.result import ModelState
from hideseek.records.shared_model import SharedModel
from hideseek.train.schedules import Constant
from hideseek.train.trained import Trained, class_names
from hideseek.train.training import automatic


@dataclass(frozen=True)
class TrainedState:
    """A model after some epochs, and how well it does; the series is named by who audits it."""

    model: SharedModel
    about: ModelState


def trained_states(
    train: Samples,
    test: Samples | None,
    architecture: str,
    epochs: Collection[int],
    chance: Randomness,
    tell: Callable[[ModelState], None] = lambda _: None,
) -> tuple[TrainedState, ...]:
    """Train a model on images, plainly, and give its state after each of these epochs; after 0: as it was initialised.

    The learning rate stays as it is, so that a state does not depend on how long the training goes on after it. Test
    images are asked about where none of them is among those that it was trained on.
    """
    training = replace(automatic(len(train), descends=True), epochs=max(1, *epochs), schedule=Constant())
    learnt = learn(Plain(train), architecture, training, chance=chance, keep=epochs)
    make = partial(build, architecture, train.shape, train.labels.shape[1])
    new = test if test is not None and not shared_images(test, train) else None
    found = []
    for epoch, state in sorted(learnt.states.items()):
        if not all(bool(tensor.isfinite().all()) for tensor in state.values()):
            raise BadInput(f"the training of {architecture} diverged before epoch {epoch}: name fewer epochs.")
        shared = SharedModel(architecture, make, state)
        names, constants = class_names(train), train.normalisation
        trained = Trained(shared.network().eval(), architecture, train.shape, names, constants)
        about = ModelState("", epoch, share_right(trained, train), share_right(trained, new) if new else None)
        tell(about)
        found.append(TrainedState(shared, about))
    return tuple(found)
