"""States of one training that `hideseek audit updates --epochs` audits side by side."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hideseek.audit import Question
from hideseek.audit.model_states import TrainedState, trained_states
from hideseek.chance import seeded
from hideseek.cli.images import prepared
from hideseek.cli.shared_models import Model
from hideseek.cli.terminal import say
from hideseek.data import load
from hideseek.data.digests import images_digest
from hideseek.errors import BadInput
from hideseek.hide.updates import ShareUpdates
from hideseek.records import Samples
from hideseek.report import sentences

MOST = 100_000  # epochs: nobody trains for longer


def epochs_of(text: str | None, train: str | None, models: Mapping[str, Model]) -> tuple[int, ...]:
    """Read `N[,N…]`, the epochs after which a model is audited; none where they are not asked for.

    >>> epochs_of("0,5,1", None, {"lenet": Model("lenet")})
    (0, 1, 5)
    """
    if text is None:
        if train is not None:
            raise BadInput("--train names what the model is trained on before: name the --epochs too, such as 0,1,5.")
        return ()
    if len(models) > 1 or any(model.trained is not None for model in models.values()):
        raise BadInput("--epochs trains a model from its initial weights: name one architecture as --model, no file.")
    named = [part.strip() for part in text.split(",") if part.strip()]
    if not named or not all(part.isascii() and part.isdecimal() and int(part) <= MOST for part in named):
        raise BadInput(f"--epochs are whole numbers with commas between, such as 0,1,5,20, not {text!r}.")
    return tuple(sorted({int(part) for part in named}))


def over_epochs(
    question: Question, schemes: Mapping[str, ShareUpdates], epochs: Sequence[int], train: str | None, seed: int | None
) -> Question:
    """Train one model, and audit every scheme with each of its states.

    The order of batches and the initial weights are no secret: they are drawn from the content of the set, and from the
    seed where there is one, so that an audit that goes on finds the same states again.
    """
    private = question.private
    images = private if train is None else _training_images(train, private)
    (architecture,) = {scheme.model for scheme in schemes.values()}
    drawn = hashlib.sha256(f"{images_digest(images)} {seed} {architecture} epochs".encode()).digest()
    test = None if question.learning is None else question.learning.test
    states = trained_states(
        images,
        test,
        architecture,
        epochs,
        seeded(int.from_bytes(drawn[:8], "little")),
        lambda state: say(sentences.state(architecture, state)),
    )
    chosen = {
        f"{name}, epoch {state.about.epoch}": (_of(scheme, state), replace(state.about, series=name))
        for name, scheme in schemes.items()
        for state in states
    }
    return replace(
        question,
        schemes={name: scheme for name, (scheme, _) in chosen.items()},
        states={name: state for name, (_, state) in chosen.items()},
    )


def _of(scheme: ShareUpdates, state: TrainedState) -> ShareUpdates:
    return replace(scheme, trained=state.about.epoch > 0, epochs=state.about.epoch, start=state.model)


def _training_images(address: str, private: Samples) -> Samples:
    loaded = load(address, size=private.shape[1:], channels=private.shape[0])
    images = prepared(loaded, private.normalisation, None)
    if images.labels.shape[1] != private.labels.shape[1] or images.classes != private.classes:
        raise BadInput(f"the classes of {address} are not those of the private images: train on images of the same.")
    return images
