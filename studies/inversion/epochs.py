"""How much gradients tell while a model learns: the same images, attacked in several states of one training.

The paper does not say how far its network was trained where it was attacked.

    python studies/gradient_inversion.py --only epochs
"""

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

from inversion.columns import attacked_images, own_images
from inversion.measured import attacked, file_name
from inversion.table5 import SETTINGS, STEPS, published
from ledger import Trial

from hideseek.audit.model_states import TrainedState, trained_states
from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide.updates import ShareUpdates

EPOCHS = {"cpu": (0, 1, 2, 4, 8), "paper": (0, 1, 10, 50, 200)}
LEARNT = {"cpu": 10_000, "paper": 50_000}  # images of the training, the first of the set; none is attacked
IMAGES, BATCH = 16, 4


def trials(scale: str) -> Iterator[Trial]:
    """Give every state of the training, for the networks of the study."""
    for setting in SETTINGS[scale]:
        for epoch in EPOCHS[scale]:
            about = {"model": setting.model, "mode": setting.mode, "epoch": epoch, "learnt": LEARNT[scale]}
            about |= {"images": IMAGES, "batch": BATCH, "steps": published("strongest", STEPS[scale]).optimiser.steps}
            name = title(setting.model, epoch)
            yield Trial("epochs", name, about, partial(_measured, setting.model, epoch, scale, name), judged=True)


def title(model: str, epoch: int) -> str:
    """Name a state."""
    return f"epochs: {model}, after {epoch}"


@cache
def states(model: str, scale: str) -> tuple[TrainedState, ...]:
    """Train once."""
    train = normalise(load("cifar10").take(slice(0, LEARNT[scale])), own_images().normalisation)
    test = normalise(load("cifar10?split=test"), train.normalisation)
    return trained_states(train, test, model, EPOCHS[scale], seeded(0))


def _measured(model: str, epoch: int, scale: str, name: str) -> dict[str, Any]:
    state = next(each for each in states(model, scale) if each.about.epoch == epoch)
    mode = next(each.mode for each in SETTINGS[scale] if each.model == model)
    scheme = ShareUpdates(model, BATCH, mode=mode, trained=epoch > 0, start=state.model)
    found = attacked(
        scheme, attacked_images(IMAGES), published("strongest", STEPS[scale]), IMAGES, own=own_images(),
        picture=file_name(name),
    )  # fmt: skip
    new = state.about.new_accuracy
    return found | {
        "accuracy": round(state.about.accuracy.mean, 4),
        "test accuracy": round(new.mean, 4) if new else None,
    }
