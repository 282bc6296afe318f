"""What a message of a federation spends of a party's images, written to their ledger before it leaves."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from hideseek.errors import BadInput
from hideseek.federate.agreement import Agreement
from hideseek.federate.messages import CONFIG, DESCRIBE, EXAMPLES, JUDGE, METRICS, UPDATE, Message, number, word
from hideseek.files import parsed
from hideseek.hide import RecipeEncoder
from hideseek.hide.files.schemes import from_json, to_json
from hideseek.hide.privacy.ledger import Ledger
from hideseek.hide.privacy.ledger_entries import Leaving
from hideseek.hide.privacy.ledger_errors import LedgerError
from hideseek.hide.privacy.ledger_key import LedgerKey
from hideseek.hide.updates import ShareUpdates
from hideseek.records import Spent

Images = Callable[[Agreement, LedgerKey], tuple[bytes, ...]]


@dataclass(frozen=True)
class Booking:
    """A message that was written to a ledger, to be marked when it leaves; without a number there is nothing to mark.

    What a message is of is not told by the message: every image of the party counts.
    """

    ledger: Ledger
    number: int | None = field(default=None)

    @classmethod
    def of(cls, path: Path, images: Images | None, agreement: Agreement, answer: Message) -> "Booking":
        """Write down what a message spends; where that cannot be done, or is over the budget, it is a LedgerError.

        Shards are of encodings that were described, and written down, before; numbers of images count nothing.
        """
        try:
            ledger = Ledger.open(path)
            leaving = _leaving(agreement, answer)
            if leaving is None:
                return cls(ledger)
            if images is None:
                raise LedgerError("the policy names a ledger, and the images to write down are not here.")
            return cls(ledger, ledger.add(leaving, images(agreement, ledger.key)))
        except LedgerError:
            raise
        except BadInput as mistake:
            raise LedgerError(str(mistake)) from mistake

    def finish(self) -> None:
        """Mark the message as one that leaves."""
        if self.number is not None:
            self.ledger.finish(self.number)


def _leaving(agreement: Agreement, answer: Message) -> Leaving | None:
    """Tell what leaves; None where it tells nothing of an image, or nothing new."""
    scheme, digest = agreement.scheme, answer.digest()
    if answer.kind == UPDATE and isinstance(scheme, ShareUpdates):
        mixed = int(number(answer, METRICS, EXAMPLES))
        proved = Spent() if "buffers" in answer.tensors else scheme.spends(mixed, 1)  # statistics have no noise
        return Leaving("update", to_json(scheme), proved, release=digest)
    if answer.kind == DESCRIBE and isinstance(scheme, RecipeEncoder):
        about = parsed(word(answer, CONFIG, "description"))
        made = from_json(about["scheme"])
        rounds = about.get("rounds", 1)
        proved = Spent() if "seed" in about else made.spends(about["rows"] // rounds, rounds)
        return Leaving("encodings", about["scheme"], proved, rounds, digest)
    if answer.kind == JUDGE and "accuracy" in answer.numbers.get(METRICS, {}):
        return Leaving("statistics", {}, Spent(), release=digest)
    return None
