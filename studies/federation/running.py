"""A federation of a study, in this process: every party behind its gate, and the server of the protocol."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hideseek.errors import BadInput
from hideseek.federate.agreement import Agreement
from hideseek.federate.client import gated_answer
from hideseek.federate.encodings import run_encodings
from hideseek.federate.gradients import Aggregate, run_gradients
from hideseek.federate.messages import Message
from hideseek.federate.parties import Parties
from hideseek.federate.party import Part, PartySettings
from hideseek.federate.server import REFUSED, Server, ServerSettings, read_metrics
from hideseek.records import Samples

FOLDER = "parties"


@dataclass(frozen=True)
class InProcess(Parties):
    """Parties that answer one after another, each with what its gate lets pass."""

    settings: Mapping[int, PartySettings]

    def present(self) -> list[int]:
        """Give all."""
        return list(self.settings)

    def ask(self, messages: Mapping[int, Message], timeout: float) -> dict[int, Message]:
        """Ask them; what a party refuses is an error, as over a network."""
        return {party: gated_answer(message, self.settings[party]) for party, message in messages.items()}


@dataclass(frozen=True)
class Federation:
    """Images of one set, dealt out among parties."""

    data: str
    parties: int
    alpha: float | None = None
    """Of a Dirichlet split of every class; None: even parts."""
    seed: int = 0
    recording: tuple[int, ...] = ()
    """Parties that keep the ground truth beside what they send; the server then keeps all that arrives."""

    def folder(self, out: Path, party: int) -> Path:
        """Give the folder of a party."""
        return out / FOLDER / f"party-{party:03d}"

    def part(self, party: int) -> Part:
        """Give the images that a party has."""
        return Part(party, self.parties, self.alpha)

    def run(self, agreement: Agreement, settings: ServerSettings, test: Samples | None) -> "Outcome":
        """Run it to its end; a party that was refused is a mistake of the study."""
        torch.set_num_threads(1)  # trials are run side by side
        known = {
            party: PartySettings(
                self.data, self.folder(settings.out, party), self.part(party), record=party in self.recording,
                seed=self.seed,
            )
            for party in range(self.parties)
        }  # fmt: skip
        server = Server(agreement, settings, InProcess(known), test)
        state = (
            run_gradients(server, aggregate(settings)) if agreement.protocol == "gradients" else run_encodings(server)
        )
        if (refused := settings.out / REFUSED).exists():
            raise BadInput(f"a party of the study was refused: {refused.read_text('utf-8').splitlines()[0]}")
        return Outcome(server, state)


def aggregate(settings: ServerSettings) -> Aggregate:
    """Give Flower's strategy; it is loaded when it is needed alone."""
    from hideseek.federate.flower.strategies import FlowerAggregate

    logging.getLogger("flwr").setLevel(logging.ERROR)  # it says in every round how many parties answered
    return FlowerAggregate(settings.strategy)


@dataclass(frozen=True)
class Outcome:
    """What a federation came to."""

    server: Server
    state: dict[str, Tensor]

    @property
    def out(self) -> Path:
        """Give the folder of the server."""
        return self.server.settings.out

    def metrics(self) -> list[dict[str, Any]]:
        """Give what was measured, round by round."""
        return read_metrics(self.out)

    def accuracy(self) -> float:
        """Give the accuracy after the last round, in percent."""
        return 100 * float(next(each["test_accuracy"] for each in reversed(self.metrics()) if "test_accuracy" in each))

    def megabytes(self) -> tuple[float, float]:
        """Give what all parties together sent, and got."""
        return self.server.traffic.back / 1e6, self.server.traffic.out / 1e6

    def figures(self, images: int, attacks: dict[str, Any]) -> dict[str, Any]:
        """Give what a trial keeps: accuracy, traffic, and what attacks on a party of so many images got."""
        back, out = self.megabytes()
        return {
            "accuracy": round(self.accuracy(), 2),
            "images of the party": images,
            "megabytes in": round(back, 1),
            "megabytes out": round(out, 1),
            "attacks": attacks,
        }
