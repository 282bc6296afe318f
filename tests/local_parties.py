"""Parties in this process, each behind its gate; some of them misbehave."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from hideseek.data import load, normalise
from hideseek.federate.agreement import Agreement, Protocol
from hideseek.federate.client import gated_answer
from hideseek.federate.messages import Message
from hideseek.federate.parties import Parties
from hideseek.federate.party import Part, PartySettings
from hideseek.federate.server import Server, ServerSettings
from hideseek.hide import RecipeEncoder
from hideseek.hide.updates import ShareUpdates
from hideseek.records import Samples

DATA = "faces"
SIDE = 12
Behaviour = Callable[[Message, Callable[[Message], Message]], Message | None]
"""Gives what a party answers, or nothing; the second argument answers honestly."""


@dataclass
class LocalParties(Parties):
    """Parties that answer at once."""

    settings: Mapping[int, PartySettings]
    behaviours: Mapping[int, Behaviour] = field(default_factory=dict)
    asked: list[tuple[int, Message]] = field(default_factory=list)
    answered: list[tuple[int, Message]] = field(default_factory=list)

    def present(self) -> list[int]:
        return list(self.settings)

    def ask(self, messages: Mapping[int, Message], timeout: float) -> dict[int, Message]:
        found = {}
        for party, message in messages.items():
            self.asked.append((party, message))

            def honest(asked: Message, party: int = party) -> Message:
                return gated_answer(asked, self.settings[party])

            given = self.behaviours[party](message, honest) if party in self.behaviours else honest(message)
            if given is not None:
                self.answered.append((party, given))
                found[party] = given
        return found


def faces() -> Samples:
    return normalise(load(DATA, size=SIDE), "channel")


def agreement(scheme: ShareUpdates | RecipeEncoder, **changes: object) -> Agreement:
    images = faces()
    model = scheme.model if isinstance(scheme, ShareUpdates) else "lenet"
    protocol: Protocol = "gradients" if isinstance(scheme, ShareUpdates) else "encodings"
    constants = images.normalisation
    usual = Agreement(protocol, model, scheme, images.shape, images.classes, constants, rounds=2, size=SIDE)
    return replace(usual, **changes)  # type: ignore[arg-type]


def parties(folder: Path, count: int, behaviours: Mapping[int, Behaviour] | None = None) -> LocalParties:
    settings = {
        place: PartySettings(DATA, folder / "parties" / str(place), Part(place, count), seed=7)
        for place in range(count)
    }
    return LocalParties(settings, behaviours or {})


def server(folder: Path, agreed: Agreement, who: Parties, **settings: object) -> Server:
    usual = ServerSettings(folder / "out", least=1, wait=0.0, timeout=1.0, seed=3, epochs=2, batch=16)
    return Server(agreed, replace(usual, **settings), who)  # type: ignore[arg-type]


def seen(parties: LocalParties, kind: str) -> Iterator[Message]:
    yield from (message for _, message in parties.answered if message.kind == kind)
