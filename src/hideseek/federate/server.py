"""What servers of both protocols have in common: their settings, their folder, who is chosen, and what is told."""

import json
import math
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor

from hideseek.chance import Randomness, secure, seeded
from hideseek.data import load, normalise
from hideseek.errors import BadInput
from hideseek.escapes import escaped
from hideseek.federate.agreement import Agreement
from hideseek.federate.messages import CONFIG, TAKE, Message
from hideseek.federate.metrics import line, place_of, seconds_left, write_metrics
from hideseek.federate.metrics import read_metrics as read_metrics  # noqa: PLC0414 (for those who have a server)
from hideseek.federate.parties import Counted, Parties, Traffic
from hideseek.files import new_file, own_folder, read_lines
from hideseek.learn import accuracy, predict
from hideseek.models import build
from hideseek.records import Samples
from hideseek.train.trained import MODEL, Trained, write_model
from hideseek.train.training import Training
from hideseek.train.worker import torch_seed

REFUSED = "refused.jsonl"
SENTENCE = 500  # characters of a reason that are kept: it may be a party's own
POLL = 0.5  # seconds between two looks for parties
Tell = Callable[[str], None]


@dataclass(frozen=True)
class ServerSettings:
    """How a server runs a federation."""

    out: Path
    """Where models, metrics and checkpoints are written."""
    strategy: str = "fedavg"
    """How updates are put together."""
    fraction: float = 1.0
    """The share of the parties that is asked in a round."""
    least: int = 2
    """Parties that must have answered; a round with fewer changes nothing, and is tried again."""
    wait: float = 60.0
    """Seconds to wait for so many parties."""
    timeout: float = 3600.0
    """Seconds to wait for an answer."""
    record: bool = False
    """Whether to keep all that parties sent, for an audit."""
    epochs: int = 10
    """Of training on encodings that are sent once."""
    batch: int = 128
    rate: float | None = None
    """The learning rate of training on encodings; None: one that suits their number."""
    training: Training | None = None
    """All of how to train on encodings, in place of epochs, batch and rate; None: as these say."""
    seed: int | None = None
    """For studies: initial weights, and who is asked, from this number."""

    def __post_init__(self) -> None:
        if not 0 < self.fraction <= 1:
            raise BadInput(
                f"fraction, the share of parties of a round, must be above 0 and at most 1, not {self.fraction}."
            )
        if self.least < 1 or not 0 <= self.wait < math.inf or not 0 < self.timeout < math.inf:
            raise BadInput("least must be 1 or more, and waiting times must be finite, and not negative.")

    def chance(self, choice: int | None = None) -> Randomness:
        """Give the source of chance: secure, but for studies; of a choice of parties, its own."""
        if self.seed is None:
            return secure()
        return seeded(self.seed if choice is None else (self.seed + 1) * 1_000_000 + choice)


