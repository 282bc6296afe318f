"""What parties and server agree on before anything is sent: protocol, model, images, and how these are hidden."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, Self, get_args

from hideseek.errors import BadInput
from hideseek.files import parsed
from hideseek.hide import RecipeEncoder
from hideseek.hide.files.release_checks import constants
from hideseek.hide.files.schemes import scheme_of, to_json
from hideseek.hide.updates import ShareUpdates
from hideseek.models import MODELS
from hideseek.records import Normalisation, Samples
from hideseek.records.samples import describe_shape

Protocol = Literal["gradients", "encodings"]
LARGEST = 1 << 40  # of any count
LARGEST_IMAGE, MOST_CLASSES = 1 << 24, 1 << 16  # numbers, and names: whoever answers builds a model of that size
EXTRACTOR = "efficientnet-lite0"
SHAPE = 3  # channels, height, width


@dataclass(frozen=True)
class PublicSet:
    """Public images that everybody loads himself: their address, and a checksum of what it gives."""

    address: str
    digest: str


@dataclass(frozen=True)
class Agreement:
    """All that is the same for everybody; the server sends it with every message, and clients check it.

    `scheme` says what leaves: a client of `ShareUpdates` in the protocol *gradients*, an encoder of images in the
    protocol *encodings*. Public images are named, never sent.
    """

    protocol: Protocol
    model: str
    scheme: ShareUpdates | RecipeEncoder
    shape: tuple[int, int, int]
    classes: tuple[str, ...]
    normalisation: Normalisation
    rounds: int = 1
    public: PublicSet | None = None
    size: int | None = None
    """The side that images are brought to; None: they are as they are."""
    features: Literal["efficientnet-lite0"] | None = None
    """The extractor whose features are taken instead of images."""
    buffers: bool = True
    """Whether running statistics of batch norm are sent with an update."""
    proximal: float = 0.0
    """μ of FedProx: local steps stay near the model that was sent."""
    again: bool = False
    """Whether images are encoded anew in every round; else once, and the server trains on the same rows."""
    most_rows: int = 1 << 20
    """The most encodings that a party may send in a round."""

    def __post_init__(self) -> None:
        if self.protocol not in get_args(Protocol):
            raise BadInput(f"the protocol {self.protocol!r} is unknown here: choose {' or '.join(get_args(Protocol))}.")
        if self.model not in MODELS:
            raise BadInput(f"the model {self.model!r} is unknown here: choose one of {', '.join(MODELS)}.")
        wanted = ShareUpdates if self.protocol == "gradients" else RecipeEncoder
        if not isinstance(self.scheme, wanted):
            raise BadInput(f"the protocol {self.protocol} does not go with {self.scheme.mechanism}: choose the other.")
        if isinstance(self.scheme, ShareUpdates) and self.scheme.model != self.model:
            raise BadInput(f"updates are of {self.scheme.model}, and the model is {self.model}: name one model.")
        if len(self.classes) < 2:
            raise BadInput("a model that is learnt together tells two classes or more apart: name them.")
        counts = (self.rounds, self.most_rows, *self.shape, *(() if self.size is None else (self.size,)))
        if len(self.shape) != SHAPE or not all(type(each) is int and 0 < each < LARGEST for each in counts):
            raise BadInput("rounds, sizes and shapes of an agreement are whole numbers above 0.")
        if math.prod(self.shape) > LARGEST_IMAGE or len(self.classes) > MOST_CLASSES:
            raise BadInput("images or classes of an agreement are more than a model of them could be built for.")
        if not 0 <= self.proximal < math.inf:
            raise BadInput(f"proximal, the μ of FedProx, must be 0 or more, not {self.proximal}.")
        if self.mixes_public != (self.public is not None):
            raise BadInput("schemes that mix public images need their address and checksum, and others have none.")

    @property
    def encoding(self) -> RecipeEncoder | None:
        """How images are encoded, in either protocol."""
        return self.scheme.encoding if isinstance(self.scheme, ShareUpdates) else self.scheme

    @property
    def mixes_public(self) -> bool:
        """Tell whether public images are mixed in."""
        return self.encoding is not None and self.encoding.mixes_public

    def to_json(self) -> str:
        """Write it as one line."""
        plain = {each.name: getattr(self, each.name) for each in fields(self)}
        plain |= {"scheme": to_json(self.scheme), "normalisation": asdict(self.normalisation)}
        plain["public"] = None if self.public is None else asdict(self.public)
        return json.dumps(plain, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read it; what anyone may have written is checked field by field."""
        damaged = BadInput("the agreement cannot be read: use the same version of hideseek on all sides.")
        try:
            plain = parsed(text)
            if not isinstance(plain, dict) or set(plain) != {each.name for each in fields(cls)}:
                raise damaged
            shape, names = tuple(plain["shape"]), tuple(plain["classes"])
            kind = ShareUpdates if plain["protocol"] == "gradients" else RecipeEncoder
            given: Any = plain | {
                "scheme": scheme_of(plain["scheme"], kind),
                "shape": shape,
                "classes": names,
                "normalisation": constants(plain["normalisation"], shape[0]),
                "public": None if plain["public"] is None else _public(plain["public"]),
                "proximal": float(plain["proximal"]),
            }
            if not all(isinstance(each, str) for each in (*names, given["model"])):
                raise damaged
            if given["features"] not in (None, EXTRACTOR) or not {type(given["buffers"]), type(given["again"])} == {
                bool
            }:
                raise damaged
            return cls(**given)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError):
            raise damaged from None

    def differences(self, images: Samples) -> list[str]:
        """Say how a party's images differ from what was agreed, in words that give away nothing else."""
        found = []
        if images.shape != self.shape:
            found.append(f"images are of {describe_shape(images.shape)}, agreed was {describe_shape(self.shape)}")
        if images.labels.shape[1] != len(self.classes):
            found.append(f"there are {images.labels.shape[1]} classes, agreed were {len(self.classes)}")
        elif images.classes and images.classes != self.classes:
            place = next(place for place, name in enumerate(images.classes) if name != self.classes[place])
            found.append(f"class {place} has another name than was agreed, {self.classes[place]}")
        if images.normalisation != self.normalisation:
            found.append("images are normalised by other constants than were agreed")
        return found


def _public(plain: Mapping[str, Any]) -> PublicSet:
    if set(plain) != {"address", "digest"} or not all(isinstance(each, str) for each in plain.values()):
        raise ValueError
    return PublicSet(**plain)
