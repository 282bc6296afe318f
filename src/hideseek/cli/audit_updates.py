"""`hideseek audit updates`: say what leaks from what clients of federated learning share."""

import hashlib
import inspect
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import tyro

from hideseek.audit import Question
from hideseek.cli.arguments import parse
from hideseek.cli.audit_options import Audit, Output, Several
from hideseek.cli.audit_question import attacks_on, question_of
from hideseek.cli.defences import Chain, chains
from hideseek.cli.update_options import AuditUpdates, Client, UpdateImages
from hideseek.data.digests import images_digest
from hideseek.errors import BadInput
from hideseek.hide import ENCODERS
from hideseek.hide.updates import DEFENCES, ShareUpdates
from hideseek.models import MODELS, build
from hideseek.records import Samples
from hideseek.records.result import NoAccuracyKind
from hideseek.records.shared_model import SharedModel
from hideseek.records.update_release import UpdateRelease
from hideseek.train.trained import Trained, read_model
from hideseek.train.worker import torch_seed

NAME = "updates"
UNLABELLED = {
    NoAccuracyKind.NO_LABELS: "these images have no labels: put each class into a folder of its own, or add labels",
    NoAccuracyKind.ONE_CLASS: "all images are of one class: use images of two classes or more",
}


def run(arguments: Sequence[str]) -> None:
    """Parse the arguments and audit."""
    from hideseek.cli.audit import perform

    asked = parse(
        AuditUpdates,
        f"hideseek audit {NAME}",
        arguments,
        description=_about(),
        default=AuditUpdates(Client(), UpdateImages(tyro.MISSING), Output(tyro.MISSING)),
        config=(tyro.conf.OmitArgPrefixes,),
    )
    trained = _trained(asked.client.model)
    schemes = {name: scheme_of(asked.client, chain, trained) for name, chain in chains(asked.client.defence).items()}
    usual = Audit(
        Several(),
        asked.images.images(_normalisation(asked.images, trained)),
        asked.output,
        asked.attacking.attacking(),
        asked.accuracies,
    )
    perform(usual, lambda: _question(usual, schemes, trained))


def _about() -> str:
    names = [*DEFENCES, *(name for name, scheme in ENCODERS.items() if not scheme.mixes_public)]
    return (
        f"{inspect.cleandoc(AuditUpdates.__doc__ or '')}\n\n"
        f"Defences: none, {', '.join(names)}.\n\n"
        f"Models: {', '.join(MODELS)}.\n\n"
        f"Attacks: {', '.join(attacks_on(UpdateRelease)) or 'none yet'}."
    )


def scheme_of(client: Client, chain: Chain, trained: Trained | None) -> ShareUpdates:
    """Give the scheme of a chain of defences; the model's weights are filled in when the images are known."""
    several = client.local_steps > 1 or client.local_epochs > 1
    return ShareUpdates(
        client.model if trained is None else trained.architecture,
        client.batch,
        client.local_steps,
        client.local_epochs,
        client.rate,
        client.sends or ("weights" if several else "gradient"),
        client.mode,
        chain.encoding,
        chain.defences,
        trained is not None,
    )


def _trained(model: str) -> Trained | None:
    """Read a model's file; the name of an architecture is none."""
    if model in MODELS:
        return None
    path = Path(model)
    if not path.exists() and not path.suffix and "/" not in model:
        build(model, (1, 32, 32), 2)  # which says what may have been meant
    if path.suffix in (".pt", ".pth", ".pkl", ".bin", ".ckpt"):
        raise BadInput(f"{model} may hold pickled objects, which run code when they are read: write it as safetensors.")
    trained, _ = read_model(path)
    if trained.features is not None:
        raise BadInput(f"{model} takes features of images, not images: name a model that was trained on images.")
    return trained


def _normalisation(images: UpdateImages, trained: Trained | None) -> Any:
    if trained is None:
        return images.normalise or "channel"
    if images.normalise is not None:
        raise BadInput("a trained model has the normalisation that it was trained with: leave out --normalise.")
    return trained.normalisation


def _question(asked: Audit[Any], schemes: dict[str, ShareUpdates], trained: Trained | None) -> Question:
    """Load all that is named, and give every scheme the same model."""
    question = question_of(asked, schemes, UpdateRelease)
    private, why = question.private, question.why_no_accuracy
    if private.labels.shape[1] < 2:
        said = UNLABELLED.get(why.kind) if why else None
        read = f"the labels could not be read: {why.text.rstrip('.')}" if why else "these images have no labels"
        raise BadInput(f"updates are gradients of a classifier's loss, and {said or read}.")
    start = _start(next(iter(schemes.values())).model, private, trained, asked.attacking.seed)
    learning = question.learning and replace(question.learning, model=start.name)
    given = {name: replace(scheme, start=start) for name, scheme in schemes.items()}
    return replace(question, schemes=given, learning=learning)


def _start(name: str, private: Samples, trained: Trained | None, seed: int | None) -> SharedModel:
    """Give the model that the server sends: trained, or of initial weights, the same ones when an audit goes on.

    Initial weights are no secret; they are drawn from the content of the set, and from the seed where there is one.
    """
    make = partial(build, name, private.shape, private.labels.shape[1])
    if trained is not None:
        trained.check(private)
        return SharedModel(name, make, trained.network.state_dict())
    drawn = hashlib.sha256(f"{images_digest(private)} {seed} {name}".encode()).digest()
    with torch_seed(int.from_bytes(drawn[:6], "little")):
        return SharedModel(name, make, make().state_dict())