@dataclass
class Server:
    """A federation as its server sees it."""

    agreement: Agreement
    settings: ServerSettings
    parties: Parties
    test: Samples | None = None
    """Images of the server's own to test the model with."""
    tell: Tell = lambda _: None
    traffic: Traffic = field(default_factory=Traffic)
    started: float = field(default_factory=time.monotonic)
    pace: list[tuple[str, int, float]] = field(default_factory=list)
    """When each round of this run was finished."""

    def __post_init__(self) -> None:
        if (
            self.settings.strategy == "fedprox"
            and self.agreement.protocol == "gradients"
            and not self.agreement.proximal
        ):
            raise BadInput("the strategy fedprox without a proximal term is fedavg: agree on its μ, or choose fedavg.")
        own_folder(self.settings.out)
        self.parties = Counted(self.parties, self.traffic)
        if earlier := read_metrics(self.settings.out):  # of a run that was stopped
            self.traffic.out, self.traffic.back = earlier[-1]["bytes_out"], earlier[-1]["bytes_in"]
            self.started -= earlier[-1]["seconds"]

    def message(
        self, kind: str, numbers: Mapping[str, int] | None = None, model: Mapping[str, Tensor] | None = None
    ) -> Message:
        """Make a message that carries the agreement."""
        return Message(
            kind,
            {} if model is None else {"model": model},
            {CONFIG: dict(numbers or {})},
            {CONFIG: {"agreement": self.agreement.to_json()}},
        )

    def initial_state(self) -> dict[str, Tensor]:
        """Give the weights to begin with; they are no secret."""
        make = partial(build, self.agreement.model, self.agreement.shape, len(self.agreement.classes))
        with torch_seed(int.from_bytes(self.settings.chance().bytes(6), "little")):
            return {name: tensor.detach().clone() for name, tensor in make().state_dict().items()}

    def chosen(self, round_: int, attempt: int = 0) -> list[int]:
        """Wait for enough parties, and give those who are asked in this round."""
        least, until = self.settings.least, time.monotonic() + self.settings.wait
        while len(present := sorted(self.parties.present())) < least:
            if time.monotonic() > until:
                raise BadInput(
                    f"{len(present)} parties are connected and {least} are needed: start the others, or ask for fewer."
                )
            time.sleep(POLL)
        count = max(least, round(self.settings.fraction * len(present)))
        order = self.settings.chance(10 * round_ + attempt).permutation(len(present))
        return [present[place] for place in order[:count].sort().values.tolist()]

    def wait_for(self, parties: Collection[int]) -> None:
        """Wait for parties that were lost, as long as for those at the beginning."""
        until = time.monotonic() + self.settings.wait
        while not set(parties) <= set(self.parties.present()) and time.monotonic() < until:
            time.sleep(POLL)

    def refuse(self, party: int, round_: int, why: str) -> None:
        """Write down, and tell, that what a party sent is not used; the words may be the party's own."""
        why = escaped(why if len(why) <= SENTENCE else f"{why[:SENTENCE]}…")
        self.tell(f"party {party} is refused in round {round_}: {why}")
        self._append(REFUSED, {"round": round_, "party": party, "why": why})

    def finished(self, round_: int, state: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
        """Measure the model after a round, and write the figures down."""
        said: dict[str, Any] = {"round": round_, "rounds": self.agreement.rounds, **about}
        if self.test is not None:
            said["test_accuracy"] = accuracy(predict(self.trained(state), self.test), self.test.labels)
        self.note(said)

    def note(self, about: Mapping[str, Any]) -> None:
        """Write down, and tell, what was measured, with the bytes and seconds so far."""
        seconds = time.monotonic() - self.started
        said = {**about, "bytes_out": self.traffic.out, "bytes_in": self.traffic.back, "seconds": round(seconds, 3)}
        write_metrics(self.settings.out, said)
        what, done = place_of(said)
        self.pace.append((what, done, seconds))
        self.tell(line(said, seconds_left(self.pace, int(said.get(f"{what}s", 0)))))

    def trained(self, state: Mapping[str, Tensor]) -> Trained:
        """Build the model with some weights."""
        agreement = self.agreement
        network = build(agreement.model, agreement.shape, len(agreement.classes))
        network.load_state_dict(dict(state))
        return Trained(
            network.eval(), agreement.model, agreement.shape, agreement.classes, agreement.normalisation,
            features=agreement.features, size=agreement.size, seed=self.settings.seed,
        )  # fmt: skip

    def hand_back(self, state: Mapping[str, Tensor]) -> list[int]:
        """Write the model, and give it to every party; returns those who have it."""
        write_model(self.settings.out / MODEL, self.trained(state))
        message = self.message(TAKE, {"round": self.agreement.rounds}, state)
        answers = self.parties.ask(dict.fromkeys(self.parties.present(), message), self.settings.timeout)
        return sorted(party for party, answer in answers.items() if not answer.error)

    def _append(self, name: str, record: Mapping[str, Any]) -> None:
        """Add a line of JSON to a file, whole or not at all."""
        path = self.settings.out / name
        before = path.read_bytes() if path.exists() else b""
        with new_file(path) as file:
            file.write(before + json.dumps(record, ensure_ascii=False).encode() + b"\n")


def read_refused(folder: Path) -> list[dict[str, Any]]:
    """Read what was refused so far: of which party, in which round, and why."""
    return [json.loads(line) for line in read_lines(folder / REFUSED)]


def load_test(address: str | None, agreement: Agreement) -> Samples | None:
    """Load images that a server tests with, as the parties' own are; classes must be theirs."""
    if address is None:
        return None
    images = load(address, size=agreement.shape[1:], channels=agreement.shape[0])
    images = normalise(images, agreement.normalisation)
    if found := agreement.differences(images):
        raise BadInput(f"the test images do not fit: {'; '.join(found)}.")
    return images
