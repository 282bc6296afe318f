"""Parties in this process for trials of faults and enemies: ten of them share a thousand digits, one may misbehave."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import torch

from hideseek.chance import seeded
from hideseek.data import load, normalise, split_evenly
from hideseek.errors import BadInput
from hideseek.federate.agreement import Agreement
from hideseek.federate.client import answer
from hideseek.federate.messages import Message
from hideseek.federate.parties import Parties
from hideseek.federate.party import Part, Party, PartySettings
from hideseek.federate.server import Server, ServerSettings
from hideseek.hide import RecipeEncoder
from hideseek.hide.updates import ShareUpdates
from hideseek.records import Samples
from hideseek.train.trained import class_names

PARTIES = 10
IMAGES, TESTED = 1000, 1000  # digits that are shared, and others that the model is tested with
ODD = PARTIES - 1  # the number of the party that misbehaves
MODEL = "tanh-dense"
Behaviour = Callable[[Message, Callable[[Message], Message]], Message | None]
"""Gives what a party answers, or nothing; the second argument answers honestly."""


@cache
def digits() -> tuple[Samples, Samples]:
    """Give images to share and images to test with, normalised alike."""
    private = normalise(load("mnist?split=train").take(seeded(16).permutation(60_000)[:IMAGES]), "channel")
    tested = load("mnist?split=test").take(seeded(17).permutation(10_000)[:TESTED])
    return private, normalise(tested, private.normalisation)


def agreed(scheme: ShareUpdates | RecipeEncoder, rounds: int) -> Agreement:
    """Give the agreement on these digits."""
    images = digits()[0]
    return Agreement(
        "gradients" if isinstance(scheme, ShareUpdates) else "encodings",
        MODEL, scheme, images.shape, class_names(images), images.normalisation, rounds,
    )  # fmt: skip


@dataclass
class Local(Parties):
    """Parties that answer at once, without a gate: what they send is the matter here, not what is allowed."""

    agreement: Agreement
    folder: Path
    seed: int
    behaviours: Mapping[int, Behaviour] = field(default_factory=dict)
    changed: Mapping[int, Callable[[Samples], Samples]] = field(default_factory=dict)
    """What a party does to its own images before all."""
    connected: tuple[int, ...] = tuple(range(PARTIES))

    def __post_init__(self) -> None:
        parts = split_evenly(digits()[0], PARTIES, seeded(1000 + self.seed))
        self.parties = {
            place: Party(
                PartySettings("mnist", self.folder / str(place), Part(place, PARTIES), seed=self.seed),
                self.agreement,
                self.changed[place](part) if place in self.changed else part,
                None,
            )
            for place, part in enumerate(parts)
        }

    def present(self) -> list[int]:
        """Give the parties that are connected."""
        return list(self.connected)

    def ask(self, messages: Mapping[int, Message], timeout: float) -> dict[int, Message]:
        """Let every party answer as it behaves."""
        found = {}
        for place, message in messages.items():

            def honest(asked: Message, place: int = place) -> Message:
                try:
                    return answer(asked, self.parties[place].settings, lambda *_: self.parties[place])
                except BadInput as mistake:
                    return Message(asked.kind, error=str(mistake))

            given = self.behaviours[place](message, honest) if place in self.behaviours else honest(message)
            if given is not None:
                found[place] = given
        return found


def server(out: Path, who: Local, **settings: object) -> Server:
    """Give a server that tests the model after every round."""
    usual = ServerSettings(out, least=2, wait=0.0, timeout=1.0, seed=who.seed, batch=32)
    return Server(who.agreement, replace(usual, **settings), who, digits()[1])  # type: ignore[arg-type]


def flipped(images: Samples) -> Samples:
    """Give every digit d the label 9 − d."""
    return replace(images, labels=torch.flip(images.labels, (1,)))
