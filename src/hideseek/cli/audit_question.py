"""The images, schemes and attacks that `hideseek audit` names, loaded: the question that an audit answers."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hideseek.audit import Learning, Question, learning_from
from hideseek.audit.provenance import without_folders
from hideseek.chance import Randomness, seeded
from hideseek.cli.audit_options import Audit
from hideseek.cli.images import by_column, prepared, public_images
from hideseek.data import DATASETS, load
from hideseek.data.digests import images_digest
from hideseek.data.labels import BadLabels, NoLabels, OneClass
from hideseek.data.non_members import non_members
from hideseek.data.split import check_apart, divided
from hideseek.errors import BadInput, no_such
from hideseek.hide import Augmented, Geometry
from hideseek.records import Attack, EncodedRelease, Encoder, Release, Samples
from hideseek.records.result import NoAccuracy, NoAccuracyKind
from hideseek.seek import ATTACKS, VARIANTS

UNITS = {"s": 1, "m": 60, "h": 3600}
UNLABELLED = {NoLabels: NoAccuracyKind.NO_LABELS, OneClass: NoAccuracyKind.ONE_CLASS}


def question_of(asked: Audit[Any], chosen: Mapping[str, Encoder], kind: type[Release] = EncodedRelease) -> Question:
    """Load all that is named; schemes share releases of one kind.

    Which images are sampled or held out is no secret, and must be the same when an audit goes on, and in audits to be
    compared: it is drawn from the content of the set, like public patches, and from the seed where there is one.
    """
    asked = _by_column(asked)
    attacks, budget = attacks_named(asked.attacking.attacks, kind), seconds(asked.attacking.budget)
    if asked.geometry != Geometry():
        chosen = {name: Augmented(scheme, asked.geometry) for name, scheme in chosen.items()}  # type: ignore[arg-type] # of ENCODERS
    chosen = {name: asked.shared.of(scheme) for name, scheme in chosen.items()}  # type: ignore[arg-type]
    whole, unlabelled = _labelled(asked.images.data, asked)
    chance = _sampling(whole, asked.attacking.seed)
    private, rest = _sampled(whole, asked.images.sample, chance)
    public = _public(asked, private, chosen)
    own_address = asked.images.own or ("faces" if "photos" in asked.images.data else "photos")  # not the private ones
    own = public_images(own_address, private, size=private.shape[1:], features=None)
    learning: Learning | None = None
    why: NoAccuracy | None = unlabelled or NoAccuracy(NoAccuracyKind.NOT_ASKED)
    if asked.accuracies.learn and (asked.accuracies.learn_on or not unlabelled):
        learning, why = _learning(asked, whole, public, chance)
    others, of_which = non_members(private, _offered(asked, private, rest), upside_down=asked.geometry.flip)
    return Question(
        private,
        chosen,
        public,
        own,
        asked.attacking.rounds,
        attacks,
        budget,
        learning,
        why,
        {
            "private": asked.images.data,
            "public": asked.images.public or "",
            "own": own_address,
            "others": ", ".join(f"{count} of {name}" for name, count in of_which.items()),
        },
        others,
        asked.images.public_known,
    )


def _by_column(asked: Audit[Any]) -> Audit[Any]:
    """Put the column that has the labels into the addresses of private and of test images."""
    column = asked.images.label_column
    images = replace(asked.images, data=by_column(asked.images.data, column))
    return replace(
        asked, images=images, accuracies=replace(asked.accuracies, test=by_column(asked.accuracies.test, column))
    )


def attacks_on(kind: type[Release]) -> list[str]:
    """Name the attacks on a kind of release."""
    return [name for name, attack in ATTACKS.items() if issubclass(kind, attack.sees)]


def attacks_named(text: str, kind: type[Release]) -> dict[str, Attack[Any]]:
    """Give the attacks on a kind of release that were named, with commas between; or all."""
    apply, known = attacks_on(kind), {**ATTACKS, **VARIANTS}
    names = apply if text == "all" else [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            raise no_such("attack", name, apply)
        if not issubclass(kind, known[name].sees):
            raise BadInput(f"{name} attacks another kind of release: choose among {', '.join(apply)}.")
    return {name: known[name] for name in names}


def _sampling(whole: Samples, seed: int | None) -> Randomness:
    """Give the stream that images are sampled and held out by."""
    content = images_digest(whole)
    if seed is None:
        return seeded(int(content, 16))
    return seeded(int.from_bytes(hashlib.sha256(f"{content} {seed}".encode()).digest(), "little"))


def _sampled(whole: Samples, count: int | None, chance: Randomness) -> tuple[Samples, Samples]:
    """Divide a set into images that are sampled, in their order, and the rest, in none; a patient's stay together."""
    if count is None:
        return whole, whole.take(slice(0, 0))
    if not 2 <= count <= len(whole):
        raise BadInput(f"--sample must be between 2 and the {len(whole):,} images that there are.")
    sampled, rest = divided(whole, count, chance)
    if len(sampled) < 2:
        raise BadInput(f"--sample {count} is fewer images than patients have: take more.")
    return whole.take(sampled), whole.take(rest)


