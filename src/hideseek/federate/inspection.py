"""What a message leaks, found out at home before it leaves: attacks on exactly what would be sent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.chance import secure
from hideseek.errors import BadInput, no_such
from hideseek.federate.agreement import Agreement
from hideseek.federate.gate_log import Leak
from hideseek.federate.messages import Message
from hideseek.federate.party import Party
from hideseek.federate.recording import as_release
from hideseek.hide import RecipeEncoder
from hideseek.hide.mixing.precision import Precision
from hideseek.records import EncodedRelease, Evidence, Labels, Reconstruction, Release, Samples
from hideseek.records.secret import Secret
from hideseek.records.update_release import UpdateRelease
from hideseek.score.recovered import recovered
from hideseek.seek import ATTACKS, refusal, run


@dataclass(frozen=True)
class PartyImages(Secret):
    """The truth of a party that does not remember which of its images a message is of: it may be any of them."""

    hidden_signs: bool = False

    @property
    def items(self) -> int:
        """A message is one item."""
        return 1

    def holds(self, items: Int[Tensor, " n"]) -> Int[Tensor, "n k"]:
        """Nothing is known of an item."""
        return torch.full((len(items), 1), -1)

    def shares(self, items: Int[Tensor, " n"]) -> Float[Tensor, "n k"]:
        """Nothing is known of an item."""
        return torch.zeros(len(items), 1)

    @property
    def masked(self) -> bool:
        """Tell whether signs are hidden."""
        return self.hidden_signs

    def withheld(self, field: str) -> Any:
        """Give nothing: an inspection is an outsider's attack."""
        raise KeyError(field)


def inspected(names: Sequence[str], release: Release, private: Samples) -> list[Leak]:
    """Run attacks on what would be sent, and count the private images that come back.

    Guesses are matched one to one with all private images, and count where anybody would say that it is the same
    picture (`score/recovered.py`). An attack that does not apply finds nothing; one that fails is an error.
    """
    secret = PartyImages(private, hidden_signs=bool(getattr(release.encoder, "masked", False)))
    return [_found(name, release, secret) for name in names]


def update_seen(agreement: Agreement, asked: Message, answer: Message) -> UpdateRelease:
    """Give an update as its attacker sees it."""
    return as_release(agreement, asked.tensors["model"], answer)


def encodings_seen(party: Party, scheme: RecipeEncoder, tensors: Mapping[str, Tensor]) -> EncodedRelease:
    """Give the rows of a shard as their attacker sees them."""
    rows = Precision.of(scheme).restored(tensors["images"])
    encoded = Samples(rows, tensors["labels"].float(), normalisation=party.agreement.normalisation)
    return EncodedRelease(encoded, scheme, party.public)


def must_be_attacks(names: Sequence[str], where: str) -> None:
    """Refuse names that are no attacks."""
    for name in names:
        if name not in ATTACKS:
            raise BadInput(f"{where}: {no_such('attack', name, ATTACKS)}")


def _found(name: str, release: Release, secret: PartyImages) -> Leak:
    attack = ATTACKS[name]
    if refusal(attack, release) is not None:
        return Leak(name, 0, labels=False, applies=False, seconds=0.0)
    evidence = run(attack, release, secure())
    labels = any(isinstance(claim, Labels) for claim in evidence.claims)
    return Leak(name, _count(evidence, secret), labels, applies=True, seconds=round(evidence.seconds, 3))


def _count(evidence: Evidence, secret: PartyImages) -> int:
    """Count the private images that any claim shows."""
    most = 0
    for claim in evidence.claims:
        if isinstance(claim, Reconstruction) and len(claim.images):
            unordered = Reconstruction(claim.images, torch.zeros(len(claim.images), dtype=torch.int64), "any")
            most = max(most, int((recovered(unordered, secret) == 1).sum()))
    return most
