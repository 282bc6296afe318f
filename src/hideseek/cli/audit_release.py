"""`hideseek audit --release DIR|FILE`: what leaked from what somebody else shared."""

import inspect
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
import tyro

from hideseek.audit import Question
from hideseek.audit.provenance import without_folders
from hideseek.audit.received import ReceivedEncodings, applicable
from hideseek.cli.arguments import parse
from hideseek.cli.audit_options import Attacking, Audit, Images, Several
from hideseek.cli.audit_question import attacks_named, seconds
from hideseek.cli.config import ConfigFile
from hideseek.cli.images import prepared, public_images
from hideseek.cli.received_release import DESCRIPTION, received
from hideseek.cli.release_options import AuditRelease
from hideseek.cli.terminal import say
from hideseek.data import load
from hideseek.data.non_members import non_members
from hideseek.errors import BadInput
from hideseek.hide.files.release_files import with_public
from hideseek.records import EncodedRelease, Normalisation, Samples
from hideseek.records.result import DatasetSummary, NoAccuracy, NoAccuracyKind, Truth
from hideseek.report.sentences import counted

OWN = "photos"  # what attackers have, and attacks are proved on, where nothing else is named


def run(arguments: Sequence[str], file: ConfigFile | None = None) -> None:
    """Parse the arguments and audit."""
    from hideseek.cli.audit import perform

    asked = parse(
        AuditRelease,
        "hideseek audit",
        arguments,
        file,
        description=inspect.cleandoc(AuditRelease.__doc__ or ""),
        config=(tyro.conf.OmitArgPrefixes,),
    )
    attacking = Attacking(attacks=asked.attacks, budget=asked.budget, seed=asked.seed)
    usual: Audit[Any] = Audit(Several(), Images(str(asked.release)), asked.output, attacking, gate=asked.gate)
    perform(usual, lambda: question(asked, *received(asked)))


def question(asked: AuditRelease, release: EncodedRelease, stated: bool) -> Question:
    """Read what is beside a release, which may state itself how it was made, and ask what it shows."""
    attacks = attacks_named(asked.attacks, EncodedRelease)
    known = asked.private is not None
    chosen = {name: each for name, each in attacks.items() if applicable(each, known=known)}
    if not chosen:
        raise BadInput("these attacks take what only who made the release knows: name others, or all.")
    rows = len(release.encoded)
    _check_rows(release, asked)
    own_address = asked.own or OWN
    whole, like = _as_shared(own_address, release, stated=stated, labelled=False)
    if asked.private is not None:
        private, like = _as_shared(asked.private, like, stated=stated, labelled=release.encoded.labels.shape[1] > 0)
        own = prepared(load(own_address, **_shape(like)), private.normalisation, None)
        _check_private(private, release, asked, stated=stated)
        others, of_which = non_members(private, {})
    else:
        private, own = _stand_ins(whole, release)
        others, of_which = None, {}
        if not stated and asked.images is None:
            say(f"{asked.release} does not say of how many private images it is: {rows:,} are assumed (--images N).")
    rounds = release.rounds if stated else max(1, round(rows / len(private)))
    given = replace(like, rounds=rounds, public=_public(asked, like))
    if given.public is None and given.scheme.mixes_public:
        say("Public images are mixed into its rows, and nobody here knows them: --public ADDRESS names them.")
    scheme: Any = ReceivedEncodings.of(given, private, known=known)
    stand_in = given.public or (public_images("patches:photos", given.encoded, size=None, features=None))
    shape, classes = given.encoded.shape, given.encoded.labels.shape[1]
    address = without_folders(str(asked.release.resolve()))
    name = address if address[:1].isalnum() else "release"
    return Question(
        private,
        {name: scheme},
        stand_in if scheme.mixes_public else None,
        own,
        rounds,
        chosen,
        seconds(asked.budget),
        None,
        NoAccuracy(NoAccuracyKind.NOT_ASKED),
        {
            "private": asked.private or address,
            "public": asked.public or "",
            "own": own_address,
            "others": ", ".join(f"{count} of {name}" for name, count in of_which.items()),
        },
        others,
        asked.public_known,
        Truth.MATCHED if known else Truth.NONE,
        None if known else DatasetSummary(address, rows // rounds, shape, classes, given.encoded.normalisation.kind),
    )


def _shape(release: EncodedRelease) -> dict[str, Any]:
    channels, *size = release.encoded.shape
    return {"size": tuple(size), "channels": channels, "labelled": False}


def _as_shared(
    address: str, release: EncodedRelease, *, stated: bool, labelled: bool
) -> tuple[Samples, EncodedRelease]:
    """Load images as they would be in the release; where it states no constants, theirs stand for its own."""
    how: Normalisation | str = release.encoded.normalisation if stated else "channel"
    images = prepared(load(address, **{**_shape(release), "labelled": labelled}), how, None)
    encoded = replace(release.encoded, normalisation=images.normalisation)
    return images, replace(release, encoded=encoded)


def _check_rows(release: EncodedRelease, asked: AuditRelease) -> None:
    """Refuse rows that are too few for their scheme: each has so many different private images in it."""
    mixed, images = release.scheme.images_per_row.private, len(release.encoded) // release.rounds
    if images < max(2, mixed):
        raise BadInput(
            f"{asked.release} has rows of {counted(images, 'image')} at most, and needs {max(2, mixed)}, since its"
            f" scheme mixes {mixed}: name another scheme, or more rows."
        )


def _check_private(private: Samples, release: EncodedRelease, asked: AuditRelease, *, stated: bool) -> None:
    """Refuse private images that cannot be those of the release."""
    rows, classes = len(release.encoded), release.encoded.labels.shape[1]
    if stated and len(private) * release.rounds != rows:
        raise BadInput(
            f"{asked.release} has {rows:,} rows of {rows // release.rounds:,} images, and {asked.private} has"
            f" {len(private):,}: name the images that are in it."
        )
    if not 2 <= len(private) <= rows:
        raise BadInput(
            f"{len(private):,} private images cannot be in {rows:,} rows: each has a row of its own at least."
        )
    if private.labels.shape[1] != classes:
        raise BadInput(
            f"{asked.private} has {private.labels.shape[1]} classes, and {asked.release} {classes}: name the same."
        )


def _stand_ins(whole: Samples, release: EncodedRelease) -> tuple[Samples, Samples]:
    """Divide the attacker's images: half stand for the private ones in plan and proofs, with classes by turns."""
    half = len(whole) // 2
    if half < 2:
        raise BadInput("attacks are proved on images of the attacker's own, four at least: name more with --own.")
    count, classes = max(2, len(release.encoded) // release.rounds), release.encoded.labels.shape[1]
    private = whole.take(torch.arange(count) % half)
    labels = torch.eye(classes)[torch.arange(count) % classes] if classes else torch.zeros(count, 0)
    return replace(private, labels=labels), whole.take(slice(half, None))


def _public(asked: AuditRelease, release: EncodedRelease) -> Samples | None:
    if asked.public is None:
        return release.public
    if not release.scheme.mixes_public:
        raise BadInput("no public images are mixed into rows of this scheme: leave out --public.")
    public = public_images(asked.public, release.encoded, size=None, features=None)
    if (asked.release / DESCRIPTION).is_file():
        return with_public(release, asked.release, public).public
    return public
