"""Features of CIFAR-10, united: each party encodes its own and sends shards, the server pools, trains and tests.

Parties bring features in a file, since taking them from images again at every start would waste hours; all else goes
through the federation: the gate of every party, checked shards, the pool, the model that is handed back.
"""

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from federation.leakage import attacked, delivered, pool_of
from federation.running import Federation, Outcome
from singularized_features import (
    BY_TAU,
    JOINED,
    MODEL,
    NO_NOISE,
    PARTIES,
    Hiding,
    Scale,
    features,
    features_file,
)

from hideseek.chance import seeded
from hideseek.federate.agreement import Agreement
from hideseek.federate.party import Part
from hideseek.federate.server import ServerSettings
from hideseek.hide.files.release_files import read_release
from hideseek.learn import Plain, accuracy, class_means, learn, predict
from hideseek.records import Samples
from hideseek.seek import ATTACKS
from hideseek.train.state_files import state_digest
from hideseek.train.trained import Trained, read_model

FEWER = (NO_NOISE, BY_TAU[1e-2], BY_TAU[1e-6])  # how more parties than ten hide
SIMULATED = BY_TAU[1e-2]  # of the cell that Flower's simulation runs again
SEED = 0
ATTACKED = 0  # the party whose encodings are attacked
BLIND, KNOWING = "mixup-pairs", ("linear-inversion", "linear-optimum")


@dataclass(frozen=True)
class Cell:
    """A union of so many parties, which hide alike."""

    parties: int
    hiding: Hiding
    by: str = "table4"

    @property
    def name(self) -> str:
        """Name its trial."""
        return f"{self.by}: {self.parties} parties, {self.hiding.row}"

    @property
    def attacks(self) -> tuple[str, ...]:
        """Name what is tried on a party's encodings; under noise, those who do not know what is mixed have nothing."""
        if self.parties != PARTIES[0]:
            return ()
        return (BLIND, *KNOWING) if self.hiding == NO_NOISE else KNOWING


ON_FLOWER = Cell(PARTIES[0], SIMULATED, "flower")


def cells() -> Iterator[Cell]:
    """Give every union."""
    for parties in PARTIES:
        yield from (Cell(parties, hiding) for hiding in (JOINED if parties == PARTIES[0] else FEWER))


def alone(parties: int) -> str:
    """Name the training of party 0 on its own features, which are not hidden."""
    return f"table4: {parties} parties, party 0 alone"


def agreed(cell: Cell, scale: Scale) -> Agreement:
    """Give the agreement: features as they are in a file, centred by constants that are public."""
    train, _ = features("cifar10", scale)
    scheme = cell.hiding.scheme(scale)
    assert scheme is not None  # noqa: S101 (what is shared is hidden)
    return Agreement("encodings", MODEL, scheme, train.shape, train.classes, train.normalisation)


def _address(scale: Scale) -> str:
    return f"npz:{features_file('cifar10', 'train', scale.images[0], scale.side)}"


def union(cell: Cell, scale: Scale) -> dict[str, Any]:
    """Run the federation, test its model, and attack what party 0 sent."""
    _, test = features("cifar10", scale)
    with TemporaryDirectory() as folder:
        settings = ServerSettings(Path(folder) / "server", wait=0.0, training=scale.training["cifar10"], seed=SEED)
        recording = (ATTACKED,) if cell.attacks else ()
        federation = Federation(_address(scale), cell.parties, seed=SEED, recording=recording)
        outcome = federation.run(agreed(cell, scale), settings, test)
        found = _tested(outcome.server.trained(outcome.state), outcome.out, test) | _sent(outcome)
        if recording:
            release, secret = delivered(federation, outcome.out, ATTACKED)
            found["attacks"] = {name: attacked(release, secret, ATTACKS[name], test) for name in cell.attacks}
    return found


def _sent(outcome: Outcome) -> dict[str, Any]:
    back, out = outcome.megabytes()
    return {"megabytes in": round(back, 1), "megabytes out": round(out, 1)}


def _tested(trained: Trained, out: Path, test: Samples) -> dict[str, Any]:
    """Test a model on clean features, as they are and as long as the rows; and class means of the same pool.

    Both of the latter are not the paper's: `studies/singularized.py` says why they matter.
    """
    releases = [read_release(folder) for folder in pool_of(out)]
    squares = sum(float(each.encoded.pixels().square().sum()) for each in releases)
    numbers = sum(each.encoded.images.numel() for each in releases)
    factor = math.sqrt(squares / numbers / float(test.pixels().square().mean()))
    longer = replace(test, scale=factor * test.scale, shift=factor * test.shift)
    asked = {"accuracy": (trained, test), "lengthened accuracy": (trained, longer)}
    asked |= {"class means": (class_means(iter(releases)), test)}
    radii = [getattr(each.scheme, "radius", None) or 0.0 for each in releases]
    return {
        **{key: round(100 * accuracy(predict(*each), test.labels), 2) for key, each in asked.items()},
        "rows": sum(len(each.encoded) for each in releases),
        "radii": [round(min(radii), 2), round(max(radii), 2)],
        "model": state_digest(trained.network.state_dict())[:16],
    }


def party_alone(parties: int, scale: Scale) -> dict[str, Any]:
    """Train on the features of party 0, as they are, for the paper's epochs."""
    train, test = features("cifar10", scale)
    part = Part(0, parties).take(train)
    trained = learn(Plain(part), MODEL, scale.local, chance=seeded(SEED)).trained
    return {"accuracy": round(100 * accuracy(predict(trained, test), test.labels), 2), "images": len(part)}


def on_flower(cell: Cell, scale: Scale) -> dict[str, Any]:
    """Run the same federation by Flower's simulation: a process for each core plays the parties."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from hideseek.federate.flower.simulation import Simulated, simulate

    _, test = features("cifar10", scale)
    with TemporaryDirectory() as folder:
        settings = ServerSettings(Path(folder) / "server", training=scale.training["cifar10"], seed=SEED)
        who = Simulated(_address(scale), cell.parties, seed=SEED)
        simulate(who, agreed(cell, scale), settings, test, lambda _: None)
        trained, _ = read_model(settings.out / "model.safetensors")
        return _tested(trained, settings.out, test)
