"""The protocol *encodings* on the digits of *gradients*: parties ship encoded images, once or anew for every epoch.

Beside the accuracy: what the server could reconstruct of a party, from the rows that it pooled.

    python studies/federated.py --only encodings
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from federation import digits
from federation.leakage import attacked, delivered, leaks, worst
from federation.picture import Point
from federation.running import Federation
from ledger import Ledger, Trial, table

from hideseek.federate.agreement import Agreement
from hideseek.federate.server import ServerSettings
from hideseek.hide import InstaHide, Mixup, RecipeEncoder, SingularizedMixup
from hideseek.hide.files.schemes import to_json
from hideseek.seek import ATTACKS
from hideseek.train.schedules import Cosine
from hideseek.train.training import SGD, Training

LARGEST = 0.65  # of a weight
EPOCHS = {"cpu": 20, "paper": 200}
ATTACKED = 0  # the party whose rows are attacked


@dataclass(frozen=True)
class Cell:
    """How images are encoded, how often, and what is tried on the rows."""

    label: str
    scheme: RecipeEncoder
    attacks: tuple[str, ...]
    again: bool = False
    split: str = "even"
    seed: int = 0

    @property
    def model(self) -> str:
        """Name the network: under a mask of signs one that looks at |x|."""
        return "small-resnet-absolute" if self.scheme.masked else "small-resnet"

    @property
    def name(self) -> str:
        """Name its trial."""
        return f"encodings: {self.label}, {self.split}, seed {self.seed}"


_MASKED = InstaHide(k=4, largest=LARGEST)
CELLS = (
    Cell("InstaHide k=4, once", _MASKED, ("phase-retrieval",)),
    Cell("InstaHide k=4, every epoch", _MASKED, ("phase-retrieval", "link-and-solve"), again=True),
    Cell("InstaHide k=4, once", _MASKED, ("phase-retrieval",), split="Dirichlet(0.3)"),
    Cell("Mixup k=4, once", Mixup(k=4, largest=LARGEST), ("mixup-pairs", "linear-inversion")),
    Cell("Singularized Mixup τ=0.01, once", SingularizedMixup(tau=1e-2), ("linear-inversion", "linear-optimum")),
)


def trials(scale: str) -> Iterator[Trial]:
    """Give every cell as a trial."""
    training = Training(EPOCHS[scale], 32, SGD(0.05, 0.9, 5e-4), Cosine(warm=0.2))
    for cell in CELLS:
        about = {
            "data": f"{digits.DATA}, {digits.IMAGES} images at {digits.SIDE}",
            "parties": digits.PARTIES,
            "alpha": digits.SPLITS[cell.split],
            "scheme": to_json(cell.scheme),
            "again": cell.again,
            "model": cell.model,
            "training": repr(training),
            "attacks": [*cell.attacks],
            "seed": cell.seed,
        }
        yield Trial("encodings", cell.name, about, partial(measured, cell, training), judged=True)


def measured(cell: Cell, training: Training) -> dict[str, Any]:
    """Run the federation, and attack what the server pooled of one party."""
    images = digits.private()
    agreement = Agreement(
        "encodings", cell.model, cell.scheme, images.shape, images.classes, images.normalisation,
        rounds=training.epochs if cell.again else 1, size=digits.SIDE, again=cell.again,
    )  # fmt: skip
    with TemporaryDirectory() as folder:
        settings = ServerSettings(Path(folder) / "server", wait=0.0, training=training, seed=cell.seed)
        federation = Federation(
            digits.address(), digits.PARTIES, digits.SPLITS[cell.split], cell.seed, recording=(ATTACKED,)
        )
        outcome = federation.run(agreement, settings, digits.tested())
        release, secret = delivered(federation, outcome.out, ATTACKED)
        found = {name: attacked(release, secret, ATTACKS[name], digits.others()) for name in cell.attacks}
        return outcome.figures(len(secret.private), found)


def tables(ledger: Ledger, scale: str) -> str:
    """Write accuracy and leakage of every cell."""
    rows = []
    for cell in CELLS:
        found = ledger.results(cell.name)
        if found is not None:
            figures = [
                f"{found['accuracy']:.1f}",
                leaks(found) + ledger.mark(cell.name),
                f"{found['megabytes in']:.1f}",
            ]
            rows.append([cell.label, cell.split, *figures])
    heads = ["encoding", "split", "accuracy", "the server gets, of party 0's rows in its pool", "MB in"]
    return f"{ABOUT.format(epochs=EPOCHS[scale])}\n{table(heads, rows)}"


ABOUT = """\
## The protocol *encodings*, on the same digits

The same parties and digits; each party encodes its images and ships them, *once*, or anew for *every epoch*, which
releases each image as often as there are epochs ({epochs}). The server pools, trains the small ResNet (on absolute
values under masks; SGD, one cycle), and tests as above. What the server gets is written as above; an attack with *
knows which images are in every row, and with what weights, but no mask.
"""


def points(ledger: Ledger) -> Iterator[Point]:
    """Give every cell as a point of the picture."""
    for cell in CELLS:
        found = ledger.results(cell.name)
        if found is not None:
            label = f"{cell.label}, {cell.split} ({worst(found).attack})"
            yield Point(digits.PANEL, "encodings", label, 100 * worst(found).share, found["accuracy"])
