"""The gate of a node: every message that is about to leave is held against what the owner allows, and written down."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

from hideseek.errors import BadInput
from hideseek.federate import outgoing
from hideseek.federate.agreement import Agreement
from hideseek.federate.booking import Booking, Images
from hideseek.federate.description import canonical, check_description
from hideseek.federate.gate_log import LOG, GateLog, Leak
from hideseek.federate.messages import (
    CONFIG,
    DESCRIBE,
    EXAMPLES,
    JUDGE,
    METRICS,
    SHARD,
    TAKE,
    UPDATE,
    Message,
    number,
    word,
)
from hideseek.federate.party import Party, PartySettings, known_images, loaded
from hideseek.federate.policy import Policy
from hideseek.federate.received_model import planned_tensors
from hideseek.hide import RecipeEncoder
from hideseek.hide.privacy.ledger_errors import LedgerError
from hideseek.hide.updates import ShareUpdates
from hideseek.hide.updates.chains import Chain

__all__ = ["LOG", "REFUSED", "Gate"]

REFUSED = "the owner of this node does not allow it"
UNWRITTEN = "the ledger of its images does not allow it"


@dataclass(frozen=True)
class Gate:
    """Checks what leaves one node; whatever it does not understand stays.

    It looks at the message itself, not at what an app says of it: an update has the tensors of the model that came, its
    last defence must show in its numbers, and a shard must be of the encodings that were described and allowed before.
    """

    policy: Policy
    folder: Path
    words: bool = True
    """Whether the sentence of an error may leave; not, where the app may be anybody's."""
    party: Callable[[Agreement], Party] | None = None
    """Gives the party's images, by which attacks of an inspection are judged."""
    images: Images | None = None
    """Gives what a ledger knows the party's images by."""

    @classmethod
    def of(cls, settings: PartySettings, asked: Message) -> Self:
        """Give the gate of a party; without a policy, in simulations, what was agreed on is allowed."""
        own, known = partial(loaded, settings), partial(known_images, settings)
        if settings.policy is not None:
            return cls(Policy.read(settings.policy), settings.folder, party=own, images=known)
        return cls(Policy.of(Agreement.from_json(word(asked, CONFIG, "agreement"))), settings.folder, party=own)

    @property
    def log(self) -> GateLog:
        """Give what was written down, and can be added to."""
        return GateLog(self.folder)

    def passed(self, asked: Message, answer: Message) -> Message:
        """Give the answer, or an error in its place; either is written down before it leaves."""
        digest = answer.digest()
        if answer.error:
            sent = answer if self.words else Message(answer.kind, error=REFUSED)
            self._write(asked, sent, digest, answer.error)
            return sent
        leaks: list[Leak] = []
        kept: dict[str, Any] = {}
        told, booking = "", None
        try:
            agreement = Agreement.from_json(word(asked, CONFIG, "agreement"))
            kept = self._check(agreement, asked, answer, digest)
            leaks = self._inspected(agreement, asked, answer)
            most = max((leak.recovered for leak in leaks), default=0)
            why = f"an attack gets {most} images back from it" if most > self.policy.recovered else ""
            if not why and self.policy.ledger is not None:
                booking = Booking.of(self.policy.ledger, self.images, agreement, answer)
        except LedgerError as mistake:  # what is left, and where, is nobody else's business
            why, told = str(mistake), UNWRITTEN
        except (BadInput, ValueError, KeyError, TypeError, RuntimeError) as mistake:
            why = str(mistake) or "it cannot be understood"
        self._write(asked, answer, digest, why, leaks, kept)
        if why:
            return Message(answer.kind, error=f"{REFUSED}: {told or why}" if self.words else REFUSED)
        if booking is not None:
            booking.finish()
        return answer

    def note(self, sentence: str) -> None:
        """Write down what the owner should know, and nobody else."""
        self.log.append({"note": sentence})

    def _check(self, agreement: Agreement, asked: Message, answer: Message, digest: str) -> dict[str, Any]:
        """Refuse what may not leave, and give what is to be remembered of what may."""
        if answer.kind != asked.kind:
            raise BadInput(f"an answer to {asked.kind} is called {answer.kind}")
        check = {UPDATE: self._update, DESCRIBE: self._description, SHARD: self._shard, JUDGE: self._judged}
        if answer.kind == TAKE:
            outgoing.only(answer)
            return {}
        if answer.kind not in check:
            raise BadInput(f"messages of the kind {answer.kind} are unknown here")
        kept = check[answer.kind](agreement, answer)
        if answer.kind != SHARD and len(self.log.released(answer.kind) | {digest}) > self.policy.rounds:
            raise BadInput(f"images were in {self.policy.rounds} rounds already, and more are not allowed")
        return kept

    def _update(self, agreement: Agreement, answer: Message) -> dict[str, Any]:
        """Check an update: of the agreed architecture, of enough images, defended by what is allowed."""
        scheme, policy = agreement.scheme, self.policy
        if not isinstance(scheme, ShareUpdates):
            raise BadInput("an update is sent where encodings were agreed on")
        if why := policy.allows("gradients", Chain(scheme.encoding, scheme.defences)):
            raise BadInput(why)
        outgoing.only(answer, tensors={"update", "buffers"}, numbers=self._numbers)
        parameters, buffers = planned_tensors(agreement.model, agreement.shape, len(agreement.classes))
        update = answer.tensors.get("update", {})
        outgoing.must_be_like(update, parameters)
        if "buffers" in answer.tensors:
            if "buffers" not in policy.statistics:
                raise BadInput("running statistics of batch norm are not allowed")
            outgoing.must_be_like(answer.tensors["buffers"], buffers)
        if not number(answer, METRICS, EXAMPLES) >= policy.cohort:
            raise BadInput(f"an update is of fewer than {policy.cohort} images")
        if scheme.defences and not scheme.defences[-1].evident(dict(update)):
            raise BadInput(f"the update does not look as {scheme.defences[-1].mechanism} leaves it")
        return {}

    def _description(self, agreement: Agreement, answer: Message) -> dict[str, Any]:
        """Check a description, of encodings whose scheme is allowed, and remember the digests of their shards."""
        outgoing.only(answer, words={CONFIG: {"description"}})
        if not isinstance(agreement.scheme, RecipeEncoder):
            raise BadInput("encodings are described where updates were agreed on")
        if why := self.policy.allows("encodings", agreement.scheme):
            raise BadInput(why)
        about = canonical(word(answer, CONFIG, "description"))
        check_description(about, agreement)
        if about["rows"] < self.policy.cohort:
            raise BadInput(f"encodings are of fewer than {self.policy.cohort} images")
        if "seed" in about and not self.policy.seeded:
            raise BadInput("the keys of the encodings come from a seed, so that anyone can undo them")
        return {
            "shards": {each["blake3"]: each["rows"] for each in about["shards"]},
            "encodings": {name: about[name] for name in ("shape", "classes", "scheme")},
        }

    def _shard(self, agreement: Agreement, answer: Message) -> dict[str, Any]:
        """Check a shard: of encodings that were described, and allowed, before; a mask must show."""
        outgoing.only(answer, tensors={"shard"})
        outgoing.must_be_rows(*outgoing.shard(answer, self.log))
        return {}

    def _judged(self, agreement: Agreement, answer: Message) -> dict[str, Any]:
        """Check how a party judges the model: numbers that the owner allows, and nothing else."""
        outgoing.only(answer, numbers=self._numbers)
        return {}

    @property
    def _numbers(self) -> set[str]:
        """Give the numbers that the owner allows; running statistics are tensors."""
        return set(self.policy.statistics) - {"buffers"}

    def _inspected(self, agreement: Agreement, asked: Message, answer: Message) -> list[Leak]:
        """Attack what is about to leave, where the owner wants that."""
        if not self.policy.inspect or answer.kind not in (UPDATE, SHARD):
            return []
        if self.party is None:
            raise BadInput("the policy asks for an inspection, and the images to judge it by are not here")
        from hideseek.federate.inspection import encodings_seen, inspected, update_seen

        party = self.party(agreement)
        if answer.kind == UPDATE:
            return inspected(self.policy.inspect, update_seen(agreement, asked, answer), party.private)
        return inspected(self.policy.inspect, encodings_seen(party, *outgoing.shard(answer, self.log)), party.private)

    def _write(
        self,
        asked: Message,
        sent: Message,
        digest: str,
        why: str,
        leaks: Sequence[Leak] = (),
        kept: Mapping[str, Any] | None = None,
    ) -> None:
        """Write down what leaves, or why it stays, before it does; a log that cannot be written lets nothing leave."""
        round_ = number(asked, CONFIG, "round")
        entry: dict[str, Any] = {
            "time": round(time.time(), 3),
            "kind": sent.kind,
            "round": int(round_) if math.isfinite(round_) else None,
            "bytes": sent.size(),
            "digest": digest,
            "passed": not why,
        }
        entry |= {"why": why} if why else dict(kept or {})
        self.log.append(entry | ({"leaks": [leak.entry() for leak in leaks]} if leaks else {}))
