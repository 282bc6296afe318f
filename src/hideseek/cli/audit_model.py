"""`hideseek audit model MODEL`: which images a trained model was trained on."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
import tyro
from tyro.conf import arg

from hideseek.audit.trained_model import TrainedBy, shared
from hideseek.chance import Randomness, secure, seeded
from hideseek.cli.arguments import parse
from hideseek.cli.config import ConfigFile
from hideseek.cli.images import prepared
from hideseek.cli.mistakes import Finding
from hideseek.cli.score_table import show
from hideseek.cli.terminal import paragraph, say
from hideseek.data import load
from hideseek.data.digests import image_digests
from hideseek.errors import BadInput, no_such
from hideseek.files import new_file
from hideseek.hide.files.schemes import BadParameter, from_json
from hideseek.learn import Plain, Reencoded, learn
from hideseek.records import MixingEncoder, Samples
from hideseek.records.result import NoteKind
from hideseek.score.claims import CLAIMS
from hideseek.score.judge import Judgement, judge, to_json
from hideseek.seek import ON_MODELS
from hideseek.seek import run as attack_release
from hideseek.train.trained import MODEL, Trained, read_model
from hideseek.train.training import automatic

FEWEST = 10  # images that it was trained on, and others
ERROR = 0.025  # of a gate that nothing leaks through


def _unset(metavar: str) -> Any:
    return arg(metavar=metavar, help_behavior_hint="")


@dataclass(frozen=True)
class AuditModel:
    """Ask of a trained model which images it was trained on, as one who has candidate images may.

    The attacker has images with their labels, half of which the model learnt from, and trains models like it on random
    halves of them. Whoever is told apart is exposed by the model alone; that nobody is proves nothing.

    Try:  hideseek learn --data folder:xrays --out trained
          hideseek audit model trained --data folder:xrays --others folder:more-xrays
    """

    model: Annotated[Path, tyro.conf.Positional, arg(metavar="MODEL", help_behavior_hint="")]
    """The folder that `hideseek learn` wrote, or the model in it."""
    data: Annotated[str, arg(metavar="ADDRESS")]
    """Images that it was trained on, or some of them."""
    others: Annotated[str, arg(metavar="ADDRESS")]
    """Images of the same kind and classes that it was not trained on."""
    attacks: Annotated[str, arg(metavar="NAMES")] = "lira,rmia"
    """With commas between."""
    models: Annotated[int, arg(metavar="N")] = 16
    """Shadow models that each attack trains, an even number."""
    epochs: Annotated[int | None, _unset("N")] = None
    """Of each of them; by default as `learn` chooses by the number of images."""
    most: Annotated[int, arg(metavar="N")] = 1000
    """Images of each kind that are looked at, at most."""
    json: Annotated[Path | None, _unset("FILE")] = None
    """Write all figures to this file."""
    seed: Annotated[int | None, _unset("N")] = None
    """Draw everything from this number, so that it can be repeated."""
    fail_on: Annotated[Literal["leaks"] | None, _unset("leaks")] = None
    """End with 2 if images are told apart, and with 1 on any error: a gate in CI."""


def run(arguments: Sequence[str], file: ConfigFile | None = None) -> None:
    """Parse the arguments, attack and judge."""
    audit_model(parse(AuditModel, "hideseek audit model", arguments, file))


def audit_model(asked: AuditModel) -> None:
    """Load, attack, judge, show."""
    names = [name.strip() for name in asked.attacks.split(",") if name.strip()]
    for name in names:
        if name not in ON_MODELS:
            raise no_such("attack", name, ON_MODELS)
    attacks = {name: replace(ON_MODELS[name], models=asked.models) for name in names}
    if not attacks or asked.most < FEWEST or (asked.epochs is not None and asked.epochs < 1):
        raise BadInput(f"name an attack, one epoch or more, and {FEWEST} images or more of each kind.")
    trained, described = read_model(asked.model / MODEL if asked.model.is_dir() else asked.model)
    chance = secure() if asked.seed is None else seeded(asked.seed)
    members, others = _candidates(asked, trained, chance)
    way = TrainedBy(trained.architecture, _learner(trained, described, asked.epochs))
    release, secret = way.released(shared(trained), members, trained.seed)
    secret = replace(secret, others=others, other_labels=others.labels)
    seen = secret.reveal(release, ("candidates", "labels"))
    found, telling = {}, []
    for name, attack in attacks.items():
        evidence = attack_release(attack, seen, chance.spawn(1)[0])
        judgement = judge(evidence, secret, chance.spawn(1)[0])
        show(name, evidence, judgement)
        found[name] = {"settings": asdict(attack), "seconds": evidence.seconds, **to_json(judgement)}
        if _tells(judgement, len(attacks)):
            telling.append(name)
        notes = [note for score in judgement.scores for note in score.notes]
        if not any(note.kind is NoteKind.REFUTED_EPSILON for note in notes):
            paragraph("No ε is refuted by this.")
    if asked.json is not None:
        counts = {"members": len(members), "others": len(others)}
        with new_file(asked.json) as file:
            file.write((json.dumps({**counts, "attacks": found}, indent=1, ensure_ascii=False) + "\n").encode())
        say(f"The figures are in {asked.json}.")
    if asked.fail_on is not None and telling:
        raise Finding(f"the gate --fail-on leaks does not pass: images are told apart by {' and '.join(telling)}.")
    if asked.fail_on is not None:
        say("The gate --fail-on leaks passes: every attack ran, and told nothing apart.")


def _tells(judgement: Judgement, attacks: int) -> bool:
    """Tell whether a figure that decides is better than chance, with an error of 2.5 % over all attacks together."""
    tests = [
        score.significance.p_value
        for score in judgement.scores
        if score.significance is not None and score.metric in CLAIMS[score.claim].decisive
    ]
    return bool(tests) and min(tests) <= ERROR / (attacks * len(tests))


def _candidates(asked: AuditModel, trained: Trained, chance: Randomness) -> tuple[Samples, Samples]:
    """Load as many images that the model was trained on as others, drawn at random where there are more."""
    members, others = (_fitted(address, trained) for address in (asked.data, asked.others))
    known = set(image_digests(members))
    new = [place for place, digest in enumerate(image_digests(others)) if digest not in known]
    if len(new) < len(others):
        say(f"{len(others) - len(new)} of the others are among the images that it was trained on: left out.")
    count = min(len(members), len(new), asked.most)
    if count < FEWEST:
        raise BadInput(
            f"{len(members)} images that the model was trained on and {len(new)} others are too few to tell apart: name"
            f" {FEWEST} or more of each, of the same kind."
        )
    chosen = chance.permutation(len(members))[:count].sort().values
    of_others = chance.permutation(len(new))[:count].sort().values
    return members.take(chosen), others.take(torch.tensor(new)[of_others])


def _fitted(address: str, trained: Trained) -> Samples:
    """Load labelled images in the form that the model takes."""
    raw = trained.features is not None or trained.shape[1:] == (1, 1)
    size = trained.shape[1:] if not raw else None if trained.size is None else (trained.size, trained.size)
    loaded = load(address, size=size, channels=None if raw else trained.shape[0])
    samples = prepared(loaded, trained.normalisation, trained.features)
    trained.check(samples)
    if not samples.labels.shape[1]:
        raise BadInput(f"the images of {address} have no labels, and what a model says of an image is of its class.")
    return samples


def _learner(trained: Trained, described: dict[str, Any] | None, epochs: int | None) -> Any:
    """Train as the model was trained: its network, its scheme, and a usual training."""
    try:
        scheme = None if described is None else from_json(described)
    except BadParameter as bad:
        raise BadInput(f"the parameter {bad.name} = {bad.value!r} of the model's scheme is not usable.") from None
    if isinstance(scheme, MixingEncoder) and scheme.mixes_public:
        raise BadInput("the model's scheme mixes public images in, which shadow models lack: audit another model.")

    def learner(images: Samples, chance: Randomness) -> Trained:
        training = automatic(len(images))
        training = training if epochs is None else replace(training, epochs=epochs)
        source: Any = Reencoded(images, scheme) if isinstance(scheme, MixingEncoder) else Plain(images)
        return learn(source, trained.architecture, training, chance=chance).trained

    return learner
