"""`hideseek audit updates`: say what leaks from what clients of federated learning share."""

import hashlib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import tyro

from hideseek.audit import Question
from hideseek.audit.threats import threats_to
from hideseek.cli.arguments import parse
from hideseek.cli.audit_options import Audit, Output, Several
from hideseek.cli.audit_question import attacks_on, question_of
from hideseek.cli.audit_states import epochs_of, over_epochs
from hideseek.cli.config import ConfigFile
from hideseek.cli.shared_models import Model, models_of
from hideseek.cli.update_options import AuditUpdates, Client, UpdateImages
from hideseek.data.digests import images_digest
from hideseek.errors import BadInput
from hideseek.hide import ENCODERS
from hideseek.hide.updates import DEFENCES, ShareUpdates
from hideseek.hide.updates.chains import Chain, chains
from hideseek.models import MODELS, build
from hideseek.records import Samples
from hideseek.records.result import NoAccuracyKind
from hideseek.records.shared_model import SharedModel
from hideseek.records.update_release import UpdateRelease
from hideseek.train.worker import torch_seed

NAME = "updates"
UNLABELLED = {
    NoAccuracyKind.NO_LABELS: "these images have no labels: put each class into a folder of its own, or add labels",
    NoAccuracyKind.ONE_CLASS: "all images are of one class: use images of two classes or more",
}


def run(arguments: Sequence[str], file: ConfigFile | None = None) -> None:
    """Parse the arguments and audit."""
    from hideseek.cli.audit import perform

    asked = parse(
        AuditUpdates,
        f"hideseek audit {NAME}",
        arguments,
        file,
        description=_about(),
        default=AuditUpdates(Client(), UpdateImages(tyro.MISSING), Output(tyro.MISSING)),
        config=(tyro.conf.OmitArgPrefixes,),
    )
    models, named = models_of(asked.client.model), chains(asked.client.defence)
    epochs = epochs_of(asked.client.epochs, asked.client.train, models)
    schemes = {
        name if len(models) == 1 else f"{label}/{name}": (scheme_of(asked.client, chain, model), model)
        for label, model in models.items()
        for name, chain in named.items()
    }
    usual = Audit(
        Several(),
        asked.images.images(_normalisation(asked.images, models)),
        asked.output,
        asked.attacking.attacking(),
        asked.accuracies,
        gate=asked.gate,
    )
    perform(usual, lambda: _question(usual, schemes, epochs, asked.client.train))


def _about() -> str:
    names = [*DEFENCES, *(name for name, scheme in ENCODERS.items() if not scheme.mixes_public)]
    attackers = "; ".join(f"{threat.name}, who {threat.title}" for threat in threats_to(UpdateRelease))
    return (
        f"{inspect.cleandoc(AuditUpdates.__doc__ or '')}\n\n"
        f"Attackers: {attackers}.\n\n"
        f"Defences: none, {', '.join(names)}.\n\n"
        f"Models: {', '.join(MODELS)}.\n\n"
        f"Attacks: {', '.join(attacks_on(UpdateRelease)) or 'none yet'}."
    )


def scheme_of(client: Client, chain: Chain, model: Model) -> ShareUpdates:
    """Give the scheme of a chain of defences; the model's weights are filled in when the images are known."""
    several = client.local_steps > 1 or client.local_epochs > 1
    return ShareUpdates(
        model.architecture,
        client.batch,
        client.local_steps,
        client.local_epochs,
        client.rate,
        client.sends or ("weights" if several else "gradient"),
        client.mode,
        chain.encoding,
        chain.defences,
        model.trained is not None,
    )


def _normalisation(images: UpdateImages, models: Mapping[str, Model]) -> Any:
    """Choose how images are normalised: as those that models were trained on."""
    trained = [model.trained.normalisation for model in models.values() if model.trained is not None]
    if not trained:
        return images.normalise or "channel"
    if images.normalise is not None:
        raise BadInput("a trained model has the normalisation that it was trained with: leave out --normalise.")
    if any(other != trained[0] for other in trained):
        raise BadInput("these models were trained on images that were normalised in other ways: audit each by itself.")
    return trained[0]


def _question(
    asked: Audit[Any], schemes: Mapping[str, tuple[ShareUpdates, Model]], epochs: Sequence[int], train: str | None
) -> Question:
    """Load all that is named, and give every scheme of a model the same weights."""
    question = question_of(asked, {name: scheme for name, (scheme, _) in schemes.items()}, UpdateRelease)
    private, why = question.private, question.why_no_accuracy
    if private.labels.shape[1] < 2:
        said = UNLABELLED.get(why.kind) if why else None
        read = f"the labels could not be read: {why.text.rstrip('.')}" if why else "these images have no labels"
        raise BadInput(f"updates are gradients of a classifier's loss, and {said or read}.")
    together = max(scheme.work.images for scheme, _ in schemes.values())
    if together > len(private):
        raise BadInput(
            f"an update is of {together:,} images, and there are {len(private):,}: choose a smaller --batch, fewer"
            " --local-steps, or more images."
        )
    architecture = next(scheme.model for scheme, _ in schemes.values())
    question = replace(question, learning=question.learning and replace(question.learning, model=architecture))
    if epochs:
        named = {name: scheme for name, (scheme, _) in schemes.items()}
        return over_epochs(question, named, epochs, train, asked.attacking.seed)
    given = {
        name: replace(scheme, start=_start(model, private, asked.attacking.seed))
        for name, (scheme, model) in schemes.items()
    }
    return replace(question, schemes=given)


def _start(model: Model, private: Samples, seed: int | None) -> SharedModel:
    """Give the model that the server sends: trained, or of initial weights, the same ones when an audit goes on.

    Initial weights are no secret; they are drawn from the content of the set, and from the seed where there is one.
    """
    name, trained = model.architecture, model.trained
    make = partial(build, name, private.shape, private.labels.shape[1])
    if trained is not None:
        trained.check(private)
        return SharedModel(name, make, trained.network.state_dict())
    drawn = hashlib.sha256(f"{images_digest(private)} {seed} {name}".encode()).digest()
    with torch_seed(int.from_bytes(drawn[:6], "little")):
        return SharedModel(name, make, make().state_dict())
