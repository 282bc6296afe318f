"""An audit as a whole: what its words mean, its images, its attackers, its steps."""

from collections.abc import Sequence
from itertools import pairwise

from hideseek.records.result import (
    DatasetSummary,
    NoAccuracy,
    NoAccuracyKind,
    Outcome,
    StepKey,
    StepKind,
    Threat,
    Truth,
)
from hideseek.report.sentences.numbers import are, counted, sentence

OUTCOMES = {
    Outcome.BROKEN: (
        "Private images come back, or are picked from a gallery, better than by any baseline that ignores the release."
    ),
    Outcome.CONFIRMED: (
        "There is no truth to judge by, but an attack confirmed images that it recovered: they explain what was shared"
        " exactly, as wrong ones do not."
    ),
    Outcome.LEAKS: (
        "No private image came back. Something about rows or updates, keys, labels, likeness or public images did,"
        " better than by any such baseline."
    ),
    Outcome.RESISTED: (
        "These attacks ran, at this budget, and beat no baseline; each says the smallest effect that it would have"
        " shown. Others may do better."
    ),
    Outcome.UNJUDGED: "An attack ran, and whether what it found is right cannot be judged without the truth.",
    Outcome.WITHHELD: "An attack did not pass its own proofs: its result is not believed either way.",
    Outcome.FAILED: "An attack raised an error, or what it found could not be judged. That says nothing of privacy.",
    Outcome.NOT_TRIED: "There was no time for an attack that applies, or not to its end. The question is open.",
    Outcome.NOT_APPLICABLE: (
        "An attack has nothing in this scheme to work on; or no attack uses what an attacker knows besides: then what"
        " weaker ones found holds for him too."
    ),
}


TRUTHS = {
    Truth.MATCHED: (
        "The private images are known, and not how rows were made of them: guesses are matched to the images one to"
        " one, and what attacks say of rows (links, masks, public images) is not judged."
    ),
    Truth.NONE: (
        "Nobody here knows the private images: what attacks found is not judged, and no figure says how good it is."
        " They were proved on images of the attacker's own in the place of the private ones."
    ),
}
"""What a reader must know of what was judged by, where it is less than everything."""
JUDGED = (Outcome.BROKEN, Outcome.LEAKS, Outcome.RESISTED)
CANNOT_BE = {
    Truth.KNOWN: (Outcome.CONFIRMED, Outcome.UNJUDGED),
    Truth.MATCHED: (Outcome.CONFIRMED,),
    Truth.NONE: JUDGED,
}
"""Outcomes that no audit has that judges so."""


def truth(judged_by: Truth) -> str:
    """Say what was judged by, where it is less than everything."""
    return TRUTHS.get(judged_by, "")


def outcomes(judged_by: Truth) -> tuple[Outcome, ...]:
    """Give the outcomes that an audit can have."""
    return tuple(each for each in Outcome if each not in CANNOT_BE[judged_by])


def outcome(came: Outcome) -> str:
    """Say what an outcome means."""
    return OUTCOMES[came]


NO_ACCURACIES = {
    NoAccuracyKind.NOT_ASKED: "it was not asked for",
    NoAccuracyKind.NO_LABELS: "the images have no labels, so there is nothing to learn",
    NoAccuracyKind.ONE_CLASS: "there is one class only, so there is nothing to learn",
    NoAccuracyKind.TOO_FEW_IMAGES: "fewer than two classes have two images, one to learn from and one to test with",
    NoAccuracyKind.UNREADABLE_LABELS: "the labels could not be read: {text}",
}


def no_accuracy(why: NoAccuracy) -> str:
    """Say why accuracies are not measured."""
    return sentence(f"Accuracy is not measured: {NO_ACCURACIES[why.kind].format(text=why.text)}")


STEPS = {
    StepKind.ACCURACY: "accuracy",
    StepKind.HIDE: "hide",
    StepKind.ATTACK: "{attack}",
    StepKind.ADVICE: "what would help",
}


def step(key: StepKey) -> str:
    """Name a step of the audit.

    >>> step(StepKey(StepKind.ATTACK, "mixup", "mixup-pairs")), step(StepKey(StepKind.ACCURACY))
    ('mixup: mixup-pairs', 'accuracy')
    """
    name = STEPS[key.kind].format(attack=key.attack)
    return f"{key.scheme}: {name}" if key.scheme else name


def dataset(images: DatasetSummary) -> str:
    """Describe a set of images.

    >>> dataset(DatasetSummary("faces", 1600, (3, 32, 32), 10, "channel", 2))
    '1,600 images of 3×32×32 in 10 classes, normalised by channel; 2 of them are private, too.'
    >>> dataset(DatasetSummary("dicom:xrays", 12, (1, 64, 64), 1, "none", patients=5))
    '12 images of 1×64×64; they are of 5 patients, and a patient is one record for membership and record risk.'
    """
    classes = f" in {images.classes} classes" if images.classes > 1 else ""
    normalised = f", normalised by {images.normalisation}" if images.normalisation in ("channel", "image") else ""
    overlap = f"; {images.overlap:,} of them {are(images.overlap)} private, too" if images.overlap else ""
    if images.patients is not None:
        people = f"{counted(images.patients, 'patient')}, and a patient is one record for membership and record risk"
        overlap += f"; they are of {people}"
    return f"{counted(images.images, 'image')} of {'×'.join(map(str, images.shape))}{classes}{normalised}{overlap}."


def attackers_by_name(threats: Sequence[Threat]) -> str:
    """Say who the attackers are whom a table calls by their names; empty where there are none.

    >>> attackers_by_name([Threat("outsider", "sees all", ""), Threat("linked", "also knows more", "")])
    'Attackers: outsider, who sees all; linked, who also knows more.'
    """
    named = "; ".join(f"{threat.name}, who {threat.title}" for threat in threats)
    return f"Attackers: {named}." if named else ""


def attackers(threats: Sequence[Threat]) -> str:
    """Say what all attackers know, and whether each knows more than the one before."""
    known = "The attacker knows the scheme, its parameters and the code; keys alone are secret."
    nested = len(threats) > 1 and all(after.covers(before) for before, after in pairwise(threats))
    return f"{known} Each knows all that those before him know." if nested else known
