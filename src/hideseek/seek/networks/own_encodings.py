"""Encodings that an attacker makes of images he has, by the scheme of a release, to train networks on."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from jaxtyping import Float, Int
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.records import EncodedRelease, MixingEncoder, Reason, Refusal, Refused, Samples
from hideseek.records.samples import describe_shape
from hideseek.seek.signals.patches import cut

PIECE = 1 << 22  # pixels that are encoded at a time: 16 MiB of floats
HELD = 512  # images, at most, that are held out to try a network on
SHARE = 10  # one image in so many is held out


@dataclass(frozen=True)
class OwnEncodings:
    """Batches of encodings x̃, and of the mixtures z under their masks, or of the images in the first place.

    Each is made when it is needed, and seen once. An image is used again and again, with other partners and weights;
    where images are larger than rows, a patch of it is cut at random, each time another.
    """

    scheme: MixingEncoder
    shape: tuple[int, int, int]
    images: Samples
    """Stand-ins for private images …"""
    places: Int[Tensor, " some"]
    """… of which these are used."""
    public: Samples | None
    """What is mixed in, where the scheme mixes in public images."""
    rows: int
    batch: int
    stream: Randomness
    wanted: Literal["mixtures", "images"] = "mixtures"
    """What comes with encodings."""

    @property
    def steps(self) -> int:
        """How many batches the epoch has."""
        return self.rows // self.batch

    def epoch(self, number: int, first: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Give the batches from the batch `first` on."""
        chance = Randomness(self.stream.key, self.stream.seed)
        step = 0
        while step < self.steps:
            encoded, mixed = self._piece(chance)
            for start in range(0, len(mixed) - self.batch + 1, self.batch):
                if first <= step < self.steps:
                    yield encoded[start : start + self.batch], mixed[start : start + self.batch]
                step += 1

    def _piece(self, chance: Randomness) -> tuple[Float[Tensor, "n c h w"], Float[Tensor, "n c h w"]]:
        """Encode some of the images: at least a batch of rows, in little memory."""
        size = max(min(PIECE // math.prod(self.shape), self.rows), self.batch, 2 * sum(self.scheme.images_per_row))
        some = self.places[chance.permutation(len(self.places))[:size]]
        private, public = cut(self.images.take(some), self.shape, chance), self.public
        if public is not None:
            public = cut(public.take(chance.permutation(len(public))[:size]), self.shape, chance)
        release, secret = self.scheme.hide(private, public, chance, rounds=-(-size // len(private)))
        if self.wanted == "images":
            return release.encoded.images, private.pixels(secret.sources[:, 0])
        return release.encoded.images, release.encoded.images * secret.signs()


def without_images(release: EncodedRelease) -> Refusal | None:
    """Refuse an attacker who has no images to make encodings of, too few, or none that will do."""
    own = release.public if release.own is None else release.own
    if own is None:
        return Refusal(Reason.NO_OWN_IMAGES)
    public = own if release.public is None else release.public
    wanted = release.encoded
    for images in (own, public):
        smaller = any(given < least for given, least in zip(images.shape, wanted.shape, strict=True))
        if smaller or images.shape[0] != wanted.shape[0] or images.normalisation != wanted.normalisation:
            facts: dict[str, int | str] = {"given": _described(images), "wanted": _described(wanted)}
            return Refusal(Reason.UNSUITED_OWN_IMAGES, facts)
    together, mixed_in = release.scheme.images_per_row
    halved = 2 if mixed_in and own is public else 1  # every other image is mixed in, the others stand in
    least = halved * 2 * max(2, together)
    if len(own) < least:
        return Refusal(Reason.TOO_FEW_OWN_IMAGES, {"given": len(own), "wanted": least})
    if len(public) // halved < mixed_in:
        return Refusal(Reason.TOO_FEW_PUBLIC_IMAGES, {"given": len(public), "wanted": halved * mixed_in})
    return None


def own_encodings(
    release: EncodedRelease, rows: int, batch: int, chance: Randomness
) -> tuple[OwnEncodings, OwnEncodings]:
    """Give encodings to train on, and encodings of other private stand-ins to try on what was trained.

    The attacker's own images stand in for private ones, or public ones if he has no others. Where he has one set
    only, and the scheme mixes in public images, every other image stands in for a private one.
    """
    own = release.public if release.own is None else release.own
    public = own if release.public is None else release.public
    if (refusal := without_images(release)) is not None:
        raise Refused(refusal)
    assert own is not None and public is not None  # noqa: S101, PT018 (else it would have been refused)
    together, mixed_in = release.scheme.images_per_row
    places = chance.permutation(len(own))
    if mixed_in and own is public:
        places, public = places[places % 2 == 0], public.take(slice(1, None, 2))
    held = min(HELD, max(2, together, len(places) // SHARE))
    training, trial = chance.spawn(2)
    encodings = OwnEncodings(
        release.scheme,
        release.encoded.shape,
        own,
        places[held:],
        public if mixed_in else None,
        rows,
        batch,
        training,
    )
    return encodings, replace(encodings, places=places[:held], stream=trial)


def _described(samples: Samples) -> str:
    return f"{describe_shape(samples.shape)}, normalisation {samples.normalisation.kind}"
