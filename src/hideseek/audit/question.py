"""What an audit is asked: these images, these ways of sharing them, these attacks, so much time."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import torch

from hideseek.audit.provenance import without_folders
from hideseek.audit.store import path_name
from hideseek.chance import Randomness
from hideseek.data.digests import image_digests
from hideseek.data.public import PublicKnown, known_public
from hideseek.data.split import held_out, record_classes
from hideseek.errors import BadInput
from hideseek.records import Attack, EncodedRelease, Encoder, MixingEncoder, Release, Samples
from hideseek.records.result import DatasetSummary, ModelState, NoAccuracy, NoAccuracyKind, Truth
from hideseek.records.secret import Secret
from hideseek.records.update_encoder import UpdateEncoder
from hideseek.seek import ATTACKS

R = TypeVar("R", bound=Release)
Learnable = MixingEncoder | UpdateEncoder
CHUNK = 1024  # images that are looked at together
TESTED = 5  # one record in so many is held out to test with, where no test set is named
FEWEST = 2  # records of a class, and classes, without which nothing can be learnt


@dataclass(frozen=True)
class Learning:
    """What accuracies are measured on; the public images are those that cross schemes mix in."""

    train: Samples
    test: Samples
    public: Samples | None = None
    address: str = ""
    model: str | None = None
    """The network, by its name in MODELS; None: one that suits images and scheme."""


@dataclass(frozen=True)
class Question:
    """What leaks from these images if they are shared in these ways, and what does it cost."""

    private: Samples
    """Normalised, as they would be mixed."""
    schemes: Mapping[str, Encoder]
    """By the names that the report calls them."""
    public: Samples | None = None
    """What the cross schemes mix in."""
    own: Samples | None = None
    """What the attacker has to try things on; like the private images, or any photographs."""
    rounds: int = 1
    """How often every image is hidden and shared, as re-encoding for every epoch does."""
    attacks: Mapping[str, Attack[Any]] = field(default_factory=lambda: dict(ATTACKS))
    budget: float = 600.0
    """Seconds for the whole audit, about."""
    learning: Learning | None = None
    """What to measure accuracies on; None: none are measured."""
    why_no_accuracy: NoAccuracy | None = None
    """Why not, where there is nothing to measure them on."""
    addresses: Mapping[str, str] = field(default_factory=dict)
    """Where the sets came from, for the report: private, public, own, others."""
    others: Samples | None = None
    """Images like the private ones that are not hidden: half of an attacker's gallery; None: mirrored private ones."""
    public_known: PublicKnown = "images"
    """What the attacker has of public patches: the larger images that they were cut from, or the very patches."""
    truth: Truth = Truth.KNOWN
    """What is judged by; without the truth, `private` are stand-ins, for plan and proofs alone."""
    described: DatasetSummary | None = None
    """Without the truth: what is known of the private images."""
    states: Mapping[str, ModelState] = field(default_factory=dict)
    """Of schemes that are audited in several states of their model, by their names: which state that is."""

    def __post_init__(self) -> None:
        if not self.schemes:
            raise BadInput("name a scheme to audit, such as mixup.")
        if not self.attacks:
            raise BadInput("name an attack to run, or all.")
        for kind, names in (("schemes", self.schemes), ("attacks", self.attacks)):
            if len({path_name(name) for name in names}) < len(names):
                raise BadInput(f"two {kind} have names that are alike but for punctuation: give them other names.")
        if self.rounds < 1:
            raise BadInput(f"every image is hidden in one round or more, not in {self.rounds}.")
        for start in range(0, len(self.private), CHUNK):
            if not bool(self.private.pixels(slice(start, start + CHUNK)).isfinite().all()):
                raise BadInput("the private images hold values that are not finite numbers: repair or remove them.")
        if not 0 < self.budget < float("inf"):
            raise BadInput(f"the budget must be some seconds, not {self.budget}.")

    @property
    def public_stands_in(self) -> bool:
        """Tell whether the public images are those of trials alone: what was really mixed in, nobody here knows."""
        return self.truth is not Truth.KNOWN and not self.addresses.get("public")

    @property
    def release_size(self) -> int:
        """Tell how many bytes the largest release of the private images has, at least."""
        return max(scheme.release_bytes(self.private, self.rounds) for scheme in self.schemes.values())

    @property
    def trainable(self) -> dict[str, Learnable]:
        """Give the schemes by which a model can be trained: on what they share, or with what they make of gradients.

        Of schemes that differ by the state of their model alone, the first stands for all.
        """
        return {
            name: scheme
            for name, scheme in self.schemes.items()
            if isinstance(scheme, Learnable) and self.trained_as(name) == name
        }

    def trained_as(self, name: str) -> str:
        """Name the scheme whose training stands for a scheme's."""
        state = self.states.get(name)
        return name if state is None else next(n for n, each in self.states.items() if each.series == state.series)

    def with_others(self, secret: Secret) -> Secret:
        """Put as many images that are not hidden beside the private ones of a secret."""
        others = self.others
        return secret if others is None else replace(secret, others=others.take(slice(0, len(secret.private))))

    def public_for(self, scheme: Encoder) -> Samples | None:
        """Give the public images to a scheme that mixes some in."""
        return self.public if scheme.mixes_public else None

    def known_of(self, public: Samples | None) -> Samples | None:
        """Give what the attacker has of public images that are mixed in."""
        return None if public is None else known_public(public, self.public_known)

    def seen(self, release: R, own: Samples | None) -> R:
        """Give a release with what the attacker has beside it: images of his own, and what he has of public ones."""
        if isinstance(release, EncodedRelease):
            return replace(release, own=own, public=self.known_of(release.public))
        return replace(release, own=own)


def learning_from(
    private: Samples, chance: Randomness, public: Samples | None = None
) -> tuple[Learning | None, NoAccuracy | None]:
    """Hold some of the private images out to test with, whole patients where these are known; or say why not."""
    if private.labels.shape[1] == 0:
        return None, NoAccuracy(NoAccuracyKind.NO_LABELS)
    counts = torch.bincount(record_classes(private), minlength=1)
    if int((counts > 0).sum()) < FEWEST:
        return None, NoAccuracy(NoAccuracyKind.ONE_CLASS)
    if int((counts >= FEWEST).sum()) < FEWEST:
        return None, NoAccuracy(NoAccuracyKind.TOO_FEW_IMAGES)
    train, test = held_out(private, TESTED, chance)
    return Learning(train, test, public, "the private images"), None


def summary(samples: Samples, address: str, private: Samples | None = None) -> DatasetSummary:
    """Describe a set in numbers, and count how many of its images are private ones too."""
    overlap = 0 if private is None else shared_images(samples, private)
    return DatasetSummary(
        without_folders(address),
        len(samples),
        samples.shape,
        samples.labels.shape[1],
        samples.normalisation.kind,
        overlap,
        None if samples.patients is None or private is not None else len(samples.patients.unique()),
    )


def shared_images(samples: Samples, private: Samples) -> int:
    """Count the images of a set that are, pixel for pixel, private ones."""
    if samples.shape != private.shape:
        return 0
    known = set(image_digests(private))
    return sum(digest in known for digest in image_digests(samples))
