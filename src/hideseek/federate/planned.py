"""An agreement, made of what a person names: a set of images, a scheme, a model."""

from dataclasses import dataclass

from hideseek.data import load, normalise
from hideseek.data.digests import images_digest
from hideseek.errors import BadInput
from hideseek.federate.agreement import Agreement, Protocol, PublicSet
from hideseek.hide import RecipeEncoder
from hideseek.hide.named import schemes
from hideseek.hide.updates import ShareUpdates
from hideseek.hide.updates.chains import NONE, chains
from hideseek.learn import suited
from hideseek.records import Samples
from hideseek.records.update_encoder import Sent
from hideseek.train.trained import class_names


@dataclass(frozen=True)
class Plan:
    """What is wanted, in words."""

    data: str
    scheme: str = "none"
    protocol: Protocol = "gradients"
    model: str | None = None
    """None: a small network that suits the images and the scheme."""
    parties: int = 2
    rounds: int = 10
    batch: int = 16
    local_steps: int | None = None
    """None: as many as it takes to see all images of a party once."""
    local_epochs: int = 1
    rate: float = 0.05
    public: str | None = None
    size: int | None = None
    channels: int | None = None
    again: bool = False
    buffers: bool = True
    proximal: float = 0.0

    def agreement(self) -> tuple[Agreement, Samples]:
        """Load the images, and give the agreement with them."""
        images = normalise(load(self.data, size=self.size, channels=self.channels), "channel")
        if images.labels.shape[1] < 2:
            raise BadInput("a model that is learnt together tells two classes or more apart: name images of several.")
        public = None
        if self.public is not None:
            wanted = images.shape[1:] if self.public.startswith("patches:") else self.size
            loaded = load(self.public, size=wanted, channels=images.shape[0], labelled=False)
            public = PublicSet(self.public, images_digest(normalise(loaded, images.normalisation)))
        scheme = self._encodings() if self.protocol == "encodings" else self._updates(images)
        return (
            Agreement(
                self.protocol,
                scheme.model if isinstance(scheme, ShareUpdates) else self.model or suited(images, scheme),
                scheme,
                images.shape,
                class_names(images),
                images.normalisation,
                self.rounds,
                public,
                self.size,
                buffers=self.buffers,
                proximal=self.proximal,
                again=self.again,
                most_rows=max(1, 4 * -(-len(images) // self.parties)),
            ),
            images,
        )

    def _encodings(self) -> RecipeEncoder:
        if self.scheme == NONE or len(named := list(schemes(self.scheme).values())) != 1:
            raise BadInput("encodings are of one scheme: name it.")
        return named[0]

    def _updates(self, images: Samples) -> ShareUpdates:
        named = list(chains(self.scheme).values())
        if len(named) != 1:
            raise BadInput("all parties defend themselves by one chain: name one.")
        encoding, defences = named[0]
        model = self.model or suited(images, encoding)
        steps = self.local_steps
        if steps is None:
            steps = -(-2 * len(images) // (self.parties * max(1, self.batch)))
        sends: Sent = "gradient" if steps == self.local_epochs == 1 else "weights"
        return ShareUpdates(
            model, self.batch, steps, self.local_epochs, self.rate, sends, encoding=encoding, defences=defences
        )
