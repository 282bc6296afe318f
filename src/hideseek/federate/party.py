"""A party of a federation: its images as they were agreed on, and the folder where it keeps what it needs again."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import torch

from hideseek.chance import Randomness, secure, seeded
from hideseek.data import load, normalise, split_dirichlet, split_evenly
from hideseek.data.digests import images_digest
from hideseek.data.labels import NoLabels
from hideseek.data.source_images import each_source, source_stamp
from hideseek.errors import BadInput
from hideseek.federate.agreement import Agreement
from hideseek.hide.privacy.ledger_key import LedgerKey
from hideseek.records import Samples

SPLIT = 5  # the seed of how a trial's images are dealt out: no secret
LEAST_SPREAD, LOOKED_AT = 0.02, 256  # the deviation of normalised pixels, at least, and images that tell it
COLOURS = (1, 3)  # channels that images can be brought to; features are as they are


class Differs(BadInput):
    """A party whose images are not what was agreed on; the sentence may be sent to the server."""


@dataclass(frozen=True)
class Part:
    """One of several parts of a set, for trials on one machine: which, of how many, and how they are dealt out."""

    number: int
    of: int
    alpha: float | None = None
    """Of a Dirichlet split of every class; None: even parts."""

    def take(self, images: Samples) -> Samples:
        """Give this part of the images."""
        if not 0 <= self.number < self.of:
            raise BadInput(f"there is no part {self.number} of {self.of}: count from 0.")
        chance = seeded(SPLIT)
        if self.alpha is None:
            return split_evenly(images, self.of, chance)[self.number]
        return split_dirichlet(images, self.of, self.alpha, chance)[self.number]


@dataclass(frozen=True)
class PartySettings:
    """What the owner of a node says, and no server can change."""

    data: str
    """Private images: folder:, dicom: or npz:PATH, or a name."""
    folder: Path
    """Where the party keeps its encodings, its log and the models that it got."""
    part: Part | None = None
    policy: Path | None = None
    """The file that says what the owner allows; None, in simulations: all that was agreed on."""
    record: bool = False
    """Whether to keep what was sent, with the ground truth, for an audit of one's own."""
    seed: int | None = None
    """For studies: draw all keys from this number."""

    def chance(self, purpose: Literal["rows", "update"], number: int) -> Randomness:
        """Give the source of chance of one task: fresh keys, but for studies."""
        if self.seed is None:
            return secure()
        part = 0 if self.part is None else self.part.number
        return seeded(((self.seed * 1000 + part) * 2 + (purpose == "rows")) * 100_000 + number)


@dataclass(frozen=True)
class Party:
    """A party's images, loaded as agreed, and its settings."""

    settings: PartySettings
    agreement: Agreement
    private: Samples
    public: Samples | None


def load_party(settings: PartySettings, agreement: Agreement) -> Party:
    """Load the images of a party; whatever differs from the agreement is said, and nothing else."""
    channels = agreement.shape[0] if agreement.features is None and agreement.shape[0] in COLOURS else None
    try:
        images = load(settings.data, size=agreement.size, channels=channels)
    except NoLabels as mistake:
        raise Differs("the images have no labels, and the agreement has classes") from mistake
    if settings.part is not None:
        images = settings.part.take(images)
    images = _prepared(images, agreement)
    if found := agreement.differences(images):
        raise Differs("; ".join(found))
    if not LEAST_SPREAD < float(images.pixels(slice(0, LOOKED_AT)).std()) < 1 / LEAST_SPREAD:
        raise Differs("the agreed constants make these images far larger or smaller than noise and clipping expect")
    public = None
    if agreement.public is not None:
        wanted = agreement.shape[1:] if agreement.public.address.startswith("patches:") else agreement.size
        public = _prepared(load(agreement.public.address, size=wanted, channels=channels, labelled=False), agreement)
        if images_digest(public) != agreement.public.digest:
            raise Differs(f"the public images at {agreement.public.address} are others than were agreed on")
    return Party(settings, agreement, images, public)


@lru_cache(maxsize=64)
def loaded(settings: PartySettings, agreement: Agreement) -> Party:
    """Give a party whose images are loaded once, and not for every message."""
    return load_party(settings, agreement)


def known_images(settings: PartySettings, agreement: Agreement, key: LedgerKey) -> tuple[bytes, ...]:
    """Give what a ledger knows the party's images by: keyed digests of them as their source has them now."""
    return _known_images(settings, agreement, key, source_stamp(settings.data))


@lru_cache(maxsize=8)
def _known_images(settings: PartySettings, agreement: Agreement, key: LedgerKey, stamp: str) -> tuple[bytes, ...]:
    every = each_source(settings.data, key.image, key.patient)
    if settings.part is None:
        return tuple(every)
    images = load(settings.data, size=agreement.size)  # whose labels a split may go by
    places = torch.arange(len(images), dtype=torch.float32)[:, None, None, None]
    part = settings.part.take(Samples(places, images.labels, patients=images.patients))
    return tuple(every[int(place)] for place in part.images.flatten())


def _prepared(images: Samples, agreement: Agreement) -> Samples:
    if agreement.features is not None:
        from hideseek.models.features import efficientnet_lite0, extract

        images = extract(images, efficientnet_lite0())
    if images.shape[0] != agreement.shape[0]:
        raise Differs(f"images have {images.shape[0]} channels, agreed were {agreement.shape[0]}")
    return normalise(images, agreement.normalisation)