def _offered(asked: Audit[Any], private: Samples, rest: Samples) -> dict[str, Samples]:
    """Give images like the private ones, which are not hidden, by where they came from: until there are enough."""
    data, wanted = asked.images.data, len(private)
    offered = {f"{without_folders(data)} (not sampled)": rest.take(slice(0, 2 * wanted))} if len(rest) else {}
    test = (asked.accuracies.test if asked.accuracies.learn_on is None else None) or _test_split(data)
    if len(rest) < wanted and test is not None:
        images = load(test, size=private.shape[1:], channels=private.shape[0], labelled=False)
        order = seeded(int(images_digest(private), 16)).permutation(len(images))[: 2 * wanted]  # some are left out
        offered[without_folders(test)] = prepared(images.take(order), private.normalisation, None)
    return offered


def _public(asked: Audit[Any], private: Samples, chosen: Mapping[str, Encoder]) -> Samples | None:
    if asked.images.public is None:
        return None
    if not any(scheme.mixes_public for scheme in chosen.values()):
        raise BadInput("none of these schemes mixes public images: leave out --public, or audit a cross scheme.")
    return public_images(asked.images.public, private, size=asked.images.size, features=None)


def _labelled(address: str, asked: Audit[Any]) -> tuple[Samples, NoAccuracy | None]:
    """Load images with their labels; without, where they have none, and say so."""
    how: dict[str, Any] = {"size": asked.images.size, "channels": asked.images.channels}
    try:
        return prepared(load(address, **how), asked.images.normalise, None), None
    except BadLabels as mistake:
        samples = prepared(load(address, **how, labelled=False), asked.images.normalise, None)
        kind = next((kind for error, kind in UNLABELLED.items() if isinstance(mistake, error)), None)
        if kind is not None:
            return samples, NoAccuracy(kind)
        place = address.rpartition(":")[2].partition("?")[0]
        reason = str(mistake).replace(place, Path(place).name)  # without folders: it stands in the report
        return samples, NoAccuracy(NoAccuracyKind.UNREADABLE_LABELS, reason)


def _learning(
    asked: Audit[Any], whole: Samples, public: Samples | None, chance: Randomness
) -> tuple[Learning | None, NoAccuracy | None]:
    """Choose what accuracy is measured on: a set with its test images, or the images themselves, some held out."""
    address = asked.accuracies.learn_on or asked.images.data
    train = whole
    if asked.accuracies.learn_on is not None:
        train = prepared(load(address, channels=asked.images.channels), asked.images.normalise, None)
        if asked.images.public is not None:
            public = public_images(asked.images.public, train, size=train.shape[1:], features=None)
    test = asked.accuracies.test or _test_split(address)
    if test is None or train.labels.shape[1] < 2:
        held, why = learning_from(train, chance, public)
        return (held and replace(held, address=address)), why
    images = load(test, size=train.shape[1:], channels=train.shape[0])
    check_apart(train, images)
    tested = prepared(images, train.normalisation, None)
    if tested.labels.shape[1] != train.labels.shape[1] or tested.classes != train.classes:
        raise BadInput(f"the classes of {test} are not those of {address}: name test images of the same classes.")
    return Learning(train, tested, public, address), None


def _test_split(address: str) -> str | None:
    """Give the test split of a named set that is asked for by its name alone."""
    known = DATASETS.get(address)
    return f"{address}?split=test" if known is not None and "test" in known.counts else None


def seconds(text: str) -> float:
    """Read a time.

    >>> seconds("90s"), seconds("1.5m"), seconds("2h"), seconds("600")
    (90.0, 90.0, 7200.0, 600.0)
    """
    number, unit = (text[:-1], UNITS[text[-1]]) if text[-1:] in UNITS else (text, 1)
    try:
        found = float(number) * unit
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise BadInput(f"--budget is a time such as 90s, 10m or 2h, not {text!r}.")
    return found
